-- What moves the files of one tenant, or is audited, in one round trip: a group of entries, judged in order under the tenant's lock, and written.
-- `moves` has arrays of rows, each with `n`, the place of its entry in the group. Gives the entries that were refused, each with the
-- facts that say why; nothing of them is written. The name has a version, so that two releases can run side by side: a change is a new function.
CREATE FUNCTION ledger_move_1(tenant text, moves jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
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
  upload record;
  kind text;
BEGIN
  SELECT bytes INTO held FROM tenant_heads WHERE tenant_id = tenant FOR UPDATE;
  IF NOT FOUND THEN
    RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('n', n, 'why', 'no_tenant')), '[]') FROM generate_series(0, (moves->>'entries')::int - 1) n);
  END IF;

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
    locked AS (SELECT f.file_id FROM files f WHERE f.tenant_id = tenant AND f.file_id IN (SELECT file_id FROM asked) ORDER BY f.file_id FOR UPDATE),
    gone AS (DELETE FROM files f USING locked l WHERE f.tenant_id = tenant AND f.file_id = l.file_id RETURNING f.file_id, f.size_bytes, f.context_id),
    reports AS (DELETE FROM validation_reports r USING locked l WHERE r.tenant_id = tenant AND r.file_id = l.file_id),
    won AS (SELECT a.n, g.size_bytes, g.context_id FROM gone g JOIN asked a USING (file_id)),
    freed AS (SELECT context_id, -sum(size_bytes) AS bytes FROM won GROUP BY context_id)
    SELECT refusals || coalesce((SELECT jsonb_agg(jsonb_build_object('n', d.n, 'why', 'no_file'))
        FROM jsonb_to_recordset(moves->'deletions') AS d(n int) WHERE d.n NOT IN (SELECT n FROM won)), '[]'),
      held + coalesce((SELECT sum(bytes) FROM freed), 0), coalesce((SELECT jsonb_object_agg(context_id, bytes) FROM freed), '{}')
    INTO refusals, held, gained;
  END IF;

  IF moves ? 'uploads' THEN
    SELECT status, storage_quota_mb * 1048576::bigint INTO tenant_status, quota FROM tenants WHERE tenant_id = tenant;
    -- Locked until the end: no sweep takes a path while its file is being made.
    SELECT array_agg(blob_path) INTO leased FROM (SELECT g.blob_path FROM blob_garbage g WHERE g.tenant_id = tenant AND NOT g.taken
      AND g.blob_path IN (SELECT u.blob_path FROM jsonb_to_recordset(moves->'uploads') AS u(blob_path text)) FOR UPDATE) paths;
    -- One after another: what the first takes is no longer there for the second, and a file that does not fit leaves its room to the next.
    FOR upload IN
      SELECT u.*, c.status AS context_status, c.storage_quota_mb * 1048576::bigint AS context_quota, t.bytes AS context_held,
        CASE WHEN u.uploader_kind = 'api_key' THEN (SELECT status FROM api_keys k WHERE k.api_key_id = u.uploaded_by AND k.tenant_id = tenant)
          WHEN u.uploader_kind = 'user' THEN (SELECT status FROM users s WHERE s.user_id = u.uploaded_by AND s.tenant_id = tenant) ELSE 'active' END AS uploader_status
      FROM jsonb_to_recordset(moves->'uploads') AS u(n int, context_id text, size_bytes bigint, blob_path text, uploaded_by text, uploader_kind text)
        LEFT JOIN file_contexts c ON c.tenant_id = tenant AND c.context_id = u.context_id
        LEFT JOIN file_totals t ON t.tenant_id = tenant AND t.context_id = u.context_id
      ORDER BY u.n
    LOOP
      CONTINUE WHEN refusals @> jsonb_build_array(jsonb_build_object('n', upload.n));
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
    FOREACH kind IN ARRAY ARRAY['answers', 'deletions', 'uploads', 'calls', 'usage', 'audit'] LOOP
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
    DELETE FROM blob_garbage WHERE tenant_id = tenant AND blob_path IN (SELECT u.blob_path FROM jsonb_to_recordset(moves->'uploads') AS u(blob_path text));
    INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT tenant, blob_path, now() FROM jsonb_to_recordset(moves->'deletions') AS d(blob_path text)
    ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = now();
    WITH moved AS (
      SELECT context_id, 1 AS files, size_bytes AS bytes FROM jsonb_to_recordset(moves->'uploads') AS u(context_id text, size_bytes bigint)
      UNION ALL SELECT context_id, -1, -size_bytes FROM jsonb_to_recordset(moves->'deletions') AS d(context_id text, size_bytes bigint)),
    head AS (UPDATE tenant_heads h SET files = h.files + m.files, bytes = h.bytes + m.bytes FROM (SELECT sum(files) AS files, sum(bytes) AS bytes FROM moved) m
      WHERE h.tenant_id = tenant AND m.files IS NOT NULL)
    INSERT INTO file_totals AS t (tenant_id, context_id, files, bytes) SELECT tenant, context_id, sum(files), sum(bytes) FROM moved GROUP BY context_id
    ON CONFLICT (tenant_id, context_id) DO UPDATE SET files = t.files + excluded.files, bytes = t.bytes + excluded.bytes;
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
      sum(delete_success), sum(delete_failure), sum(files_uploaded), sum(bytes_uploaded), sum(files_deleted), sum(bytes_deleted), sum(downloads), sum(bytes_downloaded)
    FROM jsonb_populate_recordset(NULL::usage_deltas, moves->'usage') GROUP BY api_key_id, context_id, hour;
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
  RETURN refusals;
END $$;
