import { idTime, newId } from '../ids.js'
import type { Admitted, Outcome, RemovedFile } from './admission.js'
import type { Counters } from './counters.js'
import { type AuditRow, type CallRow, type Entry, failed, type UploadedFile } from './entry.js'

/** The rows that one entry leaves, as the write takes them. What they add to the counters goes into `counters`. */
export function rowsOf(entry: Entry, outcome: Outcome, admitted: Admitted, counters: Counters) {
  const { upload, deletion, download } = entry
  const callId = newId('call')
  const now = idTime(callId)
  const call = entry.call && (outcome.done ? entry.call : failed(entry.call, outcome.error))
  const audit: AuditRow[] = outcome.done ? [...(entry.audit ?? [])] : []
  const journal = [...(entry.journal ?? [])]
  const removed = admitted.removed.get(entry)

  if (upload && outcome.done) {
    // By the time that the file's row shows, so that a recount of the rows gives the same hours.
    counters.uploaded(upload.file, upload.actor.id, upload.file.createdAt)
    audit.push(creationOf(upload))
  }
  // Its blob was written for nothing: garbage, from now on.
  if (upload && !outcome.done) journal.push({ blobPath: upload.file.blobPath, dueAt: now })
  if (deletion && removed) {
    counters.deleted(removed, now)
    journal.push({ blobPath: removed.blob_path, dueAt: now })
    audit.push(deletionOf(deletion, removed))
  }
  if (download && outcome.done)
    counters.downloaded(
      {
        tenantId: download.tenantId,
        contextId: admitted.contextOf.get(download.fileId) ?? null,
        apiKeyId: entry.call?.apiKeyId ?? null,
        sizeBytes: download.sizeBytes,
      },
      now,
    )
  if (entry.blocked) counters.blocked(entry.blocked, now)
  if (call) counters.call(call, now)

  return {
    calls: call ? [callRow(callId, now, call)] : [],
    files: upload && outcome.done ? [fileRow(upload)] : [],
    audit: audit.map((row) => auditRow(row, counters)),
    journal: journal.map(({ blobPath, dueAt }) => ({ blob_path: blobPath, due_at: dueAt.toISOString() })),
    unjournal: entry.unjournal ?? [],
    answers: outcome.done && entry.answer ? [answerRow(entry.answer)] : [],
  }
}

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

const deletionOf = ({ actor }: { actor: AuditRow['actor'] }, removed: RemovedFile): AuditRow => ({
  actor,
  tenantId: removed.tenant_id,
  auditType: 'file',
  action: 'deleted',
  entityType: 'file',
  entityId: removed.file_id,
  entityName: removed.original_filename,
  details: { size_bytes: removed.size_bytes },
})

const answerRow = (answer: NonNullable<Entry['answer']>) => ({
  tenant_id: answer.tenantId,
  actor_id: answer.actorId,
  key: answer.key,
  response: answer.response,
})

const callRow = (callId: string, at: Date, call: CallRow) => ({
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
  validation: call.validation,
  ip_address: call.ipAddress,
  user_agent: call.userAgent,
  created_at: at.toISOString(),
})

const fileRow = ({ actor, file }: NonNullable<Entry['upload']>) => ({
  file_id: file.fileId,
  tenant_id: file.tenantId,
  context_id: file.contextId,
  original_filename: file.originalFilename,
  content_type: file.contentType,
  size_bytes: file.sizeBytes,
  checksum: file.checksum,
  blob_path: file.blobPath,
  metadata: file.metadata,
  validation: file.validation,
  uploaded_by: actor.id,
  uploaded_by_name: actor.kind === 'api_key' ? actor.name : null,
  created_at: file.createdAt.toISOString(),
})

// Counted at the moment that its own id gives: at midnight, that of its call may be on another day.
function auditRow(row: AuditRow, counters: Counters) {
  const auditId = newId('aud')
  const at = idTime(auditId)
  counters.audited(row, at)
  return {
    audit_id: auditId,
    tenant_id: row.tenantId,
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
    created_at: at.toISOString(),
  }
}
