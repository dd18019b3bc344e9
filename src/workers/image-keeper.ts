import { setTimeout } from 'node:timers/promises'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { WorkerFailure } from '../validation/findings.js'
import { ImageFailure, ImageProcess, type ImageProcessOptions, NotStarted, type ProcessNews } from './image-process.js'
import type { ImageQuestion } from './image-worker.js'

/** To this thread: a worker's questions come by `port`; what the pool has no use for any more is ended. */
export type ToKeeper = { seat: number; port: MessagePort } | { end: number } | { close: true }

/** From it: how a process fares; that it died over an image; that none can be had, which is not the image's fault. */
export type FromKeeper = { seat: number } & (
  | ProcessNews
  | { failure: WorkerFailure['failure'] }
  | { fault: string; starved: boolean }
)

// A thread of its own starts, feeds, weighs and buries the processes that decode images: starting one holds the thread that
// does it for tens of milliseconds, and only the thread that started one can discard it.
const pool = parentPort
if (!pool) throw new Error('image-keeper runs in a worker thread only')
const tell = (message: FromKeeper) => pool.postMessage(message)

const seats = new Map<number, { images: ImageProcess; port: MessagePort }>()

pool.on('message', async (message: ToKeeper) => {
  if ('port' in message) return open(message.seat, message.port)
  if ('end' in message) return end(message.end)
  // Killed processes are gone at once, but for those that the kernel holds up: they see their channel close, and go then.
  await Promise.race([Promise.all([...seats.keys()].map(end)), setTimeout(2000)])
  process.exit()
})

function open(seat: number, port: MessagePort): void {
  const images = new ImageProcess(workerData as ImageProcessOptions, (news) => tell({ seat, ...news }))
  seats.set(seat, { images, port })
  port.on('message', async (question: ImageQuestion) => {
    try {
      port.postMessage({ decoded: await images.decode(question) })
    } catch (error) {
      if (error instanceof ImageFailure) return tell({ seat, failure: error.failure })
      const { message } = error as Error
      tell({ seat, fault: message, starved: isStarved(error as NodeJS.ErrnoException) })
    }
  })
}

async function end(seat: number): Promise<void> {
  const { images, port } = seats.get(seat) ?? {}
  port?.close()
  await images?.end()
  seats.delete(seat)
}

const isStarved = (error: NodeJS.ErrnoException): boolean =>
  error instanceof NotStarted ? error.killed : error.code === 'EAGAIN' || error.code === 'ENOMEM' || error.code === 'EMFILE'
