import type { Actor } from '../auth/actor.js'
import { quotaExceeded, rejected, storageUnavailable } from '../errors.js'
import { megabyte } from '../units.js'
import type { Endpoint } from './access.js'
import type { UploadSlots } from './upload-slots.js'

// What the other parts of a multipart body may take: only beyond it is a Content-Length certain to be too much.
const multipartSlack = 128 * 1024

export interface UploadLimits {
  maxUploadMb: number
  /** How long a client may send nothing. */
  idleMs: number
  slots: UploadSlots
  /** True where the database has no room to spare. */
  isDiskFull(): boolean
  /** What the tenant's quota leaves, in bytes. */
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
