import { runTask, type TaskResult } from './work.js'

/** Input for a thread. Both sides access `shared` while the task runs. */
export interface ThreadTask {
  module: string
  run: string
  data: unknown
  /** Content in shared memory, which another task may overwrite as soon as this task has ended. */
  bytes?: Uint8Array<SharedArrayBuffer> | undefined
  settings?: SharedArrayBuffer | undefined
  sentAt: number
  /**
   * Index 0: 0 until the task starts, and then the milliseconds from `sentAt` to its start, plus 1. Index 1: 1 if the task was
   * cancelled.
   */
  shared: Int32Array
}

// Discard output, because readers print warnings that contain file content. Piscina has no option for this.
for (const stream of [process.stdout, process.stderr]) stream.write = () => true

/** Runs a task in a thread. Always resolves, even if the task fails, so a rejection can only mean that the thread has ended. */
export function runInThread({ bytes, settings, sentAt, shared, ...task }: ThreadTask): Promise<TaskResult> {
  const call = {
    bytes: bytes && copyContent(bytes),
    settings: settings && new Uint8Array(settings),
    cancelled: () => Atomics.load(shared, 1) === 1,
  }
  return runTask(task, call, () => Atomics.store(shared, 0, 1 + Math.max(0, Date.now() - sentAt)))
}

let block = Buffer.alloc(0)

/**
 * Copies the content into this thread's own memory, because decoders do not accept shared memory. The memory is reused, because
 * new memory causes garbage collection in both threads.
 */
function copyContent(bytes: Uint8Array): Buffer {
  if (block.length < bytes.length) block = Buffer.allocUnsafeSlow(bytes.length)
  const content = block.subarray(0, bytes.length)
  content.set(bytes)
  return content
}
