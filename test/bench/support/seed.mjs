// Uses set-based SQL to fill a database with a year of calls, files and counters.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const operations = ['upload', 'download', 'metadata', 'delete']
const statuses = ['success', 'failure']

/** Returns an SQL expression for the time part of a ULID from milliseconds. */
const toUlidTimeSql = (ms) =>
  Array.from({ length: 10 }, (_, place) => `substr('${alphabet}', ((${ms} >> ${5 * (9 - place)}) & 31)::int + 1, 1)`).join(' || ')

const callCounts = operations.flatMap((operation) =>
  statuses.map((status) => ({ column: `${operation}_${status}`, operation, status })),
)

/**
 * Inserts `rows` calls and `files` files of one tenant, spread over the last year, and as many for each neighbour. Returns ids
 * to filter by: contexts, and keys of every frequency (`rare` has few calls, `idle` none). @param {import('pg').Client} client
 */
export async function seedYear(client, { tenantId, rows, files, neighbours = 0, say = () => {} }) {
  const ids = await seedTenant(client, { tenantId, rows, files, say, letter: '0' })
  for (let index = 0; index < neighbours; index++) {
    const otherTenant = `ten_01${String(index).padStart(24, '0')}`
    await client.query(
      `WITH made AS (INSERT INTO tenants (tenant_id, name, created_at, updated_at) VALUES ($1, $1, now(), now())) INSERT INTO tenant_heads (tenant_id) VALUES ($1)`,
      [otherTenant],
    )
    await seedTenant(client, {
      tenantId: otherTenant,
      rows,
      files,
      say: (what) => say(`neighbour ${index + 1}: ${what}`),
      letter: alphabet[index + 1],
    })
  }
  return ids
}

/** `letter` makes the key and context ids unique to each tenant. */
async function seedTenant(client, { tenantId, rows, files, say, letter }) {
  const replaceIds = (statement) =>
    statement.replaceAll("'key_01'", `'key_0${letter}'`).replaceAll("'ctx_01'", `'ctx_0${letter}'`)
  await client.query(`SET synchronous_commit = off; SET work_mem = '256MB'; SET maintenance_work_mem = '256MB'`)
  const keys = (
    await client.query(
      replaceIds(`INSERT INTO api_keys (api_key_id, tenant_id, name, key_prefix, secret_hash, scopes, created_by, created_at, updated_at)
       SELECT 'key_01' || lpad(n::text, 24, '0'), $1, 'Seeded ' || n, 'assay_x', sha256(($1 || n)::bytea), '{metadata}', 'system', now() - interval '1 year', now() FROM generate_series(1, 20) n RETURNING api_key_id`),
      [tenantId],
    )
  ).rows.map((row) => row.api_key_id)
  const contexts = (
    await client.query(
      replaceIds(`INSERT INTO file_contexts (context_id, tenant_id, context_key, display_name, allowed_extensions, max_file_size_mb, storage_quota_mb, created_at, updated_at)
       SELECT 'ctx_01' || lpad(n::text, 24, '0'), $1, 'seeded_' || n, 'Seeded ' || n, '{txt}', 1, 2147483647, now() - interval '1 year', now() FROM generate_series(1, 8) n RETURNING context_id`),
      [tenantId],
    )
  ).rows.map((row) => row.context_id)
  await client.query('UPDATE tenants SET storage_quota_mb = 2147483647 WHERE tenant_id = $1', [tenantId])
  await createPartitions(client)

  const started = Date.now()
  // Batches are inserted in time order so that indexes grow at their end as in production.
  for (let from = 1; from <= rows; from += 1_000_000) {
    const to = Math.min(rows, from + 999_999)
    await client.query(replaceIds(callsStatement), [tenantId, from, to, rows])
    say(`${to} of ${rows} calls after ${Math.round((Date.now() - started) / 1000)} s`)
  }
  await client.query(replaceIds(filesStatement), [tenantId, files])
  await client.query(reportsStatement, [tenantId])
  say(`${files} files after ${Math.round((Date.now() - started) / 1000)} s`)
  await updateCounters(client, tenantId, replaceIds(hoursStatement))
  for (const table of [
    'call_logs',
    'files',
    'file_groups',
    'validation_reports',
    'usage_counters',
    'file_totals',
    'file_contexts',
    'api_keys',
    'audit_logs',
    'tenants',
  ])
    await client.query(`VACUUM ANALYZE ${table}`)
  await client.query('CHECKPOINT')
  say(`seeded in ${Math.round((Date.now() - started) / 1000)} s`)
  return { common: keys[0], rare: keys[18], idle: keys[19], contexts }
}

