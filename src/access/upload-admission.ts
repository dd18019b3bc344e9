import type { Actor } from '../platform/actor.js'
import { quotaExceeded, rateLimited, rejected, storageUnavailable } from '../platform/errors/errors.js'
import { megabyte } from '../platform/units.js'
import type { Endpoint } from './endpoint.js'

// What the other parts of a multipart body may take: only beyond it is a Content-Length certain to be too much.
const multipartSlack = 128 * 1024

export interface UploadLimits {
  maxUploadMb: number
  idleMs: number
  slots: UploadSlots
  /** True where the database has no room to spare. */
  isDiskFull(): boolean
  tenantRemaining(actor: Actor): Promise<number>
}

/** What uploads are held against before their body is read, and while it comes. */
export class UploadAdmission {
  readonly idleMs: number
  /** Bytes that no upload may exceed, whatever its context. */
  readonly ceiling: number
  readonly #limits: UploadLimits

  constructor(limits: UploadLimits) {
    this.#limits = limits
    this.idleMs = limits.idleMs
    this.ceiling = limits.maxUploadMb * megabyte
  }

  /** Contract §6: before the body is read only its Content-Length can refuse it. Takes a slot, and gives the function that returns it. */
  async enter(actor: Actor, { dryRun }: Endpoint, headers: { 'content-length'?: string | undefined }): Promise<() => void> {
    if (this.#limits.isDiskFull())
      throw storageUnavailable(
        'The disk is full; nothing was stored. Files can be deleted, and uploads go on when there is room.',
      )
    const least = Number(headers['content-length'] ?? 0) - multipartSlack
    if (least > this.ceiling) throw this.largerThanAny()
    if (!dryRun && least > 0) await this.#refuseBeyondQuota(actor, least)
    return this.#limits.slots.take(actor)
  }

  async #refuseBeyondQuota(actor: Actor, least: number): Promise<void> {
    const remaining = await this.#limits.tenantRemaining(actor)
    if (least <= remaining) return
    // A key that is restricted to some contexts learns nothing of what the whole tenant holds.
    if (actor.contexts)
      throw quotaExceeded(`The tenant has less left of its quota than the upload's ${least} bytes.`, { size_bytes: least })
    throw quotaExceeded(`The tenant has ${remaining} bytes left of its quota; the upload has at least ${least}.`, {
      remaining_bytes: remaining,
      size_bytes: least,
    })
  }

  /** For what is too large before its context is known. */
  largerThanAny() {
    const { maxUploadMb } = this.#limits
    return rejected('size_exceeded', `The file is larger than ${maxUploadMb} MB, the most that any context may allow.`, {
      max_file_size_mb: maxUploadMb,
    })
  }
}

interface Holder {
  tenantId: string
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
  readonly #max: { all: number; tenant: number; quarter: number; credential: number }

  constructor(all: number) {
    this.#max = { all, tenant: Math.ceil(all / 2), quarter: Math.ceil(all / 4), credential: Math.ceil(all / 4) }
  }

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
    if (own >= this.#max.credential) throw tooMany(`this credential has ${own} under way, the most there may be`)
    const held = this.#byTenant.get(tenantId) ?? 0
    if (held >= this.#max.tenant) throw tooMany(`this tenant has ${held} under way, the most there may be`)
    const free = this.#max.all - this.#all
    if (free === 0) throw tooMany(`${this.#all} are under way, the most there may be`)
    if (held >= this.#max.quarter && held >= free)
      throw tooMany(`this tenant has ${held} under way, and the ${free} that are free are for others`)
  }
}

function add(counts: Map<string, number>, key: string, points: number): void {
  const count = (counts.get(key) ?? 0) + points
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}

const tooMany = (why: string) => rateLimited(`Too many uploads at once: ${why}; try again in a moment.`, 1)
