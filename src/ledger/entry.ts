import type { Actor } from '../platform/actor.js'
import type { BlockReason, PublicError } from '../platform/errors/errors.js'
import { idTime, newId } from '../platform/ids.js'

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

/** The database row of a call. Its time is that of its id. */
export function callRow(call: CallRow): { callId: string; row: Record<string, unknown>; at: Date } {
  const callId = newId('call')
  const at = idTime(callId)
  return {
    callId,
    at,
    row: {
      call_id: callId,
      tenant_id: call.tenantId,
      api_key_id: call.apiKeyId,
      api_key_name: call.apiKeyName,
      operation: call.operation,
      status: call.status,
      file_id: call.fileId,
      context_key: call.contextKey,
      error_code: call.errorCode,
      error_message: call.errorMessage,
      ...(call.validation !== null && { validation: call.validation }),
      ip_address: call.ipAddress,
      user_agent: call.userAgent,
      created_at: at.toISOString(),
    },
  }
}

/** The database row of a file, with its report and its uploader. */
export const fileRow = ({ actor, file }: NonNullable<Entry['upload']>) => ({
  file_id: file.fileId,
  context_id: file.contextId,
  original_filename: file.originalFilename,
  content_type: file.contentType,
  size_bytes: file.sizeBytes,
  checksum: file.checksum,
  blob_path: file.blobPath,
  metadata: file.metadata,
  uploaded_by: actor.id,
  uploaded_by_name: actor.kind === 'api_key' ? actor.name : null,
  uploader_kind: actor.kind,
  created_at: file.createdAt.toISOString(),
  validated_at: file.createdAt.toISOString(),
  report: file.validation,
  rules_version: file.rulesVersion,
  rules_at: file.rulesAt.toISOString(),
})

export const removedRow = ({ actor, file }: NonNullable<Entry['deletion']>) => ({
  file_id: file.fileId,
  deleted_by: actor.id,
  deleted_by_type: actor.kind,
})

/** Audit entries of an upload, a deletion or a change. */
export const auditsOf = ({ upload, deletion, audit = [] }: Entry): AuditRow[] => [
  ...audit,
  ...(upload ? [creationOf(upload)] : []),
  ...(deletion ? [deletionOf(deletion)] : []),
]

const creationOf = ({ actor, file }: { actor: AuditRow['actor']; file: UploadedFile }): AuditRow => ({
  actor,
  tenantId: file.tenantId,
  auditType: 'file',
  action: 'created',
  entityType: 'file',
  entityId: file.fileId,
  entityName: file.originalFilename,
  details: {
    context_key: file.contextKey,
    size_bytes: file.sizeBytes,
    content_type: file.contentType,
    checksum: `sha256:${file.checksum}`,
  },
})

const deletionOf = ({ actor, file, details }: NonNullable<Entry['deletion']>): AuditRow =>
  fileAudit(actor, 'deleted', file, { size_bytes: file.sizeBytes, ...details })

/** The database row of an audit entry. Its time is that of its id, which at midnight may be on another day than its call. */
export function auditRow(row: AuditRow) {
  const auditId = newId('aud')
  return {
    audit_id: auditId,
    audit_type: row.auditType,
    action: row.action,
    entity_type: row.entityType,
    entity_id: row.entityId,
    entity_name: row.entityName,
    performed_by_id: row.actor.id,
    performed_by_name: row.actor.name,
    performed_by_email: row.actor.email,
    performed_by_type: row.actor.kind,
    performed_by_scopes: row.actor.scopes,
    details: row.details,
    ip_address: row.actor.ip,
    user_agent: row.actor.userAgent,
    created_at: idTime(auditId).toISOString(),
  }
}

// jsonb accepts neither NUL nor half a surrogate pair, although both are valid in JSON.
const invalidInJsonb = /\\u0000|\\ud[89a-f]/i

/** JSON that PostgreSQL's jsonb accepts: invalid characters in strings become U+FFFD. Input that must be stored exactly is rejected earlier. */
export function databaseJson(value: unknown): string {
  const json = JSON.stringify(value)
  return invalidInJsonb.test(json)
    ? JSON.stringify(value, (_key, inner) =>
        typeof inner === 'string' ? inner.toWellFormed().replaceAll('\0', '\ufffd') : inner,
      )
    : json
}

/** True if jsonb stores the value exactly. */
export const isStorable = (value: unknown): boolean => {
  let storable = true
  JSON.stringify(value, (key, inner) => {
    if (key.includes('\0') || !key.isWellFormed()) storable = false
    // JSON.parse reads 1e400 as Infinity, which JSON cannot express.
    if (typeof inner === 'number' && !Number.isFinite(inner)) storable = false
    if (typeof inner === 'string' && (inner.includes('\0') || !inner.isWellFormed())) storable = false
    return inner
  })
  return storable
}
