-- `ledger_move_3` and what it calls do the same with less: what it is given and gives stays as it was, so that replicas of the version before
-- call it as well. The paths of uploads are looked for one by one, where all that a tenant has in the journal of garbage was read before.

-- A group of entries, judged in order under the tenant's lock, and written. `moves` has arrays of rows, each with `n`, the place of its
-- entry in the group. Gives the entries that were refused, each with the facts that say why; nothing of them is written.
CREATE OR REPLACE FUNCTION ledger_move_3(tenant text, moves jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  held bigint;
  quota bigint;
  tenant_status text;
  gained jsonb := '{}';
  context_held bigint;
  why jsonb;
  refusals jsonb := '[]';
  refused int[];
  leased text[];
  trashed int[];
  head tenant_heads;
  crossed boolean := false;
  leaves bytea[];
  at timestamptz(3);
  said text;
  upload record;
  kind text;
BEGIN
  SELECT * INTO head FROM tenant_heads WHERE tenant_id = tenant FOR UPDATE;
  IF NOT FOUND THEN
    RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('n', n, 'why', 'no_tenant')), '[]') FROM generate_series(0, (moves->>'entries')::int - 1) n);
  END IF;

  held := head.bytes;
  -- The statements after the lock see what was committed before it was given.
  IF moves ? 'answers' THEN
    -- An answer is given once, by whoever holds the key's token.
    SELECT refusals || coalesce(jsonb_agg(jsonb_build_object('n', a.n, 'why', 'answered')), '[]') INTO refusals
    FROM jsonb_to_recordset(moves->'answers') AS a(n int, actor_id text, key text, token text)
    WHERE NOT EXISTS (SELECT 1 FROM idempotency_keys i WHERE i.tenant_id = tenant AND i.actor_id = a.actor_id AND i.key = a.key AND i.token = a.token AND i.response IS NULL FOR UPDATE);
  END IF;

  IF moves ? 'deletions' THEN
    -- The first of two deletions has the file; the second finds nothing, as it would a moment later. Locked in order, as the fold does.
    WITH asked AS (SELECT file_id, min(n) AS n FROM jsonb_to_recordset(moves->'deletions') AS d(n int, file_id text) GROUP BY file_id),
    asker AS (SELECT * FROM jsonb_to_recordset(moves->'deletions') AS d(n int, deleted_by text, deleted_by_type text)),
    locked AS (SELECT f.file_id, f.quarantined_at FROM files f WHERE f.tenant_id = tenant AND f.file_id IN (SELECT file_id FROM asked) ORDER BY f.file_id FOR UPDATE),
    kept AS (SELECT a.n, CASE WHEN l.quarantined_at IS NULL THEN 'on_hold' ELSE 'quarantined' END AS why FROM locked l JOIN asked a USING (file_id)
      WHERE l.quarantined_at IS NOT NULL OR EXISTS (SELECT FROM holds h WHERE h.tenant_id = tenant AND h.file_id = l.file_id)),
    gone AS (DELETE FROM files f USING asked a, locked l WHERE f.tenant_id = tenant AND f.file_id = a.file_id AND l.file_id = a.file_id
      AND a.n NOT IN (SELECT n FROM kept) AND a.n NOT IN (SELECT (r->>'n')::int FROM jsonb_array_elements(refusals) r) RETURNING f.*, a.n),
    won AS (SELECT g.*, c.trash_days > 0 AS to_trash FROM gone g JOIN file_contexts c ON c.tenant_id = tenant AND c.context_id = g.context_id),
    in_trash AS (INSERT INTO trash (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, metadata, uploaded_by, uploaded_by_name,
        download_count, last_downloaded_at, created_at, updated_at, deleted_at, deleted_by, deleted_by_type)
      SELECT w.file_id, tenant, w.context_id, w.original_filename, w.content_type, w.size_bytes, w.checksum, w.blob_path, w.metadata, w.uploaded_by, w.uploaded_by_name,
        w.download_count, w.last_downloaded_at, w.created_at, w.updated_at, clock_timestamp(), b.deleted_by, b.deleted_by_type FROM won w JOIN asker b USING (n) WHERE w.to_trash),
    reports AS (DELETE FROM validation_reports r USING won w WHERE r.tenant_id = tenant AND r.file_id = w.file_id AND NOT w.to_trash),
    freed AS (SELECT context_id, -sum(size_bytes) AS bytes FROM won WHERE NOT to_trash GROUP BY context_id)
    SELECT refusals || coalesce((SELECT jsonb_agg(jsonb_build_object('n', d.n, 'why', coalesce(k.why, 'no_file')))
        FROM jsonb_to_recordset(moves->'deletions') AS d(n int) LEFT JOIN kept k USING (n) WHERE d.n NOT IN (SELECT n FROM won)), '[]'),
      held + coalesce((SELECT sum(bytes) FROM freed), 0), coalesce((SELECT jsonb_object_agg(context_id, bytes) FROM freed), '{}'),
      (SELECT array_agg(n) FROM won WHERE to_trash)
    INTO refusals, held, gained, trashed;
  END IF;

  IF moves ? 'uploads' THEN
    SELECT status, storage_quota_mb * 1048576::bigint INTO tenant_status, quota FROM tenants WHERE tenant_id = tenant;
    -- Each path by itself: a tenant may have very many. No sweep takes one while its file is being made; a refused upload's is put back.
    WITH claimed AS (DELETE FROM blob_garbage g WHERE g.tenant_id = tenant AND NOT g.taken
      AND g.blob_path = ANY (ARRAY(SELECT u->>'blob_path' FROM jsonb_array_elements(moves->'uploads') u)) RETURNING g.blob_path)
    SELECT array_agg(blob_path) INTO leased FROM claimed;
    -- One after another: what the first takes is no longer there for the second, and a file that does not fit leaves its room to the next.
    FOR upload IN
      SELECT u.*, c.status AS context_status, c.storage_quota_mb * 1048576::bigint AS context_quota, c.quota_level, t.bytes AS context_held,
        CASE WHEN u.uploader_kind = 'api_key' THEN (SELECT status FROM api_keys k WHERE k.api_key_id = u.uploaded_by AND k.tenant_id = tenant)
          WHEN u.uploader_kind = 'user' THEN (SELECT status FROM users s WHERE s.user_id = u.uploaded_by AND s.tenant_id = tenant) ELSE 'active' END AS uploader_status
      FROM jsonb_to_recordset(moves->'uploads') AS u(n int, context_id text, size_bytes bigint, blob_path text, uploaded_by text, uploader_kind text)
        LEFT JOIN file_contexts c ON c.tenant_id = tenant AND c.context_id = u.context_id
        LEFT JOIN file_totals t ON t.tenant_id = tenant AND t.context_id = u.context_id
      ORDER BY u.n
    LOOP
      CONTINUE WHEN refusals <> '[]' AND refusals @> jsonb_build_array(jsonb_build_object('n', upload.n));
      context_held := upload.context_held + coalesce((gained->>upload.context_id)::bigint, 0);
      why := CASE
        WHEN upload.blob_path = ANY (leased) IS NOT TRUE THEN '{"why": "swept"}'
        WHEN upload.context_held IS NULL OR upload.context_status IS NULL THEN '{"why": "no_context"}'
        WHEN upload.uploader_status IS DISTINCT FROM 'active' THEN '{"why": "inactive"}'
        WHEN tenant_status <> 'active' THEN '{"why": "suspended"}'
        WHEN upload.context_status <> 'active' THEN jsonb_build_object('why', 'disabled', 'status', upload.context_status)
        WHEN context_held + upload.size_bytes > upload.context_quota AND upload.size_bytes > 0 THEN jsonb_build_object('why', 'context_quota', 'quota', upload.context_quota, 'held', context_held)
        WHEN held + upload.size_bytes > quota AND upload.size_bytes > 0 THEN jsonb_build_object('why', 'tenant_quota', 'quota', quota, 'held', held)
      END;
      IF why IS NULL THEN
        held := held + upload.size_bytes;
        gained := jsonb_set(gained, ARRAY[upload.context_id], to_jsonb(context_held + upload.size_bytes - upload.context_held));
        crossed := crossed OR ledger_threshold_3(context_held + upload.size_bytes, upload.context_quota) <> upload.quota_level;
      ELSE
        refusals := refusals || (why || jsonb_build_object('n', upload.n));
      END IF;
    END LOOP;
  END IF;

  IF refusals <> '[]' THEN
    SELECT array_agg((r->>'n')::int) INTO refused FROM jsonb_array_elements(refusals) r;
    -- Its blob was written for nothing: due from now on, also where a sweep was there before the blob was.
    INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT tenant, u.blob_path, now() FROM jsonb_to_recordset(moves->'uploads') AS u(n int, blob_path text)
    WHERE u.n = ANY (refused) ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = now(), taken = false;
    FOREACH kind IN ARRAY ARRAY['answers', 'deletions', 'uploads', 'calls', 'usage', 'blocked', 'audit', 'events'] LOOP
      CONTINUE WHEN NOT moves ? kind;
      moves := jsonb_set(moves, ARRAY[kind], (SELECT coalesce(jsonb_agg(e), '[]') FROM jsonb_array_elements(moves->kind) e WHERE (e->>'n')::int <> ALL (refused)));
    END LOOP;
  END IF;

  IF moves ? 'uploads' OR moves ? 'deletions' THEN
    INSERT INTO files (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, metadata, uploaded_by, uploaded_by_name, created_at, updated_at)
    SELECT file_id, tenant, context_id, original_filename, content_type, size_bytes, checksum, blob_path, metadata, uploaded_by, uploaded_by_name, created_at, created_at
    FROM jsonb_populate_recordset(NULL::files, moves->'uploads');
    INSERT INTO validation_reports (tenant_id, file_id, validated_at, report)
    SELECT tenant, file_id, validated_at, report FROM jsonb_populate_recordset(NULL::validation_reports, moves->'uploads');
    IF moves ? 'deletions' THEN
      -- The blob of a file in the trash is no garbage, and its bytes are still held.
      INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT tenant, blob_path, now() FROM jsonb_to_recordset(moves->'deletions') AS d(n int, blob_path text)
      WHERE trashed IS NULL OR d.n <> ALL (trashed) ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = now();
    END IF;
    INSERT INTO file_totals AS t (tenant_id, context_id, files, bytes) SELECT tenant, context_id, sum(files), sum(bytes) FROM (
      SELECT context_id, 1 AS files, size_bytes AS bytes FROM jsonb_to_recordset(moves->'uploads') AS u(context_id text, size_bytes bigint)
      UNION ALL SELECT context_id, -1, CASE WHEN n = ANY (trashed) THEN 0 ELSE -size_bytes END FROM jsonb_to_recordset(moves->'deletions') AS d(n int, context_id text, size_bytes bigint)) moved
    GROUP BY context_id ON CONFLICT (tenant_id, context_id) DO UPDATE SET files = t.files + excluded.files, bytes = t.bytes + excluded.bytes;
    head.files := head.files + coalesce(jsonb_array_length(moves->'uploads'), 0) - coalesce(jsonb_array_length(moves->'deletions'), 0);
  END IF;
  IF moves ? 'calls' THEN
    INSERT INTO call_logs (call_id, tenant_id, api_key_id, api_key_name, operation, status, file_id, context_key, error_code, error_message, validation, ip_address, user_agent, created_at)
    SELECT call_id, tenant, api_key_id, api_key_name, operation, status, file_id, context_key, error_code, error_message, validation, ip_address, user_agent, created_at
    FROM jsonb_populate_recordset(NULL::call_logs, moves->'calls');
  END IF;
  IF moves ? 'usage' THEN
    INSERT INTO usage_deltas (tenant_id, api_key_id, context_id, hour, upload_success, upload_failure, download_success, download_failure, metadata_success, metadata_failure,
      delete_success, delete_failure, files_uploaded, bytes_uploaded, files_deleted, bytes_deleted, downloads, bytes_downloaded)
    SELECT tenant, api_key_id, context_id, hour, sum(upload_success), sum(upload_failure), sum(download_success), sum(download_failure), sum(metadata_success), sum(metadata_failure),
      sum(delete_success), sum(delete_failure), sum(files_uploaded), sum(bytes_uploaded), sum(files_deleted), sum(CASE WHEN r.n = ANY (trashed) THEN 0 ELSE bytes_deleted END), sum(downloads), sum(bytes_downloaded)
    FROM ROWS FROM (jsonb_populate_recordset(NULL::usage_deltas, moves->'usage'), jsonb_to_recordset(moves->'usage') AS (n int)) r GROUP BY api_key_id, context_id, hour;
  END IF;
  IF moves ? 'blocked' THEN
    -- Whatever reason they count, also one that is newer than this function.
    INSERT INTO usage_deltas SELECT d.* FROM jsonb_array_elements(moves->'blocked') r
      CROSS JOIN LATERAL jsonb_populate_record(NULL::usage_deltas, r || jsonb_build_object('tenant_id', tenant, 'delta_id', nextval('usage_deltas_delta_id_seq'))) d;
  END IF;
  IF moves ? 'audit' THEN
    INSERT INTO audit_logs (audit_id, tenant_id, audit_type, action, entity_type, entity_id, entity_name, performed_by_id, performed_by_name, performed_by_email,
      performed_by_type, performed_by_scopes, details, ip_address, user_agent, created_at)
    SELECT audit_id, tenant, audit_type, action, entity_type, entity_id, entity_name, performed_by_id, performed_by_name, performed_by_email,
      performed_by_type, performed_by_scopes, details, ip_address, user_agent, created_at FROM jsonb_populate_recordset(NULL::audit_logs, moves->'audit');
    INSERT INTO audit_counters AS c (tenant_id, grain, bucket, audit_type, action, entries)
    SELECT tenant, g.grain, g.bucket, a.audit_type, a.action, count(*) FROM jsonb_to_recordset(moves->'audit') AS a(audit_type text, action text, created_at timestamptz)
      CROSS JOIN LATERAL (VALUES ('day', date_trunc('day', a.created_at, 'UTC')), ('total', to_timestamp(0))) AS g(grain, bucket) GROUP BY 2, 3, 4, 5
    ON CONFLICT (tenant_id, grain, bucket, audit_type, action) DO UPDATE SET entries = c.entries + excluded.entries;
  END IF;
  IF moves ? 'answers' THEN
    UPDATE idempotency_keys i SET response = a.response, locked_until = NULL
    FROM jsonb_to_recordset(moves->'answers') AS a(actor_id text, key text, response jsonb) WHERE i.tenant_id = tenant AND i.actor_id = a.actor_id AND i.key = a.key;
  END IF;

  IF quota IS NULL AND moves ?| '{deletions, audit}' THEN
    SELECT storage_quota_mb * 1048576::bigint INTO quota FROM tenants WHERE tenant_id = tenant;
  END IF;
  -- An upload has one audit entry. What else is audited may have changed a quota.
  IF crossed OR ledger_threshold_3(held, quota) <> head.quota_level OR moves ? 'deletions'
    OR jsonb_array_length(moves->'audit') > coalesce(jsonb_array_length(moves->'uploads'), 0) THEN
    moves := ledger_thresholds_3(tenant, moves, held, quota, head.quota_level);
    head.quota_level := ledger_threshold_3(held, quota);
  END IF;
  IF jsonb_array_length(moves->'events') > 0 THEN
    -- The tenant's lock is held until the commit: numbers follow each other in the order of commits, and none is missing.
    -- They come in the order of their entries.
    at := greatest(date_trunc('milliseconds', clock_timestamp()), head.journal_at);
    said := '","occurred_at":"' || to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '","sequence":';
    WITH written AS (
      SELECT head.journal_length + place AS sequence, e.*, '{"data":' || data || ',"event_id":"' || event_id || said || head.journal_length + place || ',"type":"' || type || '"}' AS entry
      FROM ROWS FROM (jsonb_to_recordset(moves->'events') AS (event_id text, type text, subject text, context_key text, data text, checks jsonb))
        WITH ORDINALITY AS e(event_id, type, subject, context_key, data, checks, place)),
    added AS (
      INSERT INTO journal (tenant_id, sequence, event_id, type, subject, context_key, occurred_at, entry, leaf, checks)
      SELECT tenant, sequence, event_id, type, subject, context_key, at, entry, sha256('\x00'::bytea || convert_to(entry, 'UTF8')), checks FROM written
      RETURNING sequence, leaf)
    SELECT array_agg(leaf ORDER BY sequence) INTO leaves FROM added;
    head.journal_frontier := journal_grown_3(tenant, head.journal_length, head.journal_frontier, leaves);
    head.journal_length := head.journal_length + cardinality(leaves);
    head.journal_at := at;
  END IF;
  IF moves ?| '{uploads, deletions, audit, events}' THEN
    UPDATE tenant_heads SET files = head.files, bytes = held, journal_length = head.journal_length, journal_frontier = head.journal_frontier,
      journal_at = head.journal_at, quota_level = head.quota_level WHERE tenant_id = tenant;
  END IF;
  RETURN refusals;
