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

/** Quota and used storage, in bytes. */
interface StorageUsage {
  quota: number
  held: number
}

/**
 * States why `ledger_move` rejected the entry with index `n`. `status` and the quota values are set only for reasons whose errors
 * use them.
 */
export type Rejection = { n: number; why: keyof typeof rejectionErrors } & RejectionValues
type RejectionValues = StorageUsage & { status: string }

/** Thrown if an entry is out of date, for example because the rules have changed. The caller of the ledger must retry. */
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

const rejectionErrors = {
  answered: () => new StaleWriteError('answer'),
  swept: () => new StaleWriteError('sweep'),
  rules: () => new StaleWriteError('rules'),
  no_context: () => new StaleWriteError('rules'),
  no_file: ({ deletion }: Entry) => notFound('file', deletion!.file.fileId),
  link: () => invalidUploadLink(),
  on_hold: ({ deletion }: Entry) => createOnHoldError(deletion!.file.fileId),
  quarantined: ({ deletion }: Entry) => createQuarantinedError(deletion!.file.fileId),
  // The API key or user was disabled during the upload, so the file is not stored.
  inactive: ({ upload }: Entry) =>
    unauthenticated(`This ${upload!.actor.kind === 'user' ? 'user' : 'API key'} is no longer active. Use an active credential.`),
  no_tenant: () => unauthenticated("This credential's tenant was deleted. Use another tenant's credential."),
  suspended: () => forbidden('This tenant is suspended. Contact the operator of this service.'),
  disabled: ({ upload }: Entry, { status }: RejectionValues) => createDisabledContextError(upload!.file.contextKey, status),
  context_quota: ({ upload }: Entry, usage: StorageUsage) =>
    createContextQuotaError(upload!.actor, upload!.file.contextKey, usage, upload!.file.sizeBytes),
  tenant_quota: ({ upload }: Entry, usage: StorageUsage) => createTenantQuotaError(upload!.actor, usage, upload!.file.sizeBytes),
}

export const toRejectionError = (rejection: Rejection, entry: Entry): AssayError | StaleWriteError =>
  rejectionErrors[rejection.why](entry, rejection)

export const createContextQuotaError = (
  { uploadLink }: Actor,
  contextKey: string,
  usage: StorageUsage,
  sizeBytes: number,
): AssayError => (uploadLink ? createLinkQuotaError(sizeBytes) : createQuotaError(`Context '${contextKey}'`, usage, sizeBytes))

/** Creates the quota error for clients of an upload link, which must not learn how much the tenant stores. */
export const createLinkQuotaError = (sizeBytes: number): AssayError =>
  quotaExceeded(
    `The file is ${sizeBytes} bytes, which exceeds the remaining storage quota. Contact the person who sent the link.`,
    { size_bytes: sizeBytes },
  )

export function createTenantQuotaError({ contexts, uploadLink }: Actor, usage: StorageUsage, sizeBytes: number): AssayError {
  if (uploadLink) return createLinkQuotaError(sizeBytes)
  if (contexts === null) return createQuotaError('The tenant', usage, sizeBytes)
  // API keys that are restricted to contexts must not learn the tenant's total storage.
  return quotaExceeded(
    `The file is ${sizeBytes} bytes, which exceeds the tenant's remaining storage quota. Delete files or increase the quota.`,
    { size_bytes: sizeBytes },
  )
}

function createQuotaError(owner: string, { quota, held }: StorageUsage, sizeBytes: number): AssayError {
  const remaining = Math.max(0, quota - held)
  const quotaMb = quota / megabyte
  return quotaExceeded(
    `${owner} has ${remaining} bytes left of its ${quotaMb} MB quota. The file is ${sizeBytes} bytes. Delete files or increase the quota.`,
    { quota_mb: quotaMb, used_bytes: held, remaining_bytes: remaining, size_bytes: sizeBytes },
  )
}
