import { rateLimited } from '../errors.js'

interface Holder {
  tenantId: string
  /** The credential. */
  id: string
}

/**
 * Simultaneous uploads in this process: each holds memory and a socket of this process, not of others. No tenant takes more than half
 * of all, and one with more than a quarter leaves as many free as it has, so that two busy ones do not keep a third out. No credential
 * takes more than half of its tenant's. By default that is 256, 128 and the 64 that are never refused.
 */
export class UploadSlots {
  #all = 0
  readonly #byTenant = new Map<string, number>()
  readonly #byCredential = new Map<string, number>()
  readonly #most: { all: number; tenant: number; quarter: number; credential: number }

  constructor(all: number) {
    this.#most = { all, tenant: Math.ceil(all / 2), quarter: Math.ceil(all / 4), credential: Math.ceil(all / 4) }
  }

  /** How many are taken. */
  get taken(): number {
    return this.#all
  }

  /** Takes a slot, or throws a 429. Gives the function that returns it; calling that twice returns it once. */
  take(holder: Holder): () => void {
    this.#refuse(holder)
    this.#all++
    add(this.#byTenant, holder.tenantId, 1)
    add(this.#byCredential, holder.id, 1)
    let returned = false
    return () => {
      if (returned) return
      returned = true
      this.#all--
      add(this.#byTenant, holder.tenantId, -1)
      add(this.#byCredential, holder.id, -1)
    }
  }

  #refuse({ tenantId, id }: Holder): void {
    const own = this.#byCredential.get(id) ?? 0
    if (own >= this.#most.credential) throw tooMany(`this credential has ${own} under way, the most there may be`)
    const held = this.#byTenant.get(tenantId) ?? 0
    if (held >= this.#most.tenant) throw tooMany(`this tenant has ${held} under way, the most there may be`)
    const free = this.#most.all - this.#all
    if (free === 0) throw tooMany(`${this.#all} are under way, the most there may be`)
    if (held >= this.#most.quarter && held >= free)
      throw tooMany(`this tenant has ${held} under way, and the ${free} that are free are for others`)
  }
}

function add(counts: Map<string, number>, key: string, points: number): void {
  const count = (counts.get(key) ?? 0) + points
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}

const tooMany = (why: string) => rateLimited(`Too many uploads at once: ${why}; try again in a moment.`, 1)
