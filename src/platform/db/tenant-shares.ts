import { overloaded } from '../errors/errors.js'

const tenantIdForm = /^ten_[0-9a-z]{26}$/
const maxWaiting = 1_000
const maxWaitMs = 4_000
// Number of unused entries to keep, because a Map that is emptied and refilled with each statement reallocates its table.
const maxIdle = 1_000

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

  /** Wraps `query` with the limit. */
  limit(pool: { query: unknown }): void {
    const query = (pool.query as (...given: unknown[]) => Promise<unknown>).bind(pool)
    pool.query = ((...given: unknown[]) => {
      const [statement, values] = given as [{ values?: unknown[] } | string, unknown[] | undefined]
      const tenantId = ((typeof statement === 'string' ? values : statement.values) ?? []).find(isTenantId)
      return tenantId ? this.#run(tenantId, () => query(...given)) : query(...given)
    }) as unknown
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

const isTenantId = (value: unknown): value is string => typeof value === 'string' && tenantIdForm.test(value)
