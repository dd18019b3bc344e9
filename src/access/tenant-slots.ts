import { overloaded, rateLimited } from '../platform/errors/errors.js'

const retryAfterSeconds = 1

/** Limits concurrent operations of one kind, in total and per tenant. */
export class TenantSlots {
  readonly #what: string
  readonly #limits: { inAll: number; byTenant: number }
  readonly #running = new Map<string, number>()

  constructor(what: string, limits: { inAll: number; byTenant: number }) {
    this.#what = what
    this.#limits = limits
  }

  /** Reserves a slot and returns a function that releases it. Throws 429 at the tenant's limit, and 503 at the total limit. */
  acquire(tenantId: string): () => void {
    const own = this.#running.get(tenantId) ?? 0
    const all = [...this.#running.values()].reduce((sum, count) => sum + count, 0)
    if (own >= this.#limits.byTenant)
      throw rateLimited(
        `This tenant already has the maximum of ${own} concurrent ${this.#what}. Retry after one of them ends.`,
        retryAfterSeconds,
      )
    if (all >= this.#limits.inAll)
      throw overloaded(`The service already has the maximum of ${all} concurrent ${this.#what}. Retry later.`)
    this.#running.set(tenantId, own + 1)
    let left = false
    return () => {
      if (left) return
      left = true
      const now = this.#running.get(tenantId)! - 1
      if (now > 0) this.#running.set(tenantId, now)
      else this.#running.delete(tenantId)
    }
  }
}