async function createPartitions(client) {
  await client.query(`DO $$
    DECLARE month timestamptz; name text; bound text[];
    BEGIN
      FOR month IN SELECT generate_series(date_trunc('month', now() - interval '1 year', 'UTC'), now() + interval '2 months', interval '1 month') LOOP
        name := 'call_logs_' || to_char(month AT TIME ZONE 'UTC', 'YYYY_MM');
        SELECT array_agg('call_' || ${toUlidTimeSql('ms')} || repeat('0', 16) ORDER BY ms) INTO bound
        FROM (VALUES ((extract(epoch FROM month) * 1000)::bigint), ((extract(epoch FROM month + interval '1 month') * 1000)::bigint)) v(ms);
        IF to_regclass(name) IS NULL THEN
          EXECUTE format('CREATE TABLE %I PARTITION OF call_logs FOR VALUES FROM (%L) TO (%L)', name, bound[1], bound[2]);
        END IF;
      END LOOP;
    END $$`)
}

// `h` is a pseudo-random number with a fixed seed. The rare key gets one call in 50,000 and the idle key none.
const callsStatement = `
INSERT INTO call_logs (call_id, tenant_id, api_key_id, api_key_name, operation, status, file_id, context_key, error_code, error_message, ip_address, user_agent, created_at)
SELECT 'call_' || ${toUlidTimeSql('ms')} || substr(md5(i::text), 1, 16), $1,
  'key_01' || lpad(CASE WHEN i % 50000 = 7 OR i % ($4::bigint / 5) = 3 THEN 19 ELSE 1 + least(h % 18, (h / 100) % 18) END::text, 24, '0'), 'Seeded',
  op, st, NULL, CASE WHEN h % 10 < 7 THEN 'seeded_' || (1 + (h / 7) % 8) END,
  CASE st WHEN 'failure' THEN 'not_found' END, CASE st WHEN 'failure' THEN 'No such thing.' END, '192.0.2.1', 'seed/1.0', to_timestamp(ms / 1000.0)
FROM (
  SELECT i, h, (extract(epoch FROM now()) * 1000)::bigint - 1000 - (($4::bigint - i) * 31536000000 / $4::bigint) AS ms,
    (CASE WHEN h % 1000 < 550 THEN 'metadata' WHEN h % 1000 < 850 THEN 'download' WHEN h % 1000 < 980 THEN 'upload' ELSE 'delete' END) AS op,
    (CASE WHEN (h / 1000) % 100 < 4 THEN 'failure' ELSE 'success' END) AS st
  FROM (SELECT i, (i * 2654435761) % 4294967296 AS h FROM generate_series($2::bigint, $3::bigint) i) numbers) calls`

const filesStatement = `
INSERT INTO files (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, uploaded_by, uploaded_by_name, created_at, updated_at)
SELECT 'file_' || ${toUlidTimeSql('ms')} || substr(md5(i::text), 1, 16), $1, 'ctx_01' || lpad((1 + h % 8)::text, 24, '0'), 'file ' || i || '.txt', 'text/plain', 1000 + h % 100000,
  encode(sha256(i::text::bytea), 'hex'), $1 || '/seeded/' || i, 'key_01' || lpad((1 + (h / 8) % 18)::text, 24, '0'), 'Seeded', to_timestamp(ms / 1000.0), to_timestamp(ms / 1000.0)
FROM (
  SELECT i, h, (extract(epoch FROM now()) * 1000)::bigint - 1000 - (($2::bigint - i) * 31536000000 / $2::bigint) AS ms
  FROM (SELECT i, (i * 2654435761) % 4294967296 AS h FROM generate_series(1, $2::bigint) i) numbers) files`

