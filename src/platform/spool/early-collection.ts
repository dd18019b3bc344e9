import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

// A context made meanwhile has the function; what is made later has not.
setFlagsFromString('--expose-gc')
const collect: (options: { type: 'minor' }) => void = runInNewContext('gc')
setFlagsFromString('--no-expose-gc')

const mostBytes = 8 * 1024 * 1024
let received = 0

/**
 * Counts the bytes of chunks that are not used any more, and has the young generation collected for every 8 MiB of them (half a
 * millisecond). By itself V8 lets 32 MiB pass, but counts them against a limit that lies 12 MB above what the heap held when all of it
 * was marked last: then it is marked again, three times in an upload of 100 MiB.
 */
export function doneWithChunk({ length }: { length: number }): void {
  received += length
  if (received < mostBytes) return
  received = 0
  collect({ type: 'minor' })
}
