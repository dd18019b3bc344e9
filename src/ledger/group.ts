import type { PoolClient } from 'pg'
import { type AssayError, conflict, forbidden, notFound, quotaExceeded, storageUnavailable, unauthenticated } from '../errors.js'
import { idTime, newId } from '../ids.js'
import { Counters, usageColumns } from './counters.js'
import { databaseJson } from './database-json.js'
import { type AuditRow, type Entry, failed } from './entry.js'

/** What became of one entry: done, or refused for a reason that the caller is told. Either way its call is in the log. */
export type Outcome = { done: true } | { done: false; error: AssayError }

const megabyte = 1_048_576

/** Commits a group in one transaction, with a number of statements that does not depend on its size. */
export async function commitGroup(client: PoolClient, entries: Entry[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = entries.map(() => ({ done: true }))
  const changesFiles = entries.some((entry) => entry.upload || entry.deletion || entry.download)
  if (!changesFiles) {
    // One statement is one transaction: the group of a service that is only read costs one round trip.
    await write(client, entries, outcomes, new Map())
    return outcomes
  }
  await client.query('BEGIN')
  try {
    if (entries.some((entry) => entry.upload || entry.deletion)) {
      const usage = await lockUsage(client, entries)
      const removed = await deleteFiles(client, entries, outcomes, usage)
      await admitUploads(client, entries, outcomes, usage)
      await countDownloads(client, entries, outcomes)
      await write(client, entries, outcomes, removed)
    } else {
      await countDownloads(client, entries, outcomes)
      await write(client, entries, outcomes, new Map())
    }
    await client.query('COMMIT')
    return outcomes
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

type Usage = Map<string, { bytes: number }>
const place = (tenantId: string, contextId: string) => `${tenantId}|${contextId}`

// From here until COMMIT nobody else changes what these tenants and contexts hold: that is what makes a quota hard.
async function lockUsage(client: PoolClient, entries: Entry[]): Promise<Usage> {
  const places = new Map<string, { tenant_id: string; context_id: string }>()
  for (const { upload, deletion } of entries) {
    const tenantId = upload?.file.tenantId ?? deletion?.actor.tenantId
    const contextId = upload?.file.contextId ?? deletion?.contextId
    if (!tenantId || !contextId) continue
    for (const context of ['', contextId]) places.set(place(tenantId, context), { tenant_id: tenantId, context_id: context })
  }
  const { rows } = await client.query<{ tenant_id: string; context_id: string; bytes: number }>({
    name: 'ledger-lock-usage',
    text: `SELECT t.tenant_id, t.context_id, t.bytes FROM file_totals t
      JOIN jsonb_to_recordset($1::jsonb) AS p(tenant_id text, context_id text)
        ON t.tenant_id = p.tenant_id AND t.context_id = p.context_id AND t.uploaded_by = ''
      ORDER BY t.tenant_id, t.context_id FOR UPDATE OF t`,
    values: [JSON.stringify([...places.values()])],
  })
  return new Map(rows.map((row) => [place(row.tenant_id, row.context_id), { bytes: Number(row.bytes) }]))
}

interface Removed {
  file_id: string
  tenant_id: string
  context_id: string
  uploaded_by: string
  size_bytes: number
  blob_path: string
  original_filename: string
}

async function deleteFiles(
  client: PoolClient,
  entries: Entry[],
  outcomes: Outcome[],
  usage: Usage,
): Promise<Map<Entry, Removed>> {
  const deletions = entries.filter((entry) => entry.deletion)
  const removed = new Map<Entry, Removed>()
  if (deletions.length === 0) return removed
  const { rows } = await client.query<Removed>({
    name: 'ledger-delete-files',
    text: `DELETE FROM files f USING jsonb_to_recordset($1::jsonb) AS d(tenant_id text, file_id text)
      WHERE f.tenant_id = d.tenant_id AND f.file_id = d.file_id
      RETURNING f.file_id, f.tenant_id, f.context_id, f.uploaded_by, f.size_bytes, f.blob_path, f.original_filename`,
    values: [
      JSON.stringify(deletions.map(({ deletion }) => ({ tenant_id: deletion!.actor.tenantId, file_id: deletion!.fileId }))),
    ],
  })
  const byId = new Map(rows.map((row) => [row.file_id, row]))
  entries.forEach((entry, index) => {
    if (!entry.deletion) return
    const row = byId.get(entry.deletion.fileId)
    // The first of two deletions in one group has it; the second finds nothing, as it would a moment later.
    byId.delete(entry.deletion.fileId)
    if (!row) {
      outcomes[index] = { done: false, error: notFound('file', entry.deletion.fileId) }
      return
    }
    removed.set(entry, { ...row, size_bytes: Number(row.size_bytes) })
    for (const context of ['', row.context_id]) {
      const held = usage.get(place(row.tenant_id, context))
      if (held) held.bytes -= Number(row.size_bytes)
    }
  })
  return removed
}

interface Rules {
  contexts: Record<string, { status: string; quota_mb: number }>
  tenants: Record<string, { status: string; quota_mb: number }>
  keys: Record<string, string>
}

// One after another: what the first takes is no longer there for the second, and a file that does not fit leaves its room to the next.
async function admitUploads(client: PoolClient, entries: Entry[], outcomes: Outcome[], usage: Usage): Promise<void> {
  const uploads = entries.flatMap(({ upload }) => (upload ? [upload] : []))
  if (uploads.length === 0) return
  const { rows } = await client.query<Rules>({
    name: 'ledger-rules',
    text: `SELECT
      (SELECT coalesce(jsonb_object_agg(context_id, jsonb_build_object('status', status, 'quota_mb', storage_quota_mb)), '{}') FROM file_contexts WHERE context_id = ANY($1)) AS contexts,
      (SELECT coalesce(jsonb_object_agg(tenant_id, jsonb_build_object('status', status, 'quota_mb', storage_quota_mb)), '{}') FROM tenants WHERE tenant_id = ANY($2)) AS tenants,
      (SELECT coalesce(jsonb_object_agg(api_key_id, status), '{}') FROM api_keys WHERE api_key_id = ANY($3)) AS keys`,
    values: [
      [...new Set(uploads.map(({ file }) => file.contextId))],
      [...new Set(uploads.map(({ file }) => file.tenantId))],
      [...new Set(uploads.flatMap(({ actor }) => (actor.kind === 'api_key' ? [actor.id] : [])))],
    ],
  })
  const rules = rows[0]!
  // Out of the garbage journal, in the transaction that makes the row. A path that is no longer there was swept: the upload took too long.
  const claimed = await client.query<{ blob_path: string }>({
    name: 'ledger-claim-blobs',
    text: 'DELETE FROM blob_garbage WHERE blob_path = ANY($1) RETURNING blob_path',
    values: [uploads.map(({ file }) => file.blobPath)],
  })
  const present = new Set(claimed.rows.map((row) => row.blob_path))
  entries.forEach((entry, index) => {
    if (!entry.upload) return
    const error = present.has(entry.upload.file.blobPath)
      ? refusal(entry.upload, rules, usage)
      : storageUnavailable('The upload took too long and was given up; nothing was stored.')
    if (error) outcomes[index] = { done: false, error }
    else
      for (const context of ['', entry.upload.file.contextId])
        usage.get(place(entry.upload.file.tenantId, context))!.bytes += entry.upload.file.sizeBytes
  })
}

function refusal({ actor, file }: NonNullable<Entry['upload']>, rules: Rules, usage: Usage): AssayError | undefined {
  const context = rules.contexts[file.contextId]
  const tenant = rules.tenants[file.tenantId]
  const heldByContext = usage.get(place(file.tenantId, file.contextId))
  const heldByTenant = usage.get(place(file.tenantId, ''))
  if (!context || !tenant || !heldByContext || !heldByTenant) return notFound('context', file.contextKey)
  // A key that was disabled while its upload was under way: what it sent is not kept.
  if (actor.kind === 'api_key' && rules.keys[actor.id] !== 'active') return unauthenticated('This API key is no longer active.')
  if (tenant.status !== 'active') return forbidden('This tenant is suspended.')
  if (context.status !== 'active')
    return conflict(`Context '${file.contextKey}' is disabled.`, { context_key: file.contextKey, status: context.status })
  return (
    overQuota(`Context '${file.contextKey}'`, context.quota_mb, heldByContext.bytes, file.sizeBytes) ??
    overQuota('The tenant', tenant.quota_mb, heldByTenant.bytes, file.sizeBytes)
  )
}

function overQuota(owner: string, quotaMb: number, usedBytes: number, sizeBytes: number): AssayError | undefined {
  const remaining = Math.max(0, quotaMb * megabyte - usedBytes)
  if (sizeBytes <= remaining) return undefined
  return quotaExceeded(`${owner} has ${remaining} bytes left of its quota of ${quotaMb} MB; the file has ${sizeBytes}.`, {
    quota_mb: quotaMb,
    used_bytes: usedBytes,
    remaining_bytes: remaining,
    size_bytes: sizeBytes,
  })
}

async function countDownloads(client: PoolClient, entries: Entry[], outcomes: Outcome[]): Promise<void> {
  const counts = new Map<string, { tenant_id: string; file_id: string; times: number }>()
  for (const { download } of entries) {
    if (!download) continue
    const known = counts.get(download.fileId)
    if (known) known.times++
    else counts.set(download.fileId, { tenant_id: download.tenantId, file_id: download.fileId, times: 1 })
  }
  if (counts.size === 0) return
  // The inner SELECT locks in the order of the ids, whatever the plan: two replicas never wait for each other in a circle.
  const { rows } = await client.query<{ file_id: string }>({
    name: 'ledger-count-downloads',
    text: `UPDATE files f SET download_count = download_count + d.times, last_downloaded_at = now()
      FROM (SELECT f.file_id, d.times FROM files f JOIN jsonb_to_recordset($1::jsonb) AS d(tenant_id text, file_id text, times bigint)
              ON f.tenant_id = d.tenant_id AND f.file_id = d.file_id ORDER BY f.file_id FOR UPDATE OF f) d
      WHERE f.file_id = d.file_id RETURNING f.file_id`,
    values: [JSON.stringify([...counts.values()])],
  })
  const counted = new Set(rows.map((row) => row.file_id))
  entries.forEach((entry, index) => {
    if (entry.download && !counted.has(entry.download.fileId))
      outcomes[index] = { done: false, error: notFound('file', entry.download.fileId) }
  })
}

const usageInsert = usageColumns.join(', ')
const usageTypes = usageColumns.map((column) => `${column} bigint`).join(', ')
const usageValues = usageColumns.map((column) => `coalesce(${column}, 0)`).join(', ')
const usageSums = usageColumns.map((column) => `${column} = u.${column} + excluded.${column}`).join(', ')

// Every table of the ledger in one statement. Empty arrays cost next to nothing, so there is one plan, prepared once.
const writeStatement = `
WITH
calls AS (
  INSERT INTO call_logs (call_id, tenant_id, api_key_id, api_key_name, operation, status, file_id, context_key, error_code, error_message, validation, ip_address, user_agent, created_at)
  SELECT call_id, tenant_id, api_key_id, api_key_name, operation, status, file_id, context_key, error_code, error_message, nullif(validation, 'null'), ip_address, user_agent, created_at
  FROM jsonb_to_recordset($1::jsonb) AS c(call_id text, tenant_id text, api_key_id text, api_key_name text, operation operation, status call_status, file_id text,
    context_key text, error_code text, error_message text, validation jsonb, ip_address text, user_agent text, created_at timestamptz)),
kept AS (
  INSERT INTO files (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, metadata, validation, uploaded_by, uploaded_by_name, created_at, updated_at)
  SELECT file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, metadata, validation, uploaded_by, uploaded_by_name, created_at, created_at
  FROM jsonb_to_recordset($2::jsonb) AS f(file_id text, tenant_id text, context_id text, original_filename text, content_type text, size_bytes bigint, checksum text,
    blob_path text, metadata jsonb, validation jsonb, uploaded_by text, uploaded_by_name text, created_at timestamptz)),
audited AS (
  INSERT INTO audit_logs (audit_id, tenant_id, audit_type, action, entity_type, entity_id, entity_name, performed_by_id, performed_by_name, performed_by_email,
    performed_by_type, performed_by_scopes, details, ip_address, user_agent, created_at)
  SELECT audit_id, tenant_id, audit_type, action, entity_type, entity_id, entity_name, performed_by_id, performed_by_name, performed_by_email,
    performed_by_type, performed_by_scopes, details, ip_address, user_agent, created_at
  FROM jsonb_to_recordset($3::jsonb) AS a(audit_id text, tenant_id text, audit_type audit_type, action audit_action, entity_type text, entity_id text, entity_name text,
    performed_by_id text, performed_by_name text, performed_by_email text, performed_by_type performer_type, performed_by_scopes scope[], details jsonb, ip_address text, user_agent text, created_at timestamptz)),
held AS (
  INSERT INTO file_totals AS t (tenant_id, context_id, uploaded_by, files, bytes)
  SELECT tenant_id, context_id, uploaded_by, files, bytes FROM jsonb_to_recordset($4::jsonb) AS h(tenant_id text, context_id text, uploaded_by text, files bigint, bytes bigint)
  ON CONFLICT (tenant_id, context_id, uploaded_by) DO UPDATE SET files = t.files + excluded.files, bytes = t.bytes + excluded.bytes),
counted AS (
  INSERT INTO usage_counters AS u (tenant_id, subject, grain, bucket, ${usageInsert})
  SELECT tenant_id, subject, grain, bucket, ${usageValues} FROM jsonb_to_recordset($5::jsonb) AS n(tenant_id text, subject text, grain usage_grain, bucket timestamptz, ${usageTypes})
  ON CONFLICT (tenant_id, subject, grain, bucket) DO UPDATE SET ${usageSums}),
audit_counted AS (
  INSERT INTO audit_counters AS c (tenant_id, audit_type, action, grain, bucket, entries)
  SELECT tenant_id, audit_type, action, grain, bucket, entries
  FROM jsonb_to_recordset($6::jsonb) AS n(tenant_id text, audit_type text, action text, grain usage_grain, bucket timestamptz, entries bigint)
  ON CONFLICT (tenant_id, audit_type, action, grain, bucket) DO UPDATE SET entries = c.entries + excluded.entries),
journaled AS (
  INSERT INTO blob_garbage (blob_path, due_at) SELECT blob_path, due_at FROM jsonb_to_recordset($7::jsonb) AS g(blob_path text, due_at timestamptz)
  ON CONFLICT (blob_path) DO UPDATE SET due_at = excluded.due_at),
unjournaled AS (DELETE FROM blob_garbage WHERE blob_path = ANY($8::text[])),
answered AS (
  UPDATE idempotency_keys i SET response = a.response, locked_until = NULL
  FROM jsonb_to_recordset($9::jsonb) AS a(tenant_id text, actor_id text, key text, response jsonb)
  WHERE i.tenant_id = a.tenant_id AND i.actor_id = a.actor_id AND i.key = a.key)
SELECT 1`

/** What runs a statement: a connection of `pg`, or a transaction of Prisma's. */
export interface Statement {
  name: string
  text: string
  values: unknown[]
}
export interface Executor {
  query(statement: Statement): Promise<unknown>
}

/** Writes an entry that needs no admission inside somebody else's transaction. */
export const writeEntry = (executor: Executor, entry: Entry): Promise<void> =>
  write(executor, [entry], [{ done: true }], new Map())

async function write(client: Executor, entries: Entry[], outcomes: Outcome[], removed: Map<Entry, Removed>): Promise<void> {
  const counters = new Counters()
  const rows = entries.map((entry, index) => rowsOf(entry, outcomes[index]!, removed.get(entry), counters))
  const all = <K extends keyof (typeof rows)[number]>(kind: K) => databaseJson(rows.flatMap((row) => row[kind] as unknown[]))
  await client.query({
    name: 'ledger-write',
    text: writeStatement,
    values: [
      all('calls'),
      all('files'),
      all('audit'),
      JSON.stringify(counters.fileTotalRows()),
      JSON.stringify(counters.usageRows()),
      JSON.stringify(counters.auditRows()),
      all('journal'),
      rows.flatMap((row) => row.unjournal),
      all('answers'),
    ],
  })
}

function rowsOf(entry: Entry, outcome: Outcome, removed: Removed | undefined, counters: Counters) {
  const { upload } = entry
  const audit: AuditRow[] = outcome.done ? [...(entry.audit ?? [])] : []
  const journal = [...(entry.journal ?? [])]
  const unjournal = [...(entry.unjournal ?? [])]
  const files: unknown[] = []
  const callId = newId('call')
  const now = idTime(callId)

  if (outcome.done && upload) {
    const { file, actor } = upload
    files.push(fileRow(upload))
    counters.uploaded(file, actor.id, now)
    audit.push({
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
  }
  // Its blob was written for nothing: garbage, from now on.
  if (!outcome.done && upload) journal.push({ blobPath: upload.file.blobPath, dueAt: now })
  if (outcome.done && entry.deletion && removed) {
    counters.deleted(
      {
        tenantId: removed.tenant_id,
        contextId: removed.context_id,
        uploadedBy: removed.uploaded_by,
        sizeBytes: removed.size_bytes,
      },
      now,
    )
    journal.push({ blobPath: removed.blob_path, dueAt: now })
    audit.push({
      actor: entry.deletion.actor,
      tenantId: removed.tenant_id,
      auditType: 'file',
      action: 'deleted',
      entityType: 'file',
      entityId: removed.file_id,
      entityName: removed.original_filename,
      details: { size_bytes: removed.size_bytes },
    })
  }
  if (entry.blocked) counters.blocked(entry.blocked, now)
  const call = entry.call && (outcome.done ? entry.call : failed(entry.call, outcome.error))
  if (call) counters.call(call, now)
  if (outcome.done && entry.download)
    counters.downloaded(
      {
        tenantId: entry.download.tenantId,
        contextId: entry.call?.contextId ?? '',
        apiKeyId: entry.call?.apiKeyId ?? null,
        sizeBytes: entry.download.sizeBytes,
      },
      now,
    )
  for (const row of audit) counters.audited(row, now)

  return {
    calls: call ? [callRow(callId, now, call)] : [],
    files,
    audit: audit.map(auditRow),
    journal: journal.map(({ blobPath, dueAt }) => ({ blob_path: blobPath, due_at: dueAt.toISOString() })),
    unjournal,
    answers:
      outcome.done && entry.answer
        ? [
            {
              tenant_id: entry.answer.tenantId,
              actor_id: entry.answer.actorId,
              key: entry.answer.key,
              response: entry.answer.response,
            },
          ]
        : [],
  }
}

const callRow = (callId: string, at: Date, call: NonNullable<Entry['call']>) => ({
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

function auditRow(row: AuditRow) {
  const auditId = newId('aud')
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
    created_at: idTime(auditId).toISOString(),
  }
}
