import type { PoolClient } from 'pg'
import { type AssayError, conflict, forbidden, notFound, quotaExceeded, storageUnavailable, unauthenticated } from '../errors.js'
import { megabyte } from '../units.js'
import type { Entry } from './entry.js'

/** What became of one entry: done, or refused for a reason that the caller is told. Either way its call is in the log. */
export type Outcome = { done: true } | { done: false; error: AssayError }

/** What the write must know of what admission changed. */
export interface Admitted {
  removed: Map<Entry, RemovedFile>
  /** The contexts of downloaded files, by file. */
  contextOf: Map<string, string>
}

/**
 * Judges the entries of a group that change files, one after another, inside its transaction, and does what cannot wait for the
 * write. Locks are taken in one order by every replica (usage, then files, each sorted), so that none waits for another in a circle.
 */
export async function admit(client: PoolClient, entries: Entry[], outcomes: Outcome[]): Promise<Admitted> {
  const movesFiles = entries.some((entry) => entry.upload || entry.deletion)
  const usage: Usage = movesFiles ? await lockUsage(client, entries) : new Map()
  await lockFiles(client, entries)
  const removed = await deleteFiles(client, entries, outcomes, usage)
  await admitUploads(client, entries, outcomes, usage)
  const contextOf = await countDownloads(client, entries, outcomes)
  return { removed, contextOf }
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

/** A file that a deletion took. */
export interface RemovedFile {
  file_id: string
  tenant_id: string
  context_id: string
  uploaded_by: string
  size_bytes: number
  blob_path: string
  original_filename: string
}

/** Locks the rows that the group deletes or counts downloads of, in the order of their ids, whatever the plans below do. */
async function lockFiles(client: PoolClient, entries: Entry[]): Promise<void> {
  const deletions = entries.flatMap(({ deletion }) => (deletion ? [deletion.fileId] : []))
  // One statement that locks in order suffices where nothing is deleted (countDownloads).
  if (deletions.length === 0) return
  const downloads = entries.flatMap(({ download }) => (download ? [download.fileId] : []))
  await client.query({
    name: 'ledger-lock-files',
    text: 'SELECT 1 FROM files WHERE file_id = ANY($1) ORDER BY file_id FOR UPDATE',
    values: [[...deletions, ...downloads]],
  })
}

async function deleteFiles(
  client: PoolClient,
  entries: Entry[],
  outcomes: Outcome[],
  usage: Usage,
): Promise<Map<Entry, RemovedFile>> {
  const deletions = entries.filter((entry) => entry.deletion)
  const removed = new Map<Entry, RemovedFile>()
  if (deletions.length === 0) return removed
  const { rows } = await client.query<RemovedFile>({
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
  /** Status of keys and users. */
  uploaders: Record<string, string>
  claimed: string[]
}

// One after another: what the first takes is no longer there for the second, and a file that does not fit leaves its room to the next.
async function admitUploads(client: PoolClient, entries: Entry[], outcomes: Outcome[], usage: Usage): Promise<void> {
  const uploads = entries.flatMap(({ upload }) => (upload ? [upload] : []))
  if (uploads.length === 0) return
  // Out of the garbage journal, in the transaction that makes the row. A path that is no longer there was swept: the upload took too long.
  const { rows } = await client.query<Rules>({
    name: 'ledger-rules',
    text: `WITH claimed AS (DELETE FROM blob_garbage WHERE blob_path = ANY($4) RETURNING blob_path)
      SELECT
      (SELECT coalesce(jsonb_object_agg(context_id, jsonb_build_object('status', status, 'quota_mb', storage_quota_mb)), '{}') FROM file_contexts WHERE context_id = ANY($1)) AS contexts,
      (SELECT coalesce(jsonb_object_agg(tenant_id, jsonb_build_object('status', status, 'quota_mb', storage_quota_mb)), '{}') FROM tenants WHERE tenant_id = ANY($2)) AS tenants,
      (SELECT coalesce(jsonb_object_agg(id, status), '{}') FROM (SELECT api_key_id AS id, status::text FROM api_keys WHERE api_key_id = ANY($3)
         UNION ALL SELECT user_id, status::text FROM users WHERE user_id = ANY($3)) u) AS uploaders,
      (SELECT coalesce(array_agg(blob_path), '{}') FROM claimed) AS claimed`,
    values: [
      [...new Set(uploads.map(({ file }) => file.contextId))],
      [...new Set(uploads.map(({ file }) => file.tenantId))],
      [...new Set(uploads.map(({ actor }) => actor.id))],
      uploads.map(({ file }) => file.blobPath),
    ],
  })
  const rules = rows[0]!
  const present = new Set(rules.claimed)
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
  // A key or a user that was disabled while its upload was under way: what it sent is not kept.
  if (actor.kind !== 'system' && rules.uploaders[actor.id] !== 'active')
    return unauthenticated(`This ${actor.kind === 'user' ? 'user' : 'API key'} is no longer active.`)
  if (tenant.status !== 'active') return forbidden('This tenant is suspended.')
  if (context.status !== 'active')
    return conflict(`Context '${file.contextKey}' is disabled.`, { context_key: file.contextKey, status: context.status })
  return (
    overQuota(`Context '${file.contextKey}'`, context.quota_mb, heldByContext.bytes, file.sizeBytes) ??
    overQuota('The tenant', tenant.quota_mb, heldByTenant.bytes, file.sizeBytes, actor.contexts !== null)
  )
}

function overQuota(
  owner: string,
  quotaMb: number,
  usedBytes: number,
  sizeBytes: number,
  isHidden = false,
): AssayError | undefined {
  const remaining = Math.max(0, quotaMb * megabyte - usedBytes)
  if (sizeBytes <= remaining) return undefined
  // A key that is restricted to some contexts learns nothing of what the whole tenant holds.
  if (isHidden)
    return quotaExceeded(`${owner} has less left of its quota than the file's ${sizeBytes} bytes.`, { size_bytes: sizeBytes })
  return quotaExceeded(`${owner} has ${remaining} bytes left of its quota of ${quotaMb} MB; the file has ${sizeBytes}.`, {
    quota_mb: quotaMb,
    used_bytes: usedBytes,
    remaining_bytes: remaining,
    size_bytes: sizeBytes,
  })
}

/** Gives the contexts of the files, which the counters are kept by. */
async function countDownloads(client: PoolClient, entries: Entry[], outcomes: Outcome[]): Promise<Map<string, string>> {
  const counts = new Map<string, { tenant_id: string; file_id: string; times: number }>()
  for (const { download } of entries) {
    if (!download) continue
    const known = counts.get(download.fileId)
    if (known) known.times++
    else counts.set(download.fileId, { tenant_id: download.tenantId, file_id: download.fileId, times: 1 })
  }
  if (counts.size === 0) return new Map()
  // The inner SELECT locks in the order of the ids, whatever the plan: two replicas never wait for each other in a circle.
  const { rows } = await client.query<{ file_id: string; context_id: string }>({
    name: 'ledger-count-downloads',
    text: `UPDATE files f SET download_count = download_count + d.times, last_downloaded_at = now()
      FROM (SELECT f.file_id, d.times FROM files f JOIN jsonb_to_recordset($1::jsonb) AS d(tenant_id text, file_id text, times bigint)
              ON f.tenant_id = d.tenant_id AND f.file_id = d.file_id ORDER BY f.file_id FOR UPDATE OF f) d
      WHERE f.file_id = d.file_id RETURNING f.file_id, f.context_id`,
    values: [JSON.stringify([...counts.values()])],
  })
  const counted = new Map(rows.map((row) => [row.file_id, row.context_id]))
  entries.forEach((entry, index) => {
    if (entry.download && !counted.has(entry.download.fileId))
      outcomes[index] = { done: false, error: notFound('file', entry.download.fileId) }
  })
  return counted
}
