import pg from 'pg'
import { overloaded } from '../errors/errors.js'

const tenantIdForm = /^ten_[0-9a-z]{26}$/
const maxWaiting = 1_000
const maxWaitMs = 4_000
// Number of unused entries to keep, because a Map that is emptied and refilled with each statement reallocates its table.
const maxIdle = 1_000

/** `query` of a pool, with any of its arguments. */
export type Query = (...given: unknown[]) => Promise<unknown>

interface Line {
  running: number
  waiting: (() => void)[]
}

/**
 * Limits the concurrent statements of one tenant to half of the connections of a pool, so that other tenants always get some. The tenant of
 * a statement is its first parameter that is a tenant id.
 */
export class TenantShares {
  readonly #most: number
  readonly #lines = new Map<string, Line>()

  constructor(poolSize: number) {
    this.#most = Math.max(1, Math.floor(poolSize / 2))
  }

  /** Wraps a `query` of pg with the limit. */
  limit(query: Query): Query {
    return (...given) => {
      const [statement, values] = given as [{ values?: unknown[] } | string, unknown[] | undefined]
      const tenantId = ((typeof statement === 'string' ? values : statement.values) ?? []).find(isTenantId)
      return tenantId ? this.#run(tenantId, () => query(...given)) : query(...given)
    }
  }

  async #run<T>(tenantId: string, work: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(tenantId) ?? { running: 0, waiting: [] }
    this.#lines.set(tenantId, line)
    if (line.running < this.#most) line.running++
    else await this.#wait(line)
    try {
      return await work()
    } finally {
      const next = line.waiting.shift()
      if (next) next()
      else if (--line.running === 0 && this.#lines.size > maxIdle) this.#lines.delete(tenantId)
    }
  }

  /** Waits until a finished statement of the tenant passes on its place. */
  #wait(line: Line): Promise<void> {
    return new Promise((resolve, reject) => {
      const refuse = () => reject(overloaded('This tenant has too many reads in progress. Retry later.'))
      if (line.waiting.length >= maxWaiting) return refuse()
      const enter = () => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        line.waiting.splice(line.waiting.indexOf(enter), 1)
        refuse()
      }, maxWaitMs)
      line.waiting.push(enter)
    })
  }
}

/** A pool that limits the statements of each tenant. */
export class SharedPool extends pg.Pool {
  readonly #query: Query

  constructor(config: pg.PoolConfig & { max: number }) {
    super(config)
    this.#query = new TenantShares(config.max).limit(super.query.bind(this) as Query)
  }

  // The types of pg have one overload for each kind of statement.
  static {
    const query = function (this: SharedPool, ...given: unknown[]) {
      return this.#query(...given)
    }
    SharedPool.prototype.query = query as typeof pg.Pool.prototype.query
  }
}

const isTenantId = (value: unknown): value is string => typeof value === 'string' && tenantIdForm.test(value)
