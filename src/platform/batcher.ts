import { overloaded } from './errors/errors.js'

interface PendingItem<Item, Result> {
  item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}

interface BatcherOptions<Item, Result> {
  /** Processes one batch. Returns one result per item, in the same order. */
  run(items: readonly Item[]): Promise<readonly Result[]>
  /** Returns the group of an item. Batches of different groups run concurrently. */
  getGroup?(item: Item): string
  getPauseMs?(results: readonly Result[]): number
  maxBatch?: number
  maxWaiting?: number
  /** Maximum number of concurrent batches per group. Defaults to 1. */
  maxConcurrent?: number
}

interface Queue<Item, Result> {
  waiting: PendingItem<Item, Result>[]
  running: number
  /**
   * True until the end of the event loop iteration in which the next batch was requested. Until then, more items can join the
   * batch.
   */
  isGathering: boolean
}

/**
 * Combines concurrent requests of a group into batches. A batch starts only after all of its requests have arrived, so no result
 * is older than its request.
 */
export class Batcher<Item, Result> {
  readonly #options: Required<BatcherOptions<Item, Result>>
  readonly #queues = new Map<string, Queue<Item, Result>>()

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = { getGroup: () => '', getPauseMs: () => 0, maxBatch: 500, maxWaiting: 5_000, maxConcurrent: 1, ...options }
  }

  add(item: Item): Promise<Result> {
    const { getGroup, maxWaiting } = this.#options
    const group = getGroup(item)
    const queue = this.#queues.get(group) ?? { waiting: [], running: 0, isGathering: false }
    if (queue.waiting.length >= maxWaiting) return Promise.reject(overloaded('The service is overloaded. Retry later.'))
    this.#queues.set(group, queue)
    return new Promise((resolve, reject) => {
      queue.waiting.push({ item, resolve, reject })
      this.#startBatches(group, queue)
    })
  }

  #startBatches(group: string, queue: Queue<Item, Result>): void {
    if (!queue.isGathering && queue.running < this.#options.maxConcurrent) void this.#runQueue(group, queue)
  }

  async #runQueue(group: string, queue: Queue<Item, Result>): Promise<void> {
    queue.running++
    queue.isGathering = true
    await new Promise(setImmediate)
    queue.isGathering = false
    // If more items are waiting than one batch can hold, start another batch now instead of after the first one.
    if (queue.waiting.length > this.#options.maxBatch) this.#startBatches(group, queue)
    while (queue.waiting.length > 0) {
      const pauseMs = await this.#runBatch(queue.waiting.splice(0, this.#options.maxBatch))
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs).unref())
    }
    if (--queue.running === 0) this.#queues.delete(group)
  }

  async #runBatch(batch: PendingItem<Item, Result>[]): Promise<number> {
    try {
      const results = await this.#options.run(batch.map(({ item }) => item))
      for (const [at, { resolve }] of batch.entries()) resolve(results[at]!)
      return this.#options.getPauseMs(results)
    } catch (error) {
      for (const { reject } of batch) reject(error)
      return 0
    }
  }
}
