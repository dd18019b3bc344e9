import { type Actor, getCredentialId } from '../platform/actor.js'
import { quotaExceeded, rateLimited, rejected, storageUnavailable } from '../platform/errors/errors.js'
import { megabyte } from '../platform/units.js'
import { ConcurrentUses } from './counters.js'
import type { Endpoint } from './endpoint.js'

// Allowance for the other parts of a multipart body. If Content-Length exceeds the file limit by more than this value, the file
// is too large.
const multipartSlack = 128 * 1024

export interface UploadLimits {
  maxUploadMb: number
  idleMs: number
  slots: UploadSlots
  /** Returns true if the database's disk is full. */
  isDiskFull(): boolean
  tenantRemaining(actor: Actor): Promise<number>
}

/** Enforces upload limits before and while the body is read. */
export class UploadAdmission {
  readonly idleMs: number
  /** Maximum upload size in bytes across all contexts. */
  readonly ceiling: number

  constructor(private readonly limits: UploadLimits) {
    this.idleMs = limits.idleMs
    this.ceiling = limits.maxUploadMb * megabyte
  }

  /**
   * Reserves an upload slot and returns a function that releases it. Rejects an upload whose Content-Length already exceeds a
   * limit.
   */
  async acquireSlot(actor: Actor, { dryRun }: Endpoint, headers: { 'content-length'?: string | undefined }): Promise<() => void> {
    if (this.limits.isDiskFull())
      throw storageUnavailable(
        'The disk is full. The file was not stored. Delete files, or retry after the operator has added disk space.',
      )
    const minBytes = Number(headers['content-length'] ?? 0) - multipartSlack
    if (minBytes > this.ceiling) throw this.createTooLargeError(minBytes)
    if (!dryRun && minBytes > 0) await this.assertWithinQuota(actor, minBytes)
    return this.limits.slots.acquire({ tenantId: actor.tenantId, id: getCredentialId(actor) })
  }

  async assertWithinQuota(actor: Actor, minBytes: number): Promise<void> {
    const remaining = await this.limits.tenantRemaining(actor)
    if (minBytes <= remaining) return
    // Do not report the tenant's usage to a key that is restricted to certain contexts.
    if (actor.contexts)
      throw quotaExceeded(`The upload has at least ${minBytes} bytes, which exceeds the tenant's remaining quota.`, {
        size_bytes: minBytes,
      })
    throw quotaExceeded(`The tenant has ${remaining} bytes left of its quota. The upload has at least ${minBytes} bytes.`, {
      remaining_bytes: remaining,
      size_bytes: minBytes,
    })
  }

  /** Returns the error for a file that exceeds the limit of every context. Used before the context is known. */
  createTooLargeError(sizeBytes: number) {
    const { maxUploadMb } = this.limits
    return rejected('size_exceeded', `The file is larger than ${maxUploadMb} MB, the limit for all contexts.`, {
      size_bytes: sizeBytes,
      limit_bytes: this.ceiling,
    })
  }
}

/**
 * Limits concurrent uploads, each of which uses memory and a socket. A tenant may use at most half of the slots. Above a quarter,
 * a tenant gets another slot only if more slots are free than it already uses. A credential may use at most a quarter of the
 * slots. The default limits are 256 in total, 128 per tenant and 64 per credential.
 */
export class UploadSlots {
  readonly #running = new ConcurrentUses()

  constructor(private readonly max: number) {}

  get inUse(): number {
    return this.#running.getCount('all')
  }

  /** Reserves an upload slot or throws 429. The returned function releases the slot. */
  acquire({ tenantId, id }: { tenantId: string; id: string }): () => void {
    const quarter = Math.ceil(this.max / 4)
    const own = this.#running.getCount(id)
    if (own >= quarter) throw createTooManyUploadsError(`This credential already has the maximum of ${own} concurrent uploads.`)
    const held = this.#running.getCount(tenantId)
    if (held >= Math.ceil(this.max / 2))
      throw createTooManyUploadsError(`This tenant already has the maximum of ${held} concurrent uploads.`)
    const free = this.max - this.inUse
    if (free === 0) throw createTooManyUploadsError(`The service already has the maximum of ${this.max} concurrent uploads.`)
    if (held >= quarter && held >= free)
      throw createTooManyUploadsError(
        `This tenant already has ${held} concurrent uploads. The ${free} free upload slots are reserved for other tenants.`,
      )
    return this.#running.beginUse('all', tenantId, id)
  }
}

const createTooManyUploadsError = (reason: string) => rateLimited(`${reason} Retry later.`, 1)
