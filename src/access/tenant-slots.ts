import { overloaded, rateLimited } from '../platform/errors/errors.js'
import { ConcurrentUses } from './counters.js'

const retryAfterSeconds = 1

/** Limits concurrent operations of one kind, in total and per tenant. */
export class TenantSlots {
  readonly #running = new ConcurrentUses()

  constructor(
    private readonly what: string,
    private readonly limits: { inAll: number; byTenant: number },
  ) {}

  /** Runs `work` with a slot. Throws the same errors as `acquire` if no slot is free. */
  async run<T>(tenantId: string, work: () => Promise<T>): Promise<T> {
    const release = this.acquire(tenantId)
    try {
      return await work()
    } finally {
      release()
    }
  }

  /** Reserves a slot and returns a function that releases it. Throws 429 at the tenant's limit, and 503 at the total limit. */
  acquire(tenantId: string): () => void {
    const own = this.#running.getCount(tenantId)
    if (own >= this.limits.byTenant)
      throw rateLimited(
        `This tenant already has the maximum of ${own} concurrent ${this.what}. Retry after one of them ends.`,
        retryAfterSeconds,
      )
    const all = this.#running.getCount('all')
    if (all >= this.limits.inAll)
      throw overloaded(`The service already has the maximum of ${all} concurrent ${this.what}. Retry later.`)
    return this.#running.beginUse('all', tenantId)
  }
}
