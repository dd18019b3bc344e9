import pg from 'pg'
import { overloaded } from '../errors/errors.js'

const tenantIdForm = /^ten_[0-9a-z]{26}$/
const maxWaiting = 1_000
const maxWaitMs = 4_000

export type Query = (...args: unknown[]) => Promise<unknown>

interface TenantQueue {
  running: number
  waiting: (() => void)[]
}

/** Limits a tenant to half of the connections. The first parameter that is a tenant id determines the tenant. */
export class TenantQueryLimiter {
  readonly #maxRunning: number
  readonly #queues = new Map<string, TenantQueue>()

  constructor(poolSize: number) {
    this.#maxRunning = Math.max(1, Math.floor(poolSize / 2))
  }

  /** Wraps a pool's `query` method to enforce the limit per tenant. */
  limitQuery(query: Query): Query {
    return (...args) => {
      const [statement, values] = args as [{ values?: unknown[] } | string, unknown[] | undefined]
      const tenantId = ((typeof statement === 'string' ? values : statement.values) ?? []).find(isTenantId)
      return tenantId ? this.#runInSlot(tenantId, () => query(...args)) : query(...args)
    }
  }

  async #runInSlot<T>(tenantId: string, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(tenantId) ?? { running: 0, waiting: [] }
    this.#queues.set(tenantId, queue)
    if (queue.running < this.#maxRunning) queue.running++
    else await this.#waitForSlot(queue)
    try {
      return await work()
    } finally {
      const next = queue.waiting.shift()
      if (next) next()
      else if (--queue.running === 0) this.#queues.delete(tenantId)
    }
  }

  #waitForSlot(queue: TenantQueue): Promise<void> {
    return new Promise((resolve, reject) => {
      const rejectOverload = () => reject(overloaded('This tenant has too many reads in progress. Retry later.'))
      if (queue.waiting.length >= maxWaiting) return rejectOverload()
      const start = () => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        queue.waiting.splice(queue.waiting.indexOf(start), 1)
        rejectOverload()
      }, maxWaitMs)
      queue.waiting.push(start)
    })
  }
}

/** A connection pool that limits the concurrent statements of each tenant. */
export class TenantLimitedPool extends pg.Pool {
  readonly #query: Query

  constructor(config: pg.PoolConfig & { max: number }) {
    super(config)
    this.#query = new TenantQueryLimiter(config.max).limitQuery(super.query.bind(this) as Query)
  }

  // The pg types define one overload per kind of statement.
  static {
    const query = function (this: TenantLimitedPool, ...args: unknown[]) {
      return this.#query(...args)
    }
    TenantLimitedPool.prototype.query = query as typeof pg.Pool.prototype.query
  }
}

const isTenantId = (value: unknown): value is string => typeof value === 'string' && tenantIdForm.test(value)