// The report is as long as that of a text file that passed every check.
const reportsStatement = `
INSERT INTO validation_reports (tenant_id, file_id, validated_at, report)
SELECT tenant_id, file_id, created_at, jsonb_build_object('rulesVersion', 1, 'outcome', 'accepted', 'reason', NULL, 'detected_content_type', content_type, 'size_bytes', size_bytes,
  'checksum', 'sha256:' || checksum, 'validated_at', created_at,
  'engine', jsonb_build_object('name', 'YARA-X', 'version', '1.7.1 (native)', 'signatures_version', 'b84fa1629ea7 (8 rules)', 'signatures_date', '2026-11-20T00:00:00.000Z'),
  'checks', (SELECT jsonb_agg(jsonb_build_object('check', name, 'outcome', 'passed', 'message', 'Nothing speaks against the file: ' || name || '.', 'evidence', jsonb_build_object('bytes', size_bytes), 'duration_ms', 0.1))
    FROM unnest('{invalid_extension,size_exceeded,blank_file,corrupt_file,virus_detected}'::text[]) name))
FROM files WHERE tenant_id = $1`

async function updateCounters(client, tenantId, hours) {
  await client.query(`CREATE TEMP TABLE seeded_hours AS ${hours}`, [tenantId])
  const columns = [...callCounts.map(({ column }) => column), 'files_uploaded', 'bytes_uploaded']
  await client.query(
    `INSERT INTO usage_counters AS u (tenant_id, subject, grain, bucket, ${columns.join(', ')})
     SELECT $1, s.subject, g.grain, g.bucket, ${columns.map((column) => `sum(${column})`).join(', ')} FROM seeded_hours h
     CROSS JOIN LATERAL (VALUES (''), (h.api_key_id), (h.context_id)) s(subject)
     CROSS JOIN LATERAL (VALUES ('hour', h.hour), ('day', date_trunc('day', h.hour, 'UTC')), ('total', to_timestamp(0))) g(grain, bucket)
     WHERE s.subject IS NOT NULL GROUP BY s.subject, g.grain, g.bucket
     ON CONFLICT (tenant_id, subject, grain, bucket) DO UPDATE SET ${columns.map((column) => `${column} = u.${column} + excluded.${column}`).join(', ')}`,
    [tenantId],
  )
  await client.query('DROP TABLE seeded_hours')
  await client.query(
    `WITH head AS (UPDATE tenant_heads SET (files, bytes) = (SELECT count(*), coalesce(sum(size_bytes), 0) FROM files WHERE tenant_id = $1) WHERE tenant_id = $1)
     INSERT INTO file_totals AS t (tenant_id, context_id, files, bytes)
     SELECT tenant_id, context_id, count(*), sum(size_bytes) FROM files WHERE tenant_id = $1 GROUP BY tenant_id, context_id
     ON CONFLICT (tenant_id, context_id) DO UPDATE SET files = t.files + excluded.files, bytes = t.bytes + excluded.bytes`,
    [tenantId],
  )
  await client.query(
    `INSERT INTO file_groups SELECT tenant_id, context_id, uploaded_by, content_type, count(*) FROM files WHERE tenant_id = $1 GROUP BY 1, 2, 3, 4
     ON CONFLICT (tenant_id, context_id, uploaded_by, content_type) DO UPDATE SET files = excluded.files`,
    [tenantId],
  )
}

const hoursStatement = `
SELECT date_trunc('hour', created_at, 'UTC') AS hour, api_key_id, 'ctx_01' || lpad(substr(context_key, 8), 24, '0') AS context_id,
  ${callCounts.map(({ column, operation, status }) => `count(*) FILTER (WHERE operation = '${operation}' AND status = '${status}') AS ${column}`).join(', ')}, 0::bigint AS files_uploaded, 0::bigint AS bytes_uploaded
FROM call_logs WHERE tenant_id = $1 AND user_agent = 'seed/1.0' GROUP BY 1, 2, 3
UNION ALL
SELECT date_trunc('hour', created_at, 'UTC'), uploaded_by, context_id, ${callCounts.map(() => '0').join(', ')}, count(*), sum(size_bytes) FROM files WHERE tenant_id = $1 GROUP BY 1, 2, 3`
