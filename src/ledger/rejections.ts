import type { Actor } from '../platform/actor.js'
import {
  type AssayError,
  createDisabledContextError,
  createOnHoldError,
  createQuarantinedError,
  forbidden,
  invalidUploadLink,
  notFound,
  quotaExceeded,
  unauthenticated,
} from '../platform/errors/errors.js'
import { megabyte } from '../platform/units.js'
import type { Entry } from './entry.js'

/** Reason why `ledger_move` rejected the entry with index `n`. */
export type Rejection = { n: number } & (
  | {
      why:
        | 'no_tenant'
        | 'no_file'
        | 'no_context'
        | 'inactive'
        | 'suspended'
        | 'answered'
        | 'swept'
        | 'rules'
        | 'on_hold'
        | 'quarantined'
        | 'link'
    }
  | { why: 'disabled'; status: string }
  | { why: 'context_quota' | 'tenant_quota'; quota: number; held: number }
)

/**
 * Thrown if the caller of the ledger must retry. Either another request with the same Idempotency-Key finished first, the blob
 * path's reservation expired, or the context's rules changed.
 */
export class StaleWriteError extends Error {
  override readonly name = 'StaleWriteError'
  constructor(readonly reason: keyof typeof staleReasons) {
    super(staleReasons[reason])
  }
}

const staleReasons = {
  answer: 'Another request with the same Idempotency-Key finished first.',
  sweep: 'The reservation of the blob path expired.',
  rules: 'The context was changed or deleted.',
}

export function toRejectionError(rejection: Rejection, { upload, deletion }: Entry): AssayError | StaleWriteError {
  switch (rejection.why) {
    case 'answered':
      return new StaleWriteError('answer')
    case 'swept':
      return new StaleWriteError('sweep')
    case 'rules':
    case 'no_context':
      return new StaleWriteError('rules')
    case 'no_file':
      return notFound('file', deletion!.file.fileId)
    case 'link':
      return invalidUploadLink()
    case 'on_hold':
      return createOnHoldError(deletion!.file.fileId)
    case 'quarantined':
      return createQuarantinedError(deletion!.file.fileId)
    // The API key or user was disabled during the upload, so the file is not stored.
    case 'inactive':
      return unauthenticated(
        `This ${upload!.actor.kind === 'user' ? 'user' : 'API key'} is no longer active. Use an active credential.`,
      )
    case 'no_tenant':
      return unauthenticated("This credential's tenant was deleted. Use another tenant's credential.")
    case 'suspended':
      return forbidden('This tenant is suspended. Contact the operator of this service.')
    case 'disabled':
      return createDisabledContextError(upload!.file.contextKey, rejection.status)
    case 'context_quota':
      return createContextQuotaError(upload!.actor, upload!.file.contextKey, rejection, upload!.file.sizeBytes)
    case 'tenant_quota':
      return createTenantQuotaError(upload!.actor, rejection, upload!.file.sizeBytes)
  }
}

/** Quota and used storage, in bytes. */
interface StorageUsage {
  quota: number
  held: number
}

export const createContextQuotaError = (
  { uploadLink }: Actor,
  contextKey: string,
  usage: StorageUsage,
  sizeBytes: number,
): AssayError => (uploadLink ? createLinkQuotaError(sizeBytes) : createQuotaError(`Context '${contextKey}'`, usage, sizeBytes))

/** Creates the quota error for clients of an upload link, which must not learn how much the tenant stores. */
export const createLinkQuotaError = (sizeBytes: number): AssayError =>
  quotaExceeded(
    `The file has ${sizeBytes} bytes, which exceeds the remaining storage quota. Contact the person who sent the link.`,
    {
      size_bytes: sizeBytes,
    },
  )

export function createTenantQuotaError({ contexts, uploadLink }: Actor, usage: StorageUsage, sizeBytes: number): AssayError {
  if (uploadLink) return createLinkQuotaError(sizeBytes)
  if (contexts === null) return createQuotaError('The tenant', usage, sizeBytes)
  // API keys that are restricted to contexts must not learn the tenant's total storage.
  return quotaExceeded(
    `The file has ${sizeBytes} bytes, which exceeds the tenant's remaining storage quota. Delete files or increase the quota.`,
    {
      size_bytes: sizeBytes,
    },
  )
}

function createQuotaError(owner: string, { quota, held }: StorageUsage, sizeBytes: number): AssayError {
  const remaining = Math.max(0, quota - held)
  const quotaMb = quota / megabyte
  return quotaExceeded(
    `${owner} has ${remaining} bytes left of its ${quotaMb} MB quota. The file has ${sizeBytes} bytes. Delete files or increase the quota.`,
    {
      quota_mb: quotaMb,
      used_bytes: held,
      remaining_bytes: remaining,
      size_bytes: sizeBytes,
    },
  )
}
