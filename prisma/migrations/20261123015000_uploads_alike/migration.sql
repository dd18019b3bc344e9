-- `ledger_move_3` and `ledger_move_all_3` do the same with less: what they are given and give stays as it was, so that replicas of the version
-- before call them as well. Hours of the audit log are counted again, which `moves_with_fewer_statements` had left out.

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
  its_own constant text[] := '{n,file_id,original_filename,content_type,size_bytes,checksum,blob_path,metadata,report,created_at,validated_at}';
  uploads int;
  first jsonb;
  into_context text;
  uploader text;
  gain bigint;
  alike boolean := false;
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
    -- Each path by itself: a tenant may have very many. No sweep takes one while its file is being made; a refused upload's is put back.
    WITH claimed AS (DELETE FROM blob_garbage g WHERE g.tenant_id = tenant AND NOT g.taken
      AND g.blob_path = ANY (ARRAY(SELECT u->>'blob_path' FROM jsonb_array_elements(moves->'uploads') u)) RETURNING g.blob_path)
    SELECT array_agg(blob_path) INTO leased FROM claimed;
    -- What most groups are: uploads of one actor to one context, judged by the same rules, and all of them fit. Any others are judged one by one.
    uploads := jsonb_array_length(moves->'uploads');
    first := (moves->'uploads'->0) - its_own;
    into_context := first->>'context_id';
    uploader := first->>'uploaded_by';
    gain := (moves->'uploads'->0->>'size_bytes')::bigint;
    alike := refusals = '[]' AND NOT moves ? 'deletions' AND cardinality(leased) = uploads;
    IF alike AND uploads > 1 THEN
      SELECT bool_and(u - its_own = first), sum((u->>'size_bytes')::bigint) INTO alike, gain FROM jsonb_array_elements(moves->'uploads') u;
    END IF;
    SELECT t.status, t.storage_quota_mb * 1048576::bigint, c.quota_level <> 0 OR h.bytes + gain >= c.storage_quota_mb * 838860::bigint,
      alike AND t.status = 'active' AND c.status = 'active' AND h.bytes + gain <= c.storage_quota_mb * 1048576::bigint
        AND ((first->>'rules_version')::int <> c.rules_version OR (first->>'rules_at')::timestamptz <> c.updated_at) IS NOT TRUE
        AND CASE first->>'uploader_kind' WHEN 'api_key' THEN (SELECT k.status FROM api_keys k WHERE k.api_key_id = uploader AND k.tenant_id = tenant)
          WHEN 'user' THEN (SELECT u.status FROM users u WHERE u.user_id = uploader AND u.tenant_id = tenant) ELSE 'active' END IS NOT DISTINCT FROM 'active'
    INTO tenant_status, quota, crossed, alike
    FROM tenants t LEFT JOIN file_contexts c ON c.tenant_id = tenant AND c.context_id = into_context
      LEFT JOIN file_totals h ON h.tenant_id = tenant AND h.context_id = into_context WHERE t.tenant_id = tenant;
    alike := alike AND held + gain <= quota;
    IF alike THEN
      held := held + gain;
    ELSE
      crossed := false;
      -- One after another: what the first takes is no longer there for the second, and a file that does not fit leaves its room to the next.
      FOR upload IN
        SELECT u.*, c.status AS context_status, c.storage_quota_mb * 1048576::bigint AS context_quota, c.quota_level, c.rules_version AS version_now, c.updated_at AS changed_at, t.bytes AS context_held,
          CASE WHEN u.uploader_kind = 'api_key' THEN (SELECT status FROM api_keys k WHERE k.api_key_id = u.uploaded_by AND k.tenant_id = tenant)
            WHEN u.uploader_kind = 'user' THEN (SELECT status FROM users s WHERE s.user_id = u.uploaded_by AND s.tenant_id = tenant) ELSE 'active' END AS uploader_status
        FROM jsonb_to_recordset(moves->'uploads') AS u(n int, context_id text, size_bytes bigint, blob_path text, uploaded_by text, uploader_kind text, rules_version int, rules_at timestamptz)
          LEFT JOIN file_contexts c ON c.tenant_id = tenant AND c.context_id = u.context_id
          LEFT JOIN file_totals t ON t.tenant_id = tenant AND t.context_id = u.context_id
        ORDER BY u.n
      LOOP
        CONTINUE WHEN refusals <> '[]' AND refusals @> jsonb_build_array(jsonb_build_object('n', upload.n));
        context_held := upload.context_held + coalesce((gained->>upload.context_id)::bigint, 0);
        why := CASE
          WHEN upload.blob_path = ANY (leased) IS NOT TRUE THEN '{"why": "swept"}'
          WHEN upload.context_held IS NULL OR upload.context_status IS NULL THEN '{"why": "no_context"}'
          WHEN upload.rules_version <> upload.version_now OR upload.rules_at <> upload.changed_at THEN '{"why": "rules"}'
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
    INSERT INTO files (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, metadata, uploaded_by, uploaded_by_name, created_at, updated_at, traits)
    SELECT file_id, tenant, context_id, original_filename, content_type, size_bytes, checksum, blob_path, metadata, uploaded_by, uploaded_by_name, created_at, created_at, report_traits(report)
    FROM jsonb_to_recordset(moves->'uploads') AS u(file_id text, context_id text, original_filename text, content_type text, size_bytes bigint, checksum text, blob_path text, metadata jsonb,
      uploaded_by text, uploaded_by_name text, created_at timestamptz, report jsonb);
    said := set_config('assay.traits', 'kept', true);
    INSERT INTO validation_reports (tenant_id, file_id, validated_at, report)
    SELECT tenant, file_id, validated_at, report FROM jsonb_to_recordset(moves->'uploads') AS u(file_id text, validated_at timestamptz, report jsonb);
    said := set_config('assay.traits', '', true);
    IF moves ? 'deletions' THEN
      -- The blob of a file in the trash is no garbage, and its bytes are still held.
      INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT tenant, blob_path, now() FROM jsonb_to_recordset(moves->'deletions') AS d(n int, blob_path text)
      WHERE trashed IS NULL OR d.n <> ALL (trashed) ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = now();
    END IF;
    IF alike THEN
      UPDATE file_totals t SET files = t.files + uploads, bytes = t.bytes + gain WHERE t.tenant_id = tenant AND t.context_id = into_context;
    ELSE
      INSERT INTO file_totals AS t (tenant_id, context_id, files, bytes) SELECT tenant, context_id, sum(files), sum(bytes) FROM (
        SELECT context_id, 1 AS files, size_bytes AS bytes FROM jsonb_to_recordset(moves->'uploads') AS u(context_id text, size_bytes bigint)
        UNION ALL SELECT context_id, -1, CASE WHEN n = ANY (trashed) THEN 0 ELSE -size_bytes END FROM jsonb_to_recordset(moves->'deletions') AS d(n int, context_id text, size_bytes bigint)) moved
      GROUP BY context_id ON CONFLICT (tenant_id, context_id) DO UPDATE SET files = t.files + excluded.files, bytes = t.bytes + excluded.bytes;
    END IF;
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
    FROM jsonb_to_recordset(moves->'usage') AS r(n int, api_key_id text, context_id text, hour timestamptz, upload_success int, upload_failure int, download_success int, download_failure int,
      metadata_success int, metadata_failure int, delete_success int, delete_failure int, files_uploaded int, bytes_uploaded bigint, files_deleted int, bytes_deleted bigint, downloads int, bytes_downloaded bigint)
    GROUP BY api_key_id, context_id, hour;
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
    SELECT tenant, g.grain, CASE g.grain WHEN 'total' THEN to_timestamp(0) ELSE date_trunc(g.grain, a.created_at, 'UTC') END, a.audit_type, a.action, count(*)
    FROM jsonb_to_recordset(moves->'audit') AS a(audit_type text, action text, created_at timestamptz) CROSS JOIN (VALUES ('hour'), ('day'), ('total')) AS g(grain) GROUP BY 2, 3, 4, 5
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

