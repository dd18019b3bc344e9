import { createHash } from 'node:crypto'
import { toCanonicalJson } from '@assay/proofs'
import { startOfHour } from '../platform/clock.js'
import { getIdTime, newId } from '../platform/ids.js'
import { type UsageColumn, usageColumns } from './counters.js'
import { type AuditRow, type CallRow, type Entry, getAuditRows, getUploadLinkField, type RejectedUpload } from './entry.js'
import { type EventType, getEventType } from './event-types.js'
import { UnserializableError } from './group-commit.js'

/** Converts a call to a call log row. The row's timestamp is the time in its id. */
export function toCallRow(call: CallRow) {
  const callId = newId('call')
  return {
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
    created_at: getIdTime(callId).toISOString(),
  }
}

/** Returns the time of a call. If the entry contains no call, returns the current time from the clock that ids use. */
export const getCallTime = (row: { call_id: string } | undefined): Date => getIdTime(row?.call_id ?? newId('call'))

type UsageDelta = { tenant_id: string; api_key_id: string | null; context_id: string | null; hour: string } & Partial<
  Record<UsageColumn, number>
>

/**
 * Returns the amounts by which an entry increases the usage counters. Several of them may have the same tenant, API key, context
 * and hour.
 */
export function toUsageDeltas({ call, blocked, upload, deletion, download }: Entry, callTime: Date): UsageDelta[] {
  const deltas = [
    call && toDelta(call, callTime, { [`${call.operation}_${call.status}`]: 1 }),
    blocked && toDelta(blocked, callTime, { [blocked.reason]: 1 }),
    // Use the creation time of the file's row, so that a recount of the file rows produces the same hourly totals.
    upload &&
      toDelta({ ...upload.file, apiKeyId: toApiKeyId(upload.actor.id) }, upload.file.createdAt, {
        files_uploaded: 1,
        bytes_uploaded: upload.file.sizeBytes,
      }),
    deletion &&
      toDelta({ ...deletion.file, ...deletion.actor, apiKeyId: toApiKeyId(deletion.actor.id) }, callTime, {
        files_deleted: 1,
        bytes_deleted: deletion.file.sizeBytes,
      }),
    download &&
      toDelta({ ...download, apiKeyId: call?.apiKeyId ?? null }, callTime, {
        downloads: 1,
        bytes_downloaded: download.sizeBytes,
      }),
  ]
  return deltas.filter((delta) => delta !== undefined)
}

const toDelta = (
  { tenantId, apiKeyId, contextId }: { tenantId: string; apiKeyId: string | null; contextId: string | null },
  time: Date,
  counts: Partial<Record<UsageColumn, number>>,
): UsageDelta => ({
  tenant_id: tenantId,
  api_key_id: apiKeyId,
  context_id: contextId,
  hour: startOfHour(time).toISOString(),
  ...counts,
})

/** Returns null for users, because only API keys have separate counters. */
const toApiKeyId = (id: string): string | null => (id.startsWith('key_') ? id : null)

/** Combines deltas into one row per tenant, API key, context and hour. */
export function sumDeltas(deltas: UsageDelta[]): UsageDelta[] {
  const sums = new Map<string, UsageDelta>()
  for (const delta of deltas) {
    const place = `${delta.tenant_id}|${delta.api_key_id}|${delta.context_id}|${delta.hour}`
    const sum = sums.get(place)
    if (!sum) sums.set(place, { ...delta })
    else for (const column of usageColumns) if (delta[column] !== undefined) sum[column] = (sum[column] ?? 0) + delta[column]
  }
  return [...sums.values()]
}

/** Creates the row for an uploaded file, including its validation report and its uploader. */
const toFileRow = ({ actor, file }: NonNullable<Entry['upload']>) => ({
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
  ...(actor.uploadLink && { link_id: actor.uploadLink.linkId }),
  ...(file.isAdopted && { adopted: true }),
  created_at: file.createdAt.toISOString(),
  validated_at: file.createdAt.toISOString(),
  report: file.validation,
  rules_version: file.rulesVersion,
  rules_at: file.rulesAt.toISOString(),
})

const toDeletionRow = ({ actor, file }: NonNullable<Entry['deletion']>) => ({
  file_id: file.fileId,
  deleted_by: actor.id,
  deleted_by_type: actor.kind,
})

/** Converts an audit log entry to a row. The row's id contains its own timestamp, which may fall on the day after the call. */
function toAuditRow(row: AuditRow) {
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
    created_at: getIdTime(auditId).toISOString(),
  }
}

/** A journal event to insert. The database assigns the sequence number and the time. `data` is canonical JSON. */
interface EventRow {
  event_id: string
  type: EventType
  subject: string
  context_key: string | null
  data: string
  checks?: object
}

const maxValueBytes = 1024
const maxDataBytes = 60_000

/**
 * Returns the journal events of an entry. An upload and its audit log entry produce one event. If an entry contains both an
 * upload and a rejection, the file is quarantined and only the rejection produces an event.
 */
export function toEventRows(entry: Entry, callId: string | null): EventRow[] {
  const events: EventRow[] = []
  if (entry.upload && !entry.rejection) events.push(toAcceptedEvent(entry.upload))
  if (entry.rejection) events.push(toRejectedEvent(entry.rejection, callId))
  for (const row of getAuditRows({ ...entry, upload: undefined })) events.push(toChangeEvent(row))
  return events
}

function toAcceptedEvent({ actor, file }: NonNullable<Entry['upload']>): EventRow {
  const data = toCanonicalJson({
    file_id: file.fileId,
    original_filename: file.originalFilename,
    content_type: file.contentType,
    size_bytes: file.sizeBytes,
    checksum: `sha256:${file.checksum}`,
    context_key: file.contextKey,
    rules_version: file.rulesVersion,
    uploaded_by: actor.id,
    ...getUploadLinkField(actor),
  })
  const checks = summarizeChecks(file.validation)
  return toEventRow('file.accepted', { subject: file.fileId, contextKey: file.contextKey, data, checks })
}

