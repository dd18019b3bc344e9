import type { Admitted, Outcome } from './admission.js'
import { Counters, usageColumns } from './counters.js'
import { databaseJson } from './database-json.js'
import type { Entry } from './entry.js'
import { rowsOf } from './rows.js'

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

/** An entry that could not even be put into words for the database. */
export class Unwritable extends Error {
  override readonly name = 'Unwritable'
}

/** Writes an entry that needs no admission inside somebody else's transaction. */
export const writeEntry = (executor: Executor, entry: Entry): Promise<void> =>
  write(executor, [entry], [{ done: true }], { removed: new Map(), contextOf: new Map() })

/** Writes the rows of a group that was admitted, and adds them up in the counters. */
export async function write(client: Executor, entries: Entry[], outcomes: Outcome[], admitted: Admitted): Promise<void> {
  await client.query({ name: 'ledger-write', text: writeStatement, values: valuesOf(entries, outcomes, admitted) })
}

function valuesOf(entries: Entry[], outcomes: Outcome[], admitted: Admitted): unknown[] {
  try {
    const counters = new Counters()
    const rows = entries.map((entry, index) => rowsOf(entry, outcomes[index]!, admitted, counters))
    const all = <K extends keyof (typeof rows)[number]>(kind: K) => databaseJson(rows.flatMap((row) => row[kind] as unknown[]))
    return [
      all('calls'),
      all('files'),
      all('audit'),
      JSON.stringify(counters.fileTotalRows()),
      JSON.stringify(counters.usageRows()),
      JSON.stringify(counters.auditRows()),
      all('journal'),
      rows.flatMap((row) => row.unjournal),
      all('answers'),
    ]
  } catch (error) {
    throw new Unwritable('An entry cannot be written.', { cause: error })
  }
}
