import { createLinkQuotaError } from '../../ledger/rejections.js'
import type { Actor } from '../../platform/actor.js'
import { type AssayError, quotaExceeded, rateLimited } from '../../platform/errors/errors.js'
import { megabyte } from '../../platform/units.js'

/** A quota, and the storage that counts against it: the bytes of stored files and the received bytes of unfinished uploads. */
interface QuotaUsage {
  quota: number
  stored: number
  unfinished: number
}

export interface UploadQuotas {
  tenant: QuotaUsage
  /** Quota and usage of the context. Null if the context was deleted. */
  context: QuotaUsage | null
}

/** Thrown if the received bytes, stored files and other unfinished uploads together exceed a quota. */
export class QuotaExceededError extends Error {
  override readonly name = 'QuotaExceededError'
  constructor(
    readonly quotas: UploadQuotas,
    readonly addedBytes: number,
  ) {
    super('The received bytes exceed a storage quota.')
  }
}

const getRemainingBytes = ({ quota, stored, unfinished }: QuotaUsage): number => Math.max(0, quota - stored - unfinished)

export const fitsQuotas = ({ tenant, context }: UploadQuotas, addedBytes: number): boolean =>
  addedBytes <= getRemainingBytes(tenant) && (context === null || addedBytes <= getRemainingBytes(context))

/**
 * Returns the error for an upload that exceeds a quota only because of other unfinished uploads. The client can resume it later.
 */
export function createUnfinishedUploadsQuotaError(
  actor: Actor,
  contextKey: string,
  { quotas, addedBytes }: QuotaExceededError,
): AssayError {
  const fix = 'Finish or delete unfinished uploads, or delete files, then resume this upload.'
  const ofContext = quotas.context !== null && addedBytes > getRemainingBytes(quotas.context)
  if (actor.uploadLink) return createLinkQuotaError(addedBytes)
  // A key that is restricted to certain contexts must not learn how much the whole tenant stores.
  if (!ofContext && actor.contexts)
    return quotaExceeded(`The request adds ${addedBytes} bytes, which exceeds the tenant's remaining quota. ${fix}`, {
      size_bytes: addedBytes,
    })
  const { quota, stored, unfinished } = ofContext ? quotas.context! : quotas.tenant
  const owner = ofContext ? `Context '${contextKey}'` : 'The tenant'
  const remaining = getRemainingBytes({ quota, stored, unfinished })
  return quotaExceeded(
    `${owner} has ${remaining} bytes left of its ${quota / megabyte} MB quota, because unfinished uploads use ${unfinished} bytes. The request adds ${addedBytes} bytes. ${fix}`,
    {
      quota_mb: quota / megabyte,
      used_bytes: stored,
      unfinished_bytes: unfinished,
      remaining_bytes: remaining,
      size_bytes: addedBytes,
    },
  )
}

/** Maximum number of a tenant's unfinished uploads, and their maximum total size as a multiple of the maximum file size. */
export const maxUnfinished = { uploads: 1_000, largestFiles: 64 }

/**
 * Number and total size of the unfinished uploads of a tenant and of one of its credentials (`own`). One credential can use at
 * most half of the tenant's limits.
 */
export interface UnfinishedUsage {
  uploads: number
  bytes: number
  own: number
  ownBytes: number
}

/** Returns the error for an upload of `requestedBytes` bytes that exceeds a limit. */
export function createUnfinishedUploadsLimitError(
  { uploads, bytes, own, ownBytes }: UnfinishedUsage,
  requestedBytes: number,
  maxBytes: number,
): AssayError {
  const max = maxUnfinished.uploads
  const why =
    own >= max / 2
      ? `this credential has ${own} unfinished uploads, which is the maximum`
      : uploads >= max
        ? `this tenant has ${uploads} unfinished uploads, which is the maximum`
        : ownBytes + requestedBytes > maxBytes / 2
          ? `this credential has ${ownBytes} bytes of unfinished uploads, the new upload is ${requestedBytes} bytes, and the maximum is ${maxBytes / 2}`
          : `this tenant has ${bytes} bytes of unfinished uploads, the new upload is ${requestedBytes} bytes, and the maximum is ${maxBytes}`
  return rateLimited(`Too many unfinished uploads: ${why}. Finish or delete unfinished uploads.`, 60)
}
