/** True if a process with this id exists in this container. It may be another process, because the system reuses ids. */
export function isProcessAlive(pid: number): boolean {
  // Exclude ids that are not positive, because kill(2) would signal a whole process group.
  if (!(pid > 0)) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
