import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals'
import pg from 'pg'
import { migrate } from '../../src/db/migrate.js'
import { counterDrift } from '../../src/maintenance/counter-drift.js'
import { emptyDatabase, type TestDatabase } from '../support/database.js'

const ours = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))
/** The migrations up to the one that made two lanes of the ledger. */
const before = mkdtempSync(join(tmpdir(), 'assay-ledger-migration-'))
cpSync(ours, before, { recursive: true })
for (const name of readdirSync(before))
  if (name >= '20261122140000' && /^\d{14}_/.test(name)) rmSync(join(before, name), { recursive: true })
afterAll(() => rmSync(before, { recursive: true, force: true }))

let database: TestDatabase
let client: pg.Client
beforeEach(async () => {
  database = await emptyDatabase()
  await migrate(database.url, before)
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  for (const statement of yesterday) await client.query(statement)
})
afterEach(async () => {
  await client.end()
  await database.drop()
})

// Two tenants, three contexts, two keys, files with reports, a log of two months, its counters, an audit trail, a journal.
const yesterday = [
  `INSERT INTO tenants (tenant_id, name, status, created_at, updated_at) VALUES ('ten_a', 'A', 'active', now(), now()), ('ten_b', 'B', 'suspended', now(), now())`,
  `INSERT INTO users (user_id, tenant_id, email, name, scopes, created_at, updated_at) VALUES ('usr_a', 'ten_a', 'a@example.com', 'Ada', '{admin,upload}', now(), now())`,
  `INSERT INTO api_keys (api_key_id, tenant_id, name, key_prefix, secret_hash, scopes, status, created_by, created_at, updated_at)
   VALUES ('key_a', 'ten_a', 'A', 'x', 'a', '{upload,delete}', 'active', 'system', now(), now()), ('key_b', 'ten_b', 'B', 'x', 'b', '{}', 'revoked', 'system', now(), now())`,
  `INSERT INTO file_contexts (context_id, tenant_id, context_key, display_name, allowed_extensions, max_file_size_mb, created_at, updated_at)
   SELECT 'ctx_' || n, CASE n WHEN 3 THEN 'ten_b' ELSE 'ten_a' END, 'c' || n, 'C', '{txt}', 1, now(), now() FROM generate_series(1, 3) n`,
  `INSERT INTO files (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, validation, uploaded_by, download_count, created_at, updated_at)
   SELECT 'file_' || n, CASE n % 3 WHEN 0 THEN 'ten_b' ELSE 'ten_a' END, 'ctx_' || coalesce(nullif(n % 3, 0), 3), 'f', 'text/plain', n, repeat('0', 64),
     CASE n % 3 WHEN 0 THEN 'ten_b/' ELSE 'ten_a/' END || n, jsonb_build_object('outcome', 'accepted', 'n', n), 'key_' || CASE n % 3 WHEN 0 THEN 'b' ELSE 'a' END, n, now(), now() FROM generate_series(1, 30) n`,
  `CREATE TABLE call_logs_2026_10 PARTITION OF call_logs FOR VALUES FROM ('call_a') TO ('call_b')`,
  `CREATE TABLE call_logs_2026_11 PARTITION OF call_logs FOR VALUES FROM ('call_b') TO ('call_c')`,
  `INSERT INTO call_logs (call_id, tenant_id, api_key_id, api_key_name, operation, status, error_code, validation, ip_address, user_agent, created_at)
   SELECT 'call_' || CASE WHEN n > 20 THEN 'b' ELSE 'a' END || n, CASE n % 3 WHEN 0 THEN 'ten_b' ELSE 'ten_a' END, 'key_' || CASE n % 3 WHEN 0 THEN 'b' ELSE 'a' END, 'K',
     (ARRAY['upload', 'download', 'metadata', 'delete'])[1 + n % 4]::operation, (ARRAY['success', 'failure'])[1 + n % 2]::call_status, CASE n % 2 WHEN 1 THEN 'not_found' END,
     CASE n % 4 WHEN 1 THEN jsonb_build_object('n', n) END, '::1', 'old', now() - make_interval(hours => n) FROM generate_series(1, 40) n`,
  `INSERT INTO audit_logs (audit_id, tenant_id, audit_type, action, entity_type, entity_id, entity_name, performed_by_id, performed_by_name, performed_by_type, performed_by_scopes, ip_address, user_agent, created_at)
   SELECT 'aud_' || n, CASE n % 3 WHEN 0 THEN 'ten_b' ELSE 'ten_a' END, (ARRAY['file', 'context'])[1 + n % 2]::audit_type, 'created', 'file', 'file_' || n, 'f', 'key_a', 'A', 'api_key', '{upload}', '', '', now() - make_interval(days => n)
   FROM generate_series(1, 30) n`,
  `INSERT INTO file_totals SELECT tenant_id, coalesce(context_id, ''), coalesce(uploaded_by, ''), count(*), sum(size_bytes) FROM files GROUP BY tenant_id, CUBE (context_id, uploaded_by)`,
  `INSERT INTO usage_counters (tenant_id, subject, grain, bucket, ${['upload', 'download', 'metadata', 'delete'].flatMap((o) => [`${o}_success`, `${o}_failure`]).join(', ')})
   SELECT tenant_id, subject, grain, bucket, ${['upload', 'download', 'metadata', 'delete']
     .flatMap((o) => ['success', 'failure'].map((s) => `count(*) FILTER (WHERE operation = '${o}' AND status = '${s}')`))
     .join(', ')}
   FROM call_logs CROSS JOIN LATERAL (VALUES (''), (api_key_id)) s(subject)
   CROSS JOIN LATERAL (VALUES ('hour'::usage_grain, date_trunc('hour', created_at, 'UTC')), ('day', date_trunc('day', created_at, 'UTC')), ('total', to_timestamp(0))) g(grain, bucket) GROUP BY 1, 2, 3, 4`,
  `INSERT INTO usage_counters (tenant_id, subject, grain, bucket, files_uploaded, bytes_uploaded)
   SELECT tenant_id, '', grain, bucket, count(*), sum(size_bytes) FROM files
   CROSS JOIN LATERAL (VALUES ('hour'::usage_grain, date_trunc('hour', created_at, 'UTC')), ('day', date_trunc('day', created_at, 'UTC')), ('total', to_timestamp(0))) g(grain, bucket) GROUP BY 1, 2, 3, 4
   ON CONFLICT (tenant_id, subject, grain, bucket) DO UPDATE SET files_uploaded = excluded.files_uploaded, bytes_uploaded = excluded.bytes_uploaded`,
  `INSERT INTO audit_counters SELECT tenant_id, ty, ac, grain, bucket, count(*) FROM audit_logs
   CROSS JOIN LATERAL (VALUES ('', ''), (audit_type::text, ''), ('', action::text), (audit_type::text, action::text)) v(ty, ac)
   CROSS JOIN LATERAL (VALUES ('day'::usage_grain, date_trunc('day', created_at, 'UTC')), ('total', to_timestamp(0))) g(grain, bucket) GROUP BY 1, 2, 3, 4, 5`,
  `INSERT INTO blob_garbage (blob_path, due_at) VALUES ('ten_a/gone', now()), ('ten_b/under way', now() + interval '1 hour')`,
  `INSERT INTO idempotency_keys (tenant_id, actor_id, key, operation, response, created_at) VALUES ('ten_a', 'key_a', 'once', 'uploadFile', '{"fileId": "file_1"}', now())`,
  `INSERT INTO storage_findings (blob_path, kind, found_at) VALUES ('stray', 'blob_without_file', now())`,
]

