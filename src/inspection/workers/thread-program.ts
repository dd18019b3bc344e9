import { parentPort } from 'node:worker_threads'
import { type Answer, answer, minBlockBytes } from './work.js'

/** What a thread is asked; `shared` carries more both ways meanwhile. */
export interface ThreadTask {
  module: string
  run: string
  data: unknown
  bytes?: Uint8Array | undefined
  settings?: SharedArrayBuffer | undefined
  sentAt: number
  /** Milliseconds from `sentAt` to its begin, plus one; then 1 once it is not wanted any more. */
  shared: Int32Array
}

// Readers that complain on the console would fill the service's log with other people's files.
for (const stream of [process.stdout, process.stderr]) stream.write = () => true

/** Runs in a thread of the pool. It always answers: a rejection there means that the thread ended. */
export function runInThread({ bytes, settings, sentAt, shared, ...work }: ThreadTask): Promise<Answer> {
  const call = {
    bytes: bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length),
    settings: settings && new Uint8Array(settings),
    cancelled: () => Atomics.load(shared, 1) === 1,
  }
  const answered = answer(work, call, () => Atomics.store(shared, 0, 1 + Math.max(0, Date.now() - sentAt)))
  const block = bytes?.buffer as ArrayBuffer | undefined
  return answered.finally(() => block && block.byteLength >= minBlockBytes && parentPort!.postMessage(block, [block]))
}
