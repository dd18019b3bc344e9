import { type Answer, answer } from './work.js'

/** What a thread is asked; `shared` carries more both ways meanwhile. */
export interface ThreadTask {
  module: string
  run: string
  data: unknown
  bytes?: Uint8Array | undefined
  settings?: SharedArrayBuffer | undefined
  sentAt: number
  /** Milliseconds from `sentAt` to its begin, plus one; then 1 once it is not wanted any more; then 1 once it has its copy of `bytes`. */
  shared: Int32Array
}

// Readers that complain on the console would fill the service's log with other people's files.
for (const stream of [process.stdout, process.stderr]) stream.write = () => true

/** Runs in a thread of the pool. It always answers: a rejection there means that the thread ended. */
export function runInThread({ bytes, settings, sentAt, shared, ...work }: ThreadTask): Promise<Answer> {
  const content = bytes && ownBytes(bytes)
  Atomics.store(shared, 2, 1)
  const call = {
    bytes: content,
    settings: settings && new Uint8Array(settings),
    cancelled: () => Atomics.load(shared, 1) === 1,
  }
  return answer(work, call, () => Atomics.store(shared, 0, 1 + Math.max(0, Date.now() - sentAt)))
}

let block = Buffer.alloc(0)

/** What is shared will hold another upload. One work at a time: the copy has the place of the one before. */
function ownBytes({ buffer, byteOffset, length }: Uint8Array): Buffer {
  const bytes = Buffer.from(buffer, byteOffset, length)
  if (!(buffer instanceof SharedArrayBuffer)) return bytes
  if (block.length < length) block = Buffer.allocUnsafeSlow(length)
  bytes.copy(block)
  return block.subarray(0, length)
}