END $$;

CREATE OR REPLACE FUNCTION report_traits(report jsonb) RETURNS smallint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  -- What most reports are, found in one pass.
  IF report ? 'rulesVersion' AND report @? '$.checks[0]'
    AND NOT report @? '$.checks[*] ? (!(@.outcome == "passed") || exists (@.evidence.encrypted) || exists (@.evidence.active_content))' THEN
    RETURN 0;
  END IF;
  RETURN (SELECT (CASE WHEN report ? 'rulesVersion' THEN 0 ELSE 4 END | coalesce(bit_or(CASE c->>'check'
    WHEN 'blank_file' THEN CASE c->>'outcome' WHEN 'passed' THEN 0 ELSE 1 END
    WHEN 'corrupt_file' THEN CASE c->>'outcome' WHEN 'passed' THEN 0 ELSE 2 END
      | CASE WHEN (c->'evidence') ? 'encrypted' THEN 8 ELSE 0 END | CASE WHEN (c->'evidence') ? 'active_content' THEN 16 ELSE 0 END
    WHEN 'virus_detected' THEN CASE c->>'outcome' WHEN 'passed' THEN 0 WHEN 'incomplete' THEN 64 WHEN 'failed' THEN 256 ELSE 32 END
    ELSE 0 END), 35))::smallint FROM jsonb_array_elements(report->'checks') c);
END $$;
