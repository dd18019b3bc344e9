import { totalmem } from 'node:os'
import { type MessagePort, Worker } from 'node:worker_threads'
import { overloaded } from '../errors.js'
import type { WorkerFailure } from '../validation/findings.js'
import type { FromKeeper, ToKeeper } from './image-keeper.js'
import type { ImageProcessOptions } from './image-process.js'

/** Who is told of what happened to an owner's process. */
export interface ImageOwner {
  /** A process has started up, which is not the image's time. */
  began(): void
  /** The image took its process with it. */
  fell(failure: WorkerFailure['failure']): void
  /** No process can be had: the image is not at fault. */
  failed(error: Error): void
}

/** Holds the widest image that is not yet a pixel flood; on small machines no more than half of what there is. */
export const imageMemoryMb = (): number =>
  Math.min(1024, Math.floor(Math.min(totalmem(), process.constrainedMemory?.() || totalmem()) / 2 / 1_048_576))

/** The processes that decode images, one for each worker that has met an image, kept by a thread that is started for the first. */
export class ImageProcesses {
  private keeper: Worker | undefined
  private readonly owners = new Map<number, ImageOwner>()
  private alive = new Map<number, number>()
  private closing: Promise<void> | undefined
  private last = 0

  constructor(private readonly options: ImageProcessOptions) {}

  /** Of the processes that are alive now. */
  get pids(): number[] {
    return [...this.alive.values()]
  }

  /** Lets the questions that come by `port` be answered by a process of their own; gives what ends that. */
  serve(port: MessagePort, owner: ImageOwner): () => void {
    const seat = ++this.last
    this.owners.set(seat, owner)
    this.keeper ??= this.start()
    this.send({ seat, port }, [port])
    return () => {
      this.owners.delete(seat)
      this.send({ end: seat })
      // Without a worker that has met an image there is nothing to keep.
      if (this.owners.size === 0) void this.close()
    }
  }

  /** Resolves when all processes are gone. */
  async close(): Promise<void> {
    const { keeper } = this
    if (keeper) {
      this.keeper = undefined
      this.alive = new Map()
      this.closing = discard(keeper)
    }
    await this.closing
  }

  private send(message: ToKeeper, transfer: MessagePort[] = []): void {
    this.keeper?.postMessage(message, transfer)
  }

  private start(): Worker {
    const keeper = new Worker(keeperUrl, {
      workerData: this.options,
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 },
    })
    // Whoever waits for an image keeps the process alive; the thread does not.
    keeper.unref()
    keeper.on('message', (message: FromKeeper) => this.heard(message))
    keeper.on('error', () => this.lost(keeper))
    keeper.on('exit', () => this.lost(keeper))
    return keeper
  }

  private heard(message: FromKeeper): void {
    const { seat } = message
    if ('pid' in message) {
      if (message.pid) this.alive.set(seat, message.pid)
      else this.alive.delete(seat)
    } else if ('ready' in message) {
      this.owners.get(seat)?.began()
    } else if ('failure' in message) {
      this.owners.get(seat)?.fell(message.failure)
    } else {
      const { fault, starved } = message
      this.owners.get(seat)?.failed(starved ? unavailable(fault) : new Error(fault))
    }
  }

  /** The thread itself ended: its processes see that and end, too. */
  private lost(keeper: Worker): void {
    if (keeper !== this.keeper) return
    this.keeper = undefined
    this.alive.clear()
    for (const owner of [...this.owners.values()]) owner.failed(unavailable('the thread that keeps the processes ended'))
    this.owners.clear()
  }
}

const unavailable = (cause: string) => overloaded('Images cannot be looked at now; try again shortly.', cause)

async function discard(keeper: Worker): Promise<void> {
  const gone = new Promise((resolve) => keeper.once('exit', resolve))
  keeper.ref()
  keeper.postMessage({ close: true } satisfies ToKeeper)
  await gone
}

// Threads are started from compiled code, also where this file itself runs from its source (under jest).
const keeperUrl = new URL(import.meta.url.replace('/src/', '/dist/').replace(/image-processes\.(ts|js)$/, 'image-keeper.js'))