/** Every row of what is there before and after, as it is told, whatever its columns' types. */
async function everything(): Promise<unknown> {
  const { rows } = await client.query(`SELECT
    (SELECT jsonb_agg(to_jsonb(t) ORDER BY tenant_id) FROM tenants t) AS tenants,
    (SELECT jsonb_agg(to_jsonb(u)) FROM users u) AS users,
    (SELECT jsonb_agg(to_jsonb(k) ORDER BY api_key_id) FROM api_keys k) AS keys,
    (SELECT jsonb_agg(to_jsonb(f) - 'validation' - 'traits' - 'quarantined_at' ORDER BY file_id) FROM files f) AS files,
    (SELECT jsonb_agg(to_jsonb(c) ORDER BY call_id) FROM call_logs c) AS calls,
    (SELECT jsonb_agg(tableoid::regclass::text ORDER BY call_id) FROM call_logs) AS partitions,
    (SELECT jsonb_agg(to_jsonb(a) ORDER BY audit_id) FROM audit_logs a) AS audits,
    (SELECT jsonb_agg(to_jsonb(u) ORDER BY tenant_id, subject, grain::text, bucket) FROM usage_counters u) AS usage,
    (SELECT jsonb_agg(to_jsonb(a) ORDER BY tenant_id, audit_type, action, grain::text, bucket) FROM audit_counters a WHERE audit_type <> '' AND action <> '' AND grain::text <> 'hour') AS audited,
    (SELECT jsonb_agg(to_jsonb(g) - 'tenant_id' - 'taken' ORDER BY blob_path) FROM blob_garbage g) AS garbage,
    (SELECT jsonb_agg(to_jsonb(i) - 'token') FROM idempotency_keys i) AS answers,
    (SELECT jsonb_agg(to_jsonb(r) ORDER BY tenant_id, context_id, uploaded_by) FROM file_ranges r) AS ranges,
    (SELECT count(*) FROM storage_findings) AS findings`)
  return rows[0]
}

