import { parentPort } from 'node:worker_threads'
import { minBlockBytes, runTask, type TaskResult } from './work.js'

/** Input of a thread. Both sides use `shared` while the task runs. */
export interface ThreadTask {
  module: string
  run: string
  data: unknown
  bytes?: Uint8Array | undefined
  settings?: SharedArrayBuffer | undefined
  sentAt: number
  /** Index 0: milliseconds from `sentAt` to the start of the task, plus 1. Index 1: 1 if the task was cancelled. */
  shared: Int32Array
}

// Format readers print warnings that contain file content, which must not reach the service log.
for (const stream of [process.stdout, process.stderr]) stream.write = () => true

/** Runs in a thread of the pool and always resolves. A rejection means that the thread has ended. */
export function runInThread({ bytes, settings, sentAt, shared, ...task }: ThreadTask): Promise<TaskResult> {
  const call = {
    bytes: bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length),
    settings: settings && new Uint8Array(settings),
    cancelled: () => Atomics.load(shared, 1) === 1,
  }
  const answered = runTask(task, call, () => Atomics.store(shared, 0, 1 + Math.max(0, Date.now() - sentAt)))
  const block = bytes?.buffer as ArrayBuffer | undefined
  return answered.finally(() => block && block.byteLength >= minBlockBytes && parentPort!.postMessage(block, [block]))
}