function toRejectedEvent({ actor, ...upload }: RejectedUpload, callId: string | null): EventRow {
  const data = toCanonicalJson({
    call_id: callId,
    original_filename: upload.originalFilename,
    size_bytes: upload.sizeBytes,
    checksum: upload.checksum,
    context_key: upload.contextKey,
    rules_version: upload.rulesVersion,
    reason: upload.reason,
    message: limitValueSize(upload.message),
    uploaded_by: actor.id,
    ...getUploadLinkField(actor),
  })
  const checks = summarizeChecks(upload.validation)
  return toEventRow('file.rejected', { subject: callId, contextKey: upload.contextKey, data, checks })
}

function toChangeEvent(row: AuditRow): EventRow {
  const { entityType, entityId, entityName, actor, details } = row
  const contextKey = row.contextKey ?? (entityType === 'context' ? entityName : null)
  const facts = {
    ...toNameField(row),
    ...(contextKey !== null && { context_key: contextKey }),
    [`${entityType === 'security' ? 'subject' : entityType}_id`]: entityId,
    performed_by_id: actor.id,
    performed_by_type: actor.kind,
  }
  let data = toCanonicalJson({
    ...Object.fromEntries(Object.entries(details).map(([name, value]) => [name, limitChangeSize(name, value)])),
    ...facts,
  })
  if (Buffer.byteLength(data) > maxDataBytes) data = toCanonicalJson({ ...facts, changed: hashText(toCanonicalJson(details)) })
  return toEventRow(getEventType(row), { subject: entityId, contextKey, data })
}

const nameFields: Readonly<Record<string, string>> = { file: 'original_filename', api_key: 'name' }

const toNameField = ({ entityType, entityName }: AuditRow) =>
  nameFields[entityType] ? { [nameFields[entityType]]: entityName } : {}

/** Limits the size of each value in a change. The values before and after the change are limited separately. */
function limitChangeSize(name: string, value: unknown): unknown {
  if (name !== 'changed' || typeof value !== 'object' || value === null) return limitValueSize(value)
  const limitFieldSize = (field: unknown) =>
    typeof field === 'object' && field !== null
      ? Object.fromEntries(Object.entries(field).map(([side, inner]) => [side, limitValueSize(inner)]))
      : limitValueSize(field)
  return Object.fromEntries(Object.entries(value).map(([field, change]) => [field, limitFieldSize(change)]))
}

/** Replaces a long value with its hash. */
function limitValueSize(value: unknown): unknown {
  const text = toCanonicalJson(value)
  return Buffer.byteLength(text) > maxValueBytes ? hashText(text) : value
}

const hashText = (text: string) => ({ sha256: createHash('sha256').update(text).digest('hex') })

/** Returns the check outcomes and the engine from a validation report. */
function summarizeChecks(validation: unknown): object {
  const { checks = [], engine = null } = (validation ?? {}) as { checks?: { check: string; outcome: string }[]; engine?: unknown }
  return { checks: checks.map(({ check, outcome }) => ({ check, outcome })), engine }
}

function toEventRow(
  type: EventType,
  { subject, contextKey, data, checks }: { subject: string | null; contextKey: string | null; data: string; checks?: object },
): EventRow {
  const eventId = newId('evt')
  return { event_id: eventId, type, subject: subject ?? eventId, context_key: contextKey, data, ...(checks && { checks }) }
}

// The jsonb type rejects NUL characters and unpaired surrogates, although JSON allows both.
const invalidInJsonb = /\\u0000|\\ud[89a-f]/i

/** Converts a value to JSON for a jsonb column. U+FFFD replaces each character that jsonb rejects. */
export function toDatabaseJson(value: unknown): string {
  const json = JSON.stringify(value)
  return invalidInJsonb.test(json)
    ? JSON.stringify(value, (_key, inner) =>
        typeof inner === 'string' ? inner.toWellFormed().replaceAll('\0', '\ufffd') : inner,
      )
    : json
}

/** Creates the JSON argument of the database functions that write moves. */
export function toMovesJson(entries: Entry[]): string {
  try {
    return toDatabaseJson(toMoveRows(entries))
  } catch (error) {
    throw new UnserializableError('The ledger entry cannot be serialized to JSON.', { cause: error })
  }
}

/** Returns rows by table, each with the index of its entry. The database function skips all rows of a rejected entry. */
function toMoveRows(entries: Entry[]): Record<string, unknown> {
  const moves: Record<string, unknown> = { entries: entries.length }
  const addRows = (kind: string, entryIndex: number, rows: object[]) => {
    if (rows.length === 0) return
    const known = (moves[kind] ??= []) as object[]
    for (const row of rows) known.push({ n: entryIndex, ...row })
  }
  entries.forEach((entry, n) => {
    const call = entry.call && toCallRow(entry.call)
    if (call) addRows('calls', n, [call])
    addRows(entry.blocked ? 'blocked' : 'usage', n, sumDeltas(toUsageDeltas(entry, getCallTime(call))))
    if (entry.upload) addRows('uploads', n, [toFileRow(entry.upload)])
    if (entry.deletion) addRows('deletions', n, [toDeletionRow(entry.deletion)])
    addRows('audit', n, getAuditRows(entry).map(toAuditRow))
    addRows('events', n, toEventRows(entry, call?.call_id ?? null))
    if (entry.idempotentResponse) {
      const { actorId, key, token, response } = entry.idempotentResponse
      addRows('answers', n, [{ actor_id: actorId, key, token, response }])
    }
  })
  return moves
}
