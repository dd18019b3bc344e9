import { rateLimited } from '../errors.js'

/**
 * Simultaneous uploads, by tenant and in all, in this process: each holds memory and a socket of this process, not of others. A tenant
 * with more than a quarter of all leaves as many free as it has, so that two busy ones do not keep a third out.
 */
export class UploadSlots {
  #all = 0
  readonly #byTenant = new Map<string, number>()
  readonly #quarter: number
  readonly #most: { tenant: number; all: number }

  constructor(most: { tenant: number; all: number }) {
    this.#most = most

    this.#quarter = Math.ceil(most.all / 4)
  }

  /** Takes a slot, or throws a 429. Gives the function that returns it; calling that twice returns it once. */
  take(tenantId: string): () => void {
    const held = this.#byTenant.get(tenantId) ?? 0
    if (held >= this.#most.tenant) throw tooMany(`this tenant has ${held} under way, the most there may be`)
    const free = this.#most.all - this.#all
    if (free === 0) throw tooMany(`${this.#all} are under way, the most there may be`)
    if (held >= this.#quarter && held >= free)
      throw tooMany(`this tenant has ${held} under way, and the ${free} that are free are for others`)
    this.#all++
    this.#byTenant.set(tenantId, held + 1)
    let returned = false
    return () => {
      if (returned) return
      returned = true
      this.#give(tenantId)
    }
  }

  #give(tenantId: string): void {
    this.#all--
    const left = (this.#byTenant.get(tenantId) ?? 1) - 1
    if (left > 0) this.#byTenant.set(tenantId, left)
    else this.#byTenant.delete(tenantId)
  }
}

const tooMany = (why: string) => rateLimited(`Too many uploads at once: ${why}; try again in a moment.`, 1)
