import pg from 'pg'
import { ConcurrencyLimiter } from '../concurrency-limiter.js'
import { overloaded } from '../errors/errors.js'
import { isId } from '../ids.js'

const createTooManyReadsError = () => overloaded('This tenant has too many reads in progress. Retry later.')

export type Query = (...args: unknown[]) => Promise<unknown>

/**
 * Wraps the `query` method of a pool, so that each tenant can use at most half of the connections at a time. The tenant of a
 * statement is the first parameter that is a tenant id.
 */
export function limitQueriesPerTenant(query: Query, poolSize: number): Query {
  const limiter = new ConcurrencyLimiter({ max: Math.max(1, Math.floor(poolSize / 2)), maxWaiting: 1_000, maxWaitMs: 4_000 })
  return (...args) => {
    const [statement, values] = args as [{ values?: unknown[] } | string, unknown[] | undefined]
    const tenantId = ((typeof statement === 'string' ? values : statement.values) ?? []).find((value) => isId('ten', value))
    return tenantId ? limiter.run(tenantId, () => query(...args), createTooManyReadsError) : query(...args)
  }
}

/** A connection pool that limits the concurrent statements of each tenant. */
export class TenantLimitedPool extends pg.Pool {
  readonly #query: Query

  constructor(config: pg.PoolConfig & { max: number }) {
    super(config)
    this.#query = limitQueriesPerTenant(super.query.bind(this) as Query, config.max)
  }

  // Assign the method with a type assertion, because the pg types declare one overload per kind of statement.
  static {
    const query = function (this: TenantLimitedPool, ...args: unknown[]) {
      return this.#query(...args)
    }
    TenantLimitedPool.prototype.query = query as typeof pg.Pool.prototype.query
  }
}
