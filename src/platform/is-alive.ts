/** Whether a process with this id exists on this machine, in this container. The id may have been reused since. */
export function isAlive(pid: number): boolean {
  // kill(2) addresses groups of processes by 0 and negative numbers.
  if (!(pid > 0)) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
