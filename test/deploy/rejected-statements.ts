/** A statement or function that Citus rejected, with the expected finding. */
export interface RejectedStatement {
  statement?: string
  /** Complete PL/pgSQL function definition. */
  definition?: string
  finding: string
}

const inFunction = (body: string, declare = '') =>
  `CREATE FUNCTION f(tenant text, deletions jsonb) RETURNS void LANGUAGE plpgsql AS $$ DECLARE x jsonb; ${declare} BEGIN ${body} END $$`

const trigger = (body: string) => `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} RETURN NULL; END $$`

/** Statements of earlier versions that failed on Citus 13.2. The rules are in docs/scaling.md. */
export const rejectedStatements: Record<string, RejectedStatement> = {
  'a fold that locks a row of a reference table in a change': {
    statement: `WITH mine AS MATERIALIZED (SELECT 1 FROM tenants WHERE tenant_id = $1 AND pg_try_advisory_xact_lock(1, hashtext($1)) FOR KEY SHARE SKIP LOCKED)
      DELETE FROM usage_deltas WHERE tenant_id = $1 AND EXISTS (SELECT FROM mine)`,
    finding: 'locks and changes rows in one statement that uses the reference table tenants',
  },
  'a deletion whose parts lock, delete and read a reference table': {
    definition: inFunction(
      `WITH locked AS (SELECT f.file_id FROM files f WHERE f.tenant_id = tenant FOR UPDATE),
         gone AS (DELETE FROM files f USING locked l WHERE f.tenant_id = tenant AND f.file_id = l.file_id RETURNING f.*),
         won AS (SELECT g.*, c.trash_days > 0 AS to_trash FROM gone g JOIN file_contexts c ON c.tenant_id = tenant AND c.context_id = g.context_id)
       SELECT to_jsonb(won) INTO x FROM won;`,
    ),
    finding: 'locks and changes rows in one statement that uses the reference table file_contexts',
  },
  'a list that finds downloads by the tenant of a limited list': {
    statement: `SELECT f.file_id, d.times FROM (SELECT f.* FROM files f WHERE f.tenant_id = $1 ORDER BY f.file_id DESC LIMIT 20) f
      LEFT JOIN LATERAL (SELECT sum(times) AS times FROM download_deltas d WHERE d.tenant_id = f.tenant_id AND d.file_id = f.file_id) d ON true`,
    finding: 'names the tenant of download_deltas by a column of an outer statement',
  },
  'a list that joins files to a limited list of ids by tenant': {
    statement: `SELECT f.* FROM (SELECT f.tenant_id, f.file_id FROM files f WHERE f.tenant_id = $1 LIMIT 20) ids
      JOIN files f ON f.tenant_id = ids.tenant_id AND f.file_id = ids.file_id`,
    finding: 'names the tenant of files by a join to a subquery, a function or a reference table',
  },
  'an upsert that sets the current time': {
    statement: `INSERT INTO blob_garbage (tenant_id, blob_path, due_at) VALUES ($1, $2, now()) ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = now()`,
    finding: 'has an ON CONFLICT clause for blob_garbage with now(), which is not IMMUTABLE',
  },
  'an upsert of a function that sets the current time': {
    definition: inFunction(
      `INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT tenant, d->>'path', now() FROM jsonb_array_elements(deletions) d
       ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = now();`,
    ),
    finding: 'has an ON CONFLICT clause for blob_garbage with now(), which is not IMMUTABLE',
  },
  'an upsert whose condition subtracts an interval': {
    statement: `INSERT INTO idempotency_keys AS i (tenant_id, actor_id, key, operation, created_at) VALUES ($1, $2, $3, $4, now())
      ON CONFLICT (tenant_id, actor_id, key) DO UPDATE SET operation = excluded.operation WHERE i.created_at < excluded.created_at - make_interval(hours => 24)`,
    finding: 'has an ON CONFLICT clause for idempotency_keys with a time plus or minus an interval, which is not IMMUTABLE',
  },
  'a change that adds an interval to a column': {
    statement: `UPDATE blob_garbage g SET due_at = u.expires_at + interval '1 hour' FROM resumable_uploads u
      WHERE u.tenant_id = $1 AND u.upload_id = $2 AND g.tenant_id = $1 AND g.blob_path = $3`,
    finding: 'changes blob_garbage with a time plus or minus an interval of a column, which is STABLE',
  },
  'a change with the current time in CASE': {
    statement: `UPDATE resumable_uploads SET decided_at = CASE WHEN expires_at > now() THEN NULL ELSE expires_at END WHERE tenant_id = $1 AND upload_id = $2`,
    finding: 'changes resumable_uploads with now() in CASE, which is not IMMUTABLE',
  },
  'a change with the current time in COALESCE': {
    statement: `WITH moved AS (UPDATE webhook_positions SET failing_since = coalesce(failing_since, now()) WHERE tenant_id = $1 AND webhook_id = $2 RETURNING failing_since)
      SELECT failing_since FROM moved`,
    finding: 'changes webhook_positions with now() in COALESCE, which is not IMMUTABLE',
  },
  'a change of a reference table with the current time in COALESCE': {
    statement: 'UPDATE signing_keys SET retired_at = coalesce(retired_at, now()) WHERE purpose = $1',
    finding: 'changes signing_keys with now() in COALESCE, which is not IMMUTABLE',
  },
  'a change to the time of the clock': {
    statement: 'UPDATE rescans SET taken_at = clock_timestamp() WHERE tenant_id = $1 AND context_id = $2',
    finding: 'changes rescans with clock_timestamp(), which is VOLATILE',
  },
  'a change with an aggregate in COALESCE': {
    definition: inFunction(
      `UPDATE pending_moves p SET answer = jsonb_build_object('refusals', coalesce((SELECT jsonb_agg(r) FROM jsonb_array_elements(deletions) r), '[]')) WHERE p.tenant_id = tenant;`,
    ),
    finding: 'changes pending_moves with jsonb_agg() in COALESCE, which is not IMMUTABLE',
  },
  'a change that returns the current time': {
    statement: 'UPDATE rescans SET walked = true WHERE tenant_id = $1 RETURNING taken_at < now() AS due',
    finding: 'returns now() from a change of rescans, which is not IMMUTABLE',
  },
  'the start of rescans in the contexts of all tenants': {
    statement: `INSERT INTO rescans (tenant_id, context_id, files) SELECT c.tenant_id, c.context_id, t.files
      FROM file_contexts c JOIN file_totals t ON t.tenant_id = c.tenant_id AND t.context_id = c.context_id`,
    finding: 'inserts into rescans for several tenants',
  },
  'the due contexts of several tenants': {
    statement: `SELECT c.context_id, (SELECT f.created_at < now() FROM files f WHERE f.tenant_id = c.tenant_id AND f.context_id = c.context_id LIMIT 1)
      FROM unnest($1::text[]) AS w(tenant_id) JOIN file_contexts c ON c.tenant_id = w.tenant_id`,
    finding: 'names the tenant of files by a column of an outer statement',
  },
  'a recount with ROLLUP over all tenants': {
    statement: 'SELECT tenant_id, context_id, count(*) FROM files GROUP BY tenant_id, ROLLUP (context_id)',
    finding: 'has GROUPING SETS, CUBE or ROLLUP without the name of one tenant',
  },
  'a recount of one tenant or all tenants': {
    statement: 'SELECT count(*) FROM files WHERE $1::text IS NULL OR tenant_id = $1',
    finding: 'has OR or NOT around a condition on the tenant',
  },
  'a deletion by position that names the tenant only in a subquery': {
    statement: 'DELETE FROM files WHERE ctid = ANY (ARRAY(SELECT ctid FROM files WHERE tenant_id = $1 LIMIT 1000))',
    finding: 'changes files of any tenant',
  },
  'a deletion that counts in a local table': {
    statement: `WITH deleted AS (DELETE FROM files WHERE tenant_id = $1 RETURNING blob_path)
      UPDATE service_state SET value = to_jsonb((SELECT count(*) FROM deleted)) WHERE key = $2`,
    finding: 'uses the local table service_state together with files',
  },
  'a trigger with a statement': {
    definition: trigger('UPDATE file_totals SET files = files + 1 WHERE tenant_id = NEW.tenant_id;'),
    finding: 'runs a statement in a trigger',
  },
  'a statement that is only known at run time': {
    definition: inFunction(`EXECUTE 'DELETE FROM files';`),
    finding: 'cannot be read',
  },
}
