import { idTime, newId } from '../platform/ids.js'
import { type AuditRow, type CallRow, type Entry, fileAudit, type UploadedFile } from './entry.js'

/** The row of a call, made at the moment that its own id gives. What is absent is null. */
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

/** The row of a file, its report and who answers for it. */
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

/** The audit entries that an upload, a deletion or a change leaves. */
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

/** Counted at the moment that its own id gives: at midnight, that of its call may be on another day. */
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
