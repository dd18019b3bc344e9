import { createHash } from 'node:crypto'
import { canonicalJson } from '@assay/proofs'
import { newId } from '../platform/ids.js'
import { type AuditRow, auditsOf, type Entry, type RejectedUpload } from './entry.js'
import { type EventType, typeOfAudit } from './event-types.js'

/** An event as the database takes it: it adds the number and the time. `data` is canonical JSON. */
interface EventRow {
  event_id: string
  type: EventType
  subject: string
  context_key: string | null
  data: string
  checks?: object
}

const mostValueBytes = 1024
const mostDataBytes = 60_000

/** What an entry says, one event each: an accepted upload and its audit row are one. `callId` is that of its call, where it has one. */
export function eventsOf(entry: Entry, callId: string | null): EventRow[] {
  const events: EventRow[] = []
  if (entry.upload) events.push(acceptedOf(entry.upload))
  if (entry.rejection) events.push(rejectedOf(entry.rejection, callId))
  for (const row of auditsOf({ ...entry, upload: undefined })) events.push(changeOf(row))
  return events
}

function acceptedOf({ actor, file }: NonNullable<Entry['upload']>): EventRow {
  const data = canonicalJson({
    file_id: file.fileId,
    original_filename: file.originalFilename,
    content_type: file.contentType,
    size_bytes: file.sizeBytes,
    checksum: `sha256:${file.checksum}`,
    context_key: file.contextKey,
    rules_version: file.rulesVersion,
    uploaded_by: actor.id,
  })
  return eventOf('file.accepted', { subject: file.fileId, contextKey: file.contextKey, data, checks: looksOf(file.validation) })
}

function rejectedOf({ actor, ...upload }: RejectedUpload, callId: string | null): EventRow {
  const data = canonicalJson({
    call_id: callId,
    original_filename: upload.originalFilename,
    size_bytes: upload.sizeBytes,
    checksum: upload.checksum,
    context_key: upload.contextKey,
    rules_version: upload.rulesVersion,
    reason: upload.reason,
    message: bounded(upload.message),
    uploaded_by: actor.id,
  })
  return eventOf('file.rejected', { subject: callId, contextKey: upload.contextKey, data, checks: looksOf(upload.validation) })
}

function changeOf(row: AuditRow): EventRow {
  const { entityType, entityId, entityName, actor, details } = row
  const contextKey = row.contextKey ?? (entityType === 'context' ? entityName : null)
  const facts = {
    ...named(row),
    ...(contextKey !== null && { context_key: contextKey }),
    [`${entityType === 'security' ? 'subject' : entityType}_id`]: entityId,
    performed_by_id: actor.id,
    performed_by_type: actor.kind,
  }
  let data = canonicalJson({
    ...Object.fromEntries(Object.entries(details).map(([name, value]) => [name, kept(name, value)])),
    ...facts,
  })
  if (Buffer.byteLength(data) > mostDataBytes) data = canonicalJson({ ...facts, changed: hashOf(canonicalJson(details)) })
  return eventOf(typeOfAudit(row), { subject: entityId, contextKey, data })
}

const nameFields: Readonly<Record<string, string>> = { file: 'original_filename', api_key: 'name' }

const named = ({ entityType, entityName }: AuditRow) => (nameFields[entityType] ? { [nameFields[entityType]]: entityName } : {})

/** Each field that changed by itself, before and after. */
function kept(name: string, value: unknown): unknown {
  if (name !== 'changed' || typeof value !== 'object' || value === null) return bounded(value)
  const sides = (field: unknown) =>
    typeof field === 'object' && field !== null
      ? Object.fromEntries(Object.entries(field).map(([side, held]) => [side, bounded(held)]))
      : bounded(field)
  return Object.fromEntries(Object.entries(value).map(([field, change]) => [field, sides(change)]))
}

/** A long value stands as its hash. */
function bounded(value: unknown): unknown {
  const text = canonicalJson(value)
  return Buffer.byteLength(text) > mostValueBytes ? hashOf(text) : value
}

const hashOf = (text: string) => ({ sha256: createHash('sha256').update(text).digest('hex') })

/** Which checks were made for a verdict, and by what. */
function looksOf(validation: unknown): object {
  const { checks = [], engine = null } = (validation ?? {}) as { checks?: { check: string; outcome: string }[]; engine?: unknown }
  return { checks: checks.map(({ check, outcome }) => ({ check, outcome })), engine }
}

function eventOf(
  type: EventType,
  { subject, contextKey, data, checks }: { subject: string | null; contextKey: string | null; data: string; checks?: object },
): EventRow {
  const eventId = newId('evt')
  return { event_id: eventId, type, subject: subject ?? eventId, context_key: contextKey, data, ...(checks && { checks }) }
}