-- What others left pending is looked for before it is put in order: mostly there is none.
DO $do$
DECLARE
  body text := pg_get_functiondef('ledger_move_all_3(text, jsonb)'::regprocedure);
  start constant text := E'BEGIN\n  WITH pending AS';
BEGIN
  IF position(start IN body) = 0 THEN
    RAISE EXCEPTION 'ledger_move_all_3 has no "%".', start;
  END IF;
  EXECUTE replace(body, start, $$BEGIN
  PERFORM FROM pending_moves WHERE tenant_id = tenant AND answer IS NULL AND version = 3 LIMIT 1;
  IF NOT FOUND THEN
    RETURN jsonb_build_object('refusals', ledger_move_3(tenant, own), 'others', 0);
  END IF;
  WITH pending AS$$);
END $do$;

-- Each statement reads the checks of its tables from their text: one list is shorter than words one by one. What is there has passed the old
-- checks, which said the same.
ALTER TABLE "audit_logs" DROP CONSTRAINT "audit_logs_audit_type_check", DROP CONSTRAINT "audit_logs_action_check", DROP CONSTRAINT "audit_logs_performed_by_type_check",
  ADD CONSTRAINT "audit_logs_audit_type_check" CHECK ("audit_type" = ANY ('{api_key,file,context,tenant,security}'::text[])) NOT VALID,
  ADD CONSTRAINT "audit_logs_action_check" CHECK ("action" = ANY ('{created,enabled,disabled,revoked,updated,deleted}'::text[])) NOT VALID,
  ADD CONSTRAINT "audit_logs_performed_by_type_check" CHECK ("performed_by_type" = ANY ('{user,api_key,system}'::text[])) NOT VALID;
ALTER TABLE "audit_counters" DROP CONSTRAINT "audit_counters_grain_check",
  ADD CONSTRAINT "audit_counters_grain_check" CHECK ("grain" = ANY ('{hour,day,total}'::text[])) NOT VALID;
ALTER TABLE "call_logs" DROP CONSTRAINT "call_logs_operation_check", DROP CONSTRAINT "call_logs_status_check",
  ADD CONSTRAINT "call_logs_operation_check" CHECK ("operation" = ANY ('{upload,download,metadata,delete}'::text[])) NOT VALID,
  ADD CONSTRAINT "call_logs_status_check" CHECK ("status" = ANY ('{success,failure}'::text[])) NOT VALID;

-- A file that comes with its report has its traits from the start. To look it up again cost more than to write its report, and where there were
-- no statistics of files yet, all files of the tenant were read for it.
DROP TRIGGER "reports_added" ON "validation_reports";
CREATE TRIGGER "reports_added" AFTER INSERT ON "validation_reports" REFERENCING NEW TABLE AS added FOR EACH STATEMENT
  WHEN (current_setting('assay.traits', true) IS DISTINCT FROM 'kept') EXECUTE FUNCTION keep_file_traits();
