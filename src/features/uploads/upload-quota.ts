import { createLinkQuotaError } from '../../ledger/rejections.js'
import type { Actor } from '../../platform/actor.js'
import { type AssayError, quotaExceeded } from '../../platform/errors/errors.js'
import { megabyte } from '../../platform/units.js'

/** A quota, the bytes of stored files, and the received bytes of unfinished uploads. */
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
    readonly added: number,
  ) {
    super('The received bytes exceed a storage quota.')
  }
}

const getRemaining = ({ quota, stored, unfinished }: QuotaUsage): number => Math.max(0, quota - stored - unfinished)

export const fitsQuotas = ({ tenant, context }: UploadQuotas, addedBytes: number): boolean =>
  addedBytes <= getRemaining(tenant) && (context === null || addedBytes <= getRemaining(context))

/** Returns the error for a quota that other unfinished uploads exhaust. The client can resume the upload later. */
export function createUnfinishedUploadsQuotaError(
  actor: Actor,
  contextKey: string,
  { quotas, added }: QuotaExceededError,
): AssayError {
  const fix = 'Finish or delete unfinished uploads, or delete files, then resume this upload.'
  const ofContext = quotas.context !== null && added > getRemaining(quotas.context)
  if (actor.uploadLink) return createLinkQuotaError(added)
  // A key that is restricted to certain contexts must not learn how much the whole tenant stores.
  if (!ofContext && actor.contexts)
    return quotaExceeded(`The request has ${added} bytes, which exceeds the tenant's remaining quota. ${fix}`, {
      size_bytes: added,
    })
  const { quota, stored, unfinished } = ofContext ? quotas.context! : quotas.tenant
  const owner = ofContext ? `Context '${contextKey}'` : 'The tenant'
  const remaining = getRemaining({ quota, stored, unfinished })
  return quotaExceeded(
    `${owner} has ${remaining} bytes left of its ${quota / megabyte} MB quota, because unfinished uploads use ${unfinished} bytes. The request has ${added} bytes. ${fix}`,
    {
      quota_mb: quota / megabyte,
      used_bytes: stored,
      unfinished_bytes: unfinished,
      remaining_bytes: remaining,
      size_bytes: added,
    },
  )
}
