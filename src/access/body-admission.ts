import type { IncomingHttpHeaders } from 'node:http'
import { type Actor, getCredentialId, type Origin } from '../platform/actor.js'
import { quotaExceeded, rateLimited, rejected, storageUnavailable } from '../platform/errors/errors.js'
import { megabyte } from '../platform/units.js'
import { toAddressGroup } from './address-group.js'
import { ConcurrentUses, type UploadSlots } from './concurrency.js'
import type { Endpoint } from './endpoint.js'

// Allowance in bytes for everything in a multipart body except the file. If Content-Length exceeds the file limit by more than
// this value, the file itself must be too large.
const multipartSlack = 128 * 1024

/** Limits for a JSON body: total time and idle time in milliseconds, and size in bytes. */
export interface JsonLimits {
  deadlineMs: number
  idleMs: number
  maxBytes: number
}

const authenticatedLimits = { deadlineMs: 30_000, maxBytes: megabyte }
// Limits for bodies of unauthenticated requests, such as a sign-in document.
const anonymousLimits = { deadlineMs: 10_000, maxBytes: 16 * 1024 }
const maxAnonymous = { inAll: 256, byAddress: 16 }

interface BodyLimits {
  maxUploadMb: number
  idleMs: number
  slots: UploadSlots
  /** Returns true if the database's disk is full. */
  isDiskFull(): boolean
  tenantRemaining(actor: Actor): Promise<number>
}

/** Limits uploads and JSON bodies, and the number of unauthenticated JSON bodies that are read concurrently. */
export class BodyAdmission {
  readonly idleMs: number
  /** Maximum upload size in bytes across all contexts. */
  readonly ceiling: number
  readonly #anonymous = new ConcurrentUses()

  constructor(private readonly limits: BodyLimits) {
    this.idleMs = limits.idleMs
    this.ceiling = limits.maxUploadMb * megabyte
  }

  /**
   * Reserves an upload slot and returns a function that releases it. Throws if the disk is full, or if Content-Length shows that
   * the upload exceeds the size limit or the quota.
   */
  async acquireUploadSlot(actor: Actor, { dryRun }: Endpoint, headers: IncomingHttpHeaders): Promise<() => void> {
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
      throw quotaExceeded(`The upload is at least ${minBytes} bytes, which exceeds the tenant's remaining quota.`, {
        size_bytes: minBytes,
      })
    throw quotaExceeded(`The tenant has ${remaining} bytes left of its quota. The upload is at least ${minBytes} bytes.`, {
      remaining_bytes: remaining,
      size_bytes: minBytes,
    })
  }

  /** Returns the error for a file that is larger than any context allows. Used if the context is not known yet. */
  createTooLargeError(sizeBytes: number) {
    const { maxUploadMb } = this.limits
    return rejected('size_exceeded', `The file is larger than ${maxUploadMb} MB, the limit for all contexts.`, {
      size_bytes: sizeBytes,
      limit_bytes: this.ceiling,
    })
  }

  /** Reads a JSON body by calling `read` with the limits that apply to the caller. Unauthenticated callers get lower limits. */
  async readJson<T>(call: { actor: Actor | undefined; origin: Origin }, read: (limits: JsonLimits) => Promise<T>): Promise<T> {
    if (call.actor) return read({ ...authenticatedLimits, idleMs: this.idleMs })
    const address = toAddressGroup(call.origin.ip)
    const own = this.#anonymous.getCount(address)
    const all = this.#anonymous.getCount('all')
    if (own >= maxAnonymous.byAddress || all >= maxAnonymous.inAll)
      throw rateLimited(
        `Too many concurrent requests without a credential: ${own} from this address, ${all} in total. Retry later.`,
        1,
      )
    const end = this.#anonymous.acquire('all', address)
    return read({ ...anonymousLimits, idleMs: this.idleMs }).finally(end)
  }
}
