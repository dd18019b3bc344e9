import { overloaded } from './errors/errors.js'

interface Queue {
  running: number
  waiting: { cost: number; start: () => void }[]
}

interface Limits {
  /** Maximum total cost of a key's running work. */
  max: number
  maxWaiting?: number
  maxWaitMs?: number
}

interface Work {
  cost?: number
  /** Creates the error for work that could not start. `running` is the total cost of the running work. */
  createError?: ((running: number) => Error) | undefined
  /** If this signal is aborted, the work is removed from the queue. */
  signal?: AbortSignal | undefined
}

const createOverloadError = () => overloaded('The service is overloaded. Retry later.')

/** Limits the cost of concurrent work per key, such as a tenant. Further work waits in order of arrival. */
export class ConcurrencyLimiter {
  readonly #queues = new Map<string, Queue>()

  constructor(private readonly limits: Limits) {}

  async run<T>(key: string, work: () => Promise<T>, createError?: () => Error): Promise<T> {
    const release = await this.acquire(key, { createError })
    try {
      return await work()
    } finally {
      release()
    }
  }

  /**
   * Waits until the work fits within the limit. Returns a function that the caller must call when the work ends. Rejects if the
   * queue is full, the wait takes too long, or the work is aborted.
   */
  async acquire(key: string, work: Work): Promise<() => void> {
    const { cost = 1 } = work
    const queue = this.#queues.get(key) ?? { running: 0, waiting: [] }
    this.#queues.set(key, queue)
    if (queue.waiting.length === 0 && queue.running + cost <= this.limits.max) queue.running += cost
    else await this.#waitInQueue(queue, work)
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      queue.running -= cost
      this.#startWaiting(queue)
      if (queue.running === 0) this.#queues.delete(key)
    }
  }

  #waitInQueue(queue: Queue, { cost = 1, createError = createOverloadError, signal }: Work): Promise<void> {
    const { maxWaiting = Number.POSITIVE_INFINITY, maxWaitMs } = this.limits
    return new Promise((resolve, reject) => {
      if (queue.waiting.length >= maxWaiting) return reject(createError(queue.running))
      const start = () => {
        clearTimeout(timer)
        resolve()
      }
      const waiter = { cost, start }
      const leaveQueue = () => {
        const index = queue.waiting.indexOf(waiter)
        if (index < 0) return
        clearTimeout(timer)
        queue.waiting.splice(index, 1)
        reject(createError(queue.running))
        // The removed work may have blocked the queue: the next work may cost less and fit within the limit.
        this.#startWaiting(queue)
      }
      const timer = maxWaitMs === undefined ? undefined : setTimeout(leaveQueue, maxWaitMs)
      signal?.addEventListener('abort', leaveQueue)
      queue.waiting.push(waiter)
      if (signal?.aborted) leaveQueue()
    })
  }

  #startWaiting(queue: Queue): void {
    for (let next = queue.waiting[0]; next && queue.running + next.cost <= this.limits.max; next = queue.waiting[0]) {
      queue.waiting.shift()
      queue.running += next.cost
      next.start()
    }
  }
}
