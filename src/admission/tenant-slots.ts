import { overloaded } from '../errors.js'

/** How many of something run at once, in all and of one tenant: each holds a database connection. */
export class TenantSlots {
  readonly #what: string
  readonly #most: { inAll: number; byTenant: number }
  readonly #running = new Map<string, number>()

  constructor(what: string, most: { inAll: number; byTenant: number }) {
    this.#what = what
    this.#most = most
  }

  /** Gives the function that returns the slot; throws `overloaded` where none is free. */
  enter(tenantId: string): () => void {
    const own = this.#running.get(tenantId) ?? 0
    const all = [...this.#running.values()].reduce((sum, count) => sum + count, 0)
    if (own >= this.#most.byTenant || all >= this.#most.inAll)
      throw overloaded(
        `Too many ${this.#what} run already (at most ${this.#most.byTenant} of one tenant, ${this.#most.inAll} in all); try again when one has ended.`,
      )
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