async function expectCarriedOver(then: unknown, reports: unknown[]) {
  expect(await everything()).toEqual(then)
  expect((await client.query('SELECT tenant_id, file_id, report FROM validation_reports ORDER BY file_id')).rows).toEqual(reports)
  expect((await client.query('SELECT tenant_id, files, bytes FROM tenant_heads ORDER BY tenant_id')).rows).toEqual(
    (await client.query('SELECT tenant_id, count(*) AS files, sum(size_bytes)::bigint AS bytes FROM files GROUP BY 1 ORDER BY 1'))
      .rows,
  )
  expect((await client.query('SELECT tenant_id FROM blob_garbage ORDER BY blob_path')).rows).toEqual([
    { tenant_id: 'ten_a' },
    { tenant_id: 'ten_b' },
  ])
  const entriesOf = `SELECT tenant_id, audit_type, action, sum(entries)::int AS entries FROM audit_counters WHERE grain = $1 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`
  expect((await client.query(entriesOf, ['hour'])).rows).toEqual((await client.query(entriesOf, ['day'])).rows)
  expect(await counterDrift(client, { tenantId: null, callsSince: null })).toBe(0)
}

const reportsOf = async () =>
  (await client.query('SELECT tenant_id, file_id, validation AS report FROM files ORDER BY file_id')).rows

test('a database with files and logs comes up on the new tables with every row and every number equal', async () => {
  const [then, reports] = [await everything(), await reportsOf()]
  await migrate(database.url)
  await expectCarriedOver(then, reports)
})

test('cut off half-way, it goes on from there', async () => {
  const [then, reports] = [await everything(), await reportsOf()]
  const reader = new pg.Client({ connectionString: database.url })
  await reader.connect()
  // The first month is carried over; the second waits for its reader, and is cut off there.
  await reader.query('BEGIN; SELECT 1 FROM call_logs_2026_11 LIMIT 1')
  const cut = expect(migrate(database.url)).rejects.toThrow()
  for (let waiting = 0; waiting === 0; )
    waiting = (
      await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()`,
      )
    ).rowCount!
  await cut
  await reader.end()
  expect((await client.query(`SELECT to_regclass('call_logs_before') IS NOT NULL AS halfway`)).rows).toEqual([{ halfway: true }])
  await migrate(database.url)
  await expectCarriedOver(then, reports)
})
