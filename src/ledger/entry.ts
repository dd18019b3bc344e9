import type { Actor } from '../platform/actor.js'
import type { BlockReason, PublicError } from '../platform/errors/errors.js'

export type Operation = 'upload' | 'download' | 'metadata' | 'delete'
export type AuditType = 'api_key' | 'file' | 'context' | 'tenant' | 'security'
export type AuditAction = 'created' | 'enabled' | 'disabled' | 'revoked' | 'updated' | 'deleted'

/** A call by API key, as the log keeps it (spec §2, call log entry). */
export interface CallRow {
  tenantId: string
  apiKeyId: string
  apiKeyName: string
  operation: Operation
  status: 'success' | 'failure'
  fileId: string | null
  contextId: string | null
  contextKey: string | null
  errorCode: string | null
  errorMessage: string | null
  /** The report of a rejected upload. */
  validation: unknown
  ipAddress: string
  userAgent: string
}

/** A change, with its performer as it was at that moment (spec §2, audit log entry). */
export interface AuditRow {
  actor: Actor
  tenantId: string
  auditType: AuditType
  action: AuditAction
  entityType: string
  entityId: string
  entityName: string
  details: Record<string, unknown>
  /** Of the context that it is about, for the event. */
  contextKey?: string
}

/** A file that was judged sound and whose blob is durable. */
export interface UploadedFile {
  fileId: string
  tenantId: string
  contextId: string
  contextKey: string
  originalFilename: string
  contentType: string
  sizeBytes: number
  checksum: string
  blobPath: string
  metadata: Record<string, unknown>
  validation: unknown
  /** Of the context's rules that it was judged by, and when they were last changed: it is refused where they are others by now. */
  rulesVersion: number
  rulesAt: Date
  createdAt: Date
}

/** An upload that the checks refused, and their report; null is what was not known by then. */
export interface RejectedUpload {
  actor: Actor
  contextKey: string | null
  rulesVersion: number | null
  originalFilename: string | null
  sizeBytes: number | null
  checksum: string | null
  reason: string
  message: string
  validation: unknown
}

/** A file to delete, as it was read before: fields that never change. */
export type RemovedFile = Pick<UploadedFile, 'fileId' | 'contextId' | 'contextKey' | 'originalFilename' | 'sizeBytes'>

/** What was answered to a request with an Idempotency-Key: replayed for 24 hours. */
export interface IdempotentAnswer {
  tenantId: string
  actorId: string
  key: string
  /** Of the key's holder. */
  token: string
  response: unknown
}

/** What one call leaves behind. All of it is committed in one transaction, or none. */
export interface Entry {
  /** As it would be on success; the ledger itself turns it into a failure where the entry is refused. */
  call?: CallRow | undefined
  /** An upload that a check refused. */
  blocked?: { tenantId: string; contextId: string | null; apiKeyId: string | null; reason: BlockReason } | undefined
  /** Its verdict, for the journal. */
  rejection?: RejectedUpload | undefined
  upload?: { actor: Actor; file: UploadedFile } | undefined
  /** `details` goes into its audit entry. */
  deletion?: { actor: Actor; file: RemovedFile; details?: Record<string, unknown> } | undefined
  download?: { tenantId: string; fileId: string; contextId: string; sizeBytes: number } | undefined
  audit?: AuditRow[] | undefined
  answer?: IdempotentAnswer | undefined
}

/** The audit entry of a change of one file. */
export const fileAudit = (
  actor: Actor,
  action: AuditAction,
  { fileId, originalFilename, contextKey }: Pick<UploadedFile, 'fileId' | 'originalFilename' | 'contextKey'>,
  details: Record<string, unknown>,
): AuditRow => ({
  actor,
  tenantId: actor.tenantId,
  auditType: 'file',
  action,
  entityType: 'file',
  entityId: fileId,
  entityName: originalFilename,
  details,
  contextKey,
})

/** The tenant whose lock the entry needs; undefined where it only adds. */
export const movedTenant = ({ upload, rejection, deletion, audit, answer }: Entry): string | undefined =>
  upload?.file.tenantId ?? rejection?.actor.tenantId ?? deletion?.actor.tenantId ?? audit?.[0]?.tenantId ?? answer?.tenantId

/** The same call, refused. */
export const failed = (call: CallRow, error: PublicError, validation: unknown = null): CallRow => ({
  ...call,
  status: 'failure',
  // Spec §2: a rejected upload involved no file, though one may have had an id already.
  fileId: call.operation === 'upload' ? null : call.fileId,
  errorCode: error.code,
  errorMessage: error.message,
  validation,
})
