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
  /** Returns the pause in milliseconds before the next batch. */
  getPauseMs?(results: readonly Result[]): number
  maxBatch?: number
  maxWaiting?: number
}

/**
 * Combines concurrent requests into batches, and runs one batch at a time per group. A result is never older than its request.
 */
export class Batcher<Item, Result> {
  readonly #options: Required<BatcherOptions<Item, Result>>
  readonly #queues = new Map<string, PendingItem<Item, Result>[]>()

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = { getGroup: () => '', getPauseMs: () => 0, maxBatch: 500, maxWaiting: 5_000, ...options }
  }

  add(item: Item): Promise<Result> {
    const { getGroup, maxWaiting } = this.#options
    const group = getGroup(item)
    const queue = this.#queues.get(group)
    if (queue && queue.length >= maxWaiting) return Promise.reject(overloaded('The service is overloaded. Retry later.'))
    return new Promise((resolve, reject) => {
      const waiting = { item, resolve, reject }
      if (queue) queue.push(waiting)
      else void this.#runQueue(group, [waiting])
    })
  }

  async #runQueue(group: string, queue: PendingItem<Item, Result>[]): Promise<void> {
    this.#queues.set(group, queue)
    while (queue.length > 0) {
      const pauseMs = await this.#runBatch(queue.splice(0, this.#options.maxBatch))
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs).unref())
    }
    this.#queues.delete(group)
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
