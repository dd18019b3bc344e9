import { spawn } from 'node:child_process'
import { once } from 'node:events'

export type FileLock = { held: true; release(): void } | { held: false }

/**
 * A lock of the kernel's on the file at `path`, held until it is released or this process ends, however it ends. It is seen by other
 * containers on the same folder, to which our process id says nothing. Node has no flock(2): util-linux's program holds it, and ends
 * with its input, which is ours. Where there is no such program (macOS) the lock by process id has to do.
 */
export async function takeFileLock(path: string): Promise<FileLock> {
  // A group of its own: Ctrl-C in a terminal is for us alone, and the lock outlives the last call.
  const holder = spawn('flock', ['-n', path, 'sh', '-c', 'echo held; exec cat'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  })
  holder.stdin.on('error', () => {})
  const release = () => {
    holder.stdin.end()
    holder.stdout.destroy()
  }
  const outcome = await Promise.race([
    once(holder.stdout, 'data').then(() => 'held' as const),
    once(holder, 'exit').then(([status]) => (status === 1 ? ('taken' as const) : ('unknown' as const))),
    once(holder, 'error').then(() => 'unknown' as const),
  ]).catch(() => 'unknown' as const)
  if (outcome === 'taken') return { held: false }
  holder.unref()
  for (const stream of [holder.stdin, holder.stdout]) (stream as unknown as { unref(): void }).unref()
  return { held: true, release }
}
