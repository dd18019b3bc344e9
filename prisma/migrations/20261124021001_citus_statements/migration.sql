-- Statements that Citus accepts, and synchronous commits there.

-- The value of synchronous_commit for a transaction that another commit waits for. On Citus it stays as configured: an asynchronous commit would
-- be asynchronous on the coordinator alone, and a crash of the coordinator could then lose the record that a two-phase commit was decided.
CREATE OR REPLACE FUNCTION unflushed_commit_mode() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN to_regclass('pg_dist_node') IS NULL THEN 'off' ELSE current_setting('synchronous_commit') END
$$;

-- Deletes files. Of two deletions of a file, the first succeeds. The lock of the rows is taken in the order of ids, as the fold does, to avoid
-- deadlocks. A file goes to the trash if its context has one: its blob is not garbage then, and its bytes still count.
-- The lock and the query of the contexts are separate statements: Citus does not pass locked rows to a part of the statement that
-- reads a reference table.
CREATE OR REPLACE FUNCTION ledger_delete(tenant text, deletions jsonb, OUT refusals jsonb, OUT deleted bigint, OUT freed bigint, OUT trashed int[]) LANGUAGE plpgsql AS $$
DECLARE
  -- The first deletion of each file, by the id of the file. Of equal keys, the last one stays.
  firsts constant jsonb := (SELECT jsonb_object_agg(d->>'file_id', d ORDER BY (d->>'n')::int DESC) FROM jsonb_array_elements(deletions) d);
  ids constant text[] := ARRAY(SELECT jsonb_object_keys(firsts)); kept jsonb; going text[]; contexts text[]; with_trash text[]; binned text[];
  now_at constant timestamptz := clock_timestamp();
BEGIN
  WITH locked AS (SELECT f.file_id, f.context_id, f.quarantined_at, EXISTS (SELECT FROM holds h WHERE h.tenant_id = tenant AND h.file_id = f.file_id) AS on_hold
    FROM files f WHERE f.tenant_id = tenant AND f.file_id = ANY (ids) ORDER BY f.file_id FOR UPDATE OF f)
  SELECT jsonb_object_agg(file_id, CASE WHEN quarantined_at IS NULL THEN 'on_hold' ELSE 'quarantined' END) FILTER (WHERE quarantined_at IS NOT NULL OR on_hold),
    coalesce(array_agg(file_id) FILTER (WHERE quarantined_at IS NULL AND NOT on_hold), '{}'), array_agg(DISTINCT context_id)
  INTO kept, going, contexts FROM locked;
  SELECT coalesce(array_agg(context_id), '{}') INTO with_trash FROM file_contexts WHERE tenant_id = tenant AND context_id = ANY (contexts) AND trash_days > 0;
  IF with_trash <> '{}' THEN
    INSERT INTO trash (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, metadata, uploaded_by, uploaded_by_name,
      download_count, last_downloaded_at, created_at, updated_at, deleted_at, deleted_by, deleted_by_type)
    SELECT file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, metadata, uploaded_by, uploaded_by_name,
      download_count, last_downloaded_at, created_at, updated_at, now_at, firsts->file_id->>'deleted_by', firsts->file_id->>'deleted_by_type'
    FROM files WHERE tenant_id = tenant AND file_id = ANY (going) AND context_id = ANY (with_trash);
  END IF;
  WITH gone AS (DELETE FROM files f WHERE f.tenant_id = tenant AND f.file_id = ANY (going)
    RETURNING f.file_id, f.context_id, f.uploaded_by, f.content_type, f.size_bytes, f.blob_path),
  final AS (SELECT * FROM gone WHERE context_id <> ALL (with_trash)),
  reports AS (DELETE FROM validation_reports r USING final w WHERE r.tenant_id = tenant AND r.file_id = w.file_id),
  garbage AS (INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT tenant, blob_path, now() FROM final
    ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = excluded.due_at),
  grouped AS (UPDATE file_groups g SET files = g.files - w.files FROM (SELECT context_id, uploaded_by, content_type, count(*) AS files FROM gone GROUP BY 1, 2, 3) w
    WHERE g.tenant_id = tenant AND g.context_id = w.context_id AND g.uploaded_by = w.uploaded_by AND g.content_type = w.content_type),
  totals AS (UPDATE file_totals t SET files = t.files - w.files, bytes = t.bytes - w.bytes
    FROM (SELECT g.context_id, count(*) AS files, coalesce(sum(g.size_bytes) FILTER (WHERE g.context_id <> ALL (with_trash)), 0)::bigint AS bytes FROM gone g GROUP BY 1) w
    WHERE t.tenant_id = tenant AND t.context_id = w.context_id)
  SELECT count(*), coalesce(sum(size_bytes) FILTER (WHERE context_id <> ALL (with_trash)), 0), array_agg(file_id) FILTER (WHERE context_id = ANY (with_trash))
  INTO deleted, freed, binned FROM gone;
  trashed := (SELECT array_agg((firsts->id->>'n')::int) FROM unnest(binned) id);
  refusals := (SELECT coalesce(jsonb_agg(jsonb_build_object('n', d.n, 'why', coalesce(kept->>d.file_id, 'no_file'))), '[]')
    FROM jsonb_to_recordset(deletions) AS d(n int, file_id text) WHERE d.file_id <> ALL (going) OR d.n <> (firsts->d.file_id->>'n')::int);
END $$;

-- As in the baseline, except for the commit mode.
CREATE OR REPLACE PROCEDURE ledger_groups(groups jsonb, patience text, INOUT answers jsonb) LANGUAGE plpgsql AS $$
DECLARE
  tenant text; said jsonb; id bigint; gives_up boolean; faulty boolean; commit_mode constant text := unflushed_commit_mode();
BEGIN
  FOR i IN 0 .. jsonb_array_length(groups) - 1 LOOP
    PERFORM set_config('synchronous_commit', commit_mode, true), set_config('lock_timeout', patience, true);
    tenant := groups->i->>'tenant';
    said := NULL;
    id := NULL;
    faulty := false;
    -- A large group waits for the lock itself: storing, merging and reading it again would cost more than the wait.
    IF (groups->i->'moves'->>'entries')::int > 64 OR ledger_leads(tenant) THEN
      BEGIN
        PERFORM FROM tenant_heads WHERE tenant_id = tenant FOR UPDATE;
        said := ledger_move_all(tenant, groups->i->'moves');
      EXCEPTION
        WHEN lock_not_available THEN said := '{"left": true}';
        WHEN OTHERS THEN said := '{"again": true}';
      END;
    ELSE
      INSERT INTO pending_moves (tenant_id, moves) VALUES (tenant, groups->i->'moves') RETURNING pending_id INTO id;
    END IF;
    COMMIT;
    gives_up := false;
    FOR attempt IN 1 .. 1000 LOOP
      EXIT WHEN said IS NOT NULL;
      PERFORM set_config('synchronous_commit', commit_mode, true), set_config('lock_timeout', patience, true);
      -- Granted to all waiting replicas when the leader commits.
      BEGIN
        PERFORM pg_advisory_xact_lock_shared(hashtextextended(tenant, 4207005));
      EXCEPTION WHEN lock_not_available THEN
        gives_up := true;
      END;
      COMMIT;
      PERFORM set_config('synchronous_commit', commit_mode, true), set_config('lock_timeout', patience, true);
      BEGIN
        said := ledger_settled(tenant, id, gives_up);
      EXCEPTION
        WHEN lock_not_available THEN gives_up := true;
        WHEN SQLSTATE 'AS002' THEN RAISE;
        WHEN OTHERS THEN gives_up := true; faulty := true;
      END;
      COMMIT;
      -- Another replica leads, or is just checking.
      PERFORM pg_sleep(0.0005) WHERE said IS NULL;
    END LOOP;
    IF said IS NULL THEN
      RAISE 'The pending group could not be withdrawn.';
    END IF;
    answers := answers || (CASE WHEN faulty AND said ? 'left' THEN '{"again": true}' ELSE said END || jsonb_build_object('tenant', tenant));
  END LOOP;
  -- This commit is synchronous, and so waits for all commits above.
  PERFORM setval('wal_flush', 1);
END $$;

CREATE OR REPLACE FUNCTION reserve_upload_bytes(tenant text, upload text, token text, added bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  room jsonb;
  reserved boolean := false;
BEGIN
  -- The statement that adds the part waits for the disk, and requires this reservation.
  PERFORM set_config('synchronous_commit', unflushed_commit_mode(), true);
  PERFORM set_config('lock_timeout', '5s', true);
  INSERT INTO upload_guards (tenant_id) VALUES (tenant) ON CONFLICT (tenant_id) DO NOTHING;
  PERFORM FROM upload_guards WHERE tenant_id = tenant FOR UPDATE;
  room := upload_room(tenant, upload);
  IF (room->'tenant'->>'stored')::bigint + (room->'tenant'->>'unfinished')::bigint + added <= (room->'tenant'->>'quota')::bigint
    AND ((room->'context'->>'stored')::bigint + (room->'context'->>'unfinished')::bigint + added <= (room->'context'->>'quota')::bigint) IS NOT FALSE THEN
    UPDATE resumable_uploads SET incoming_bytes = added
    WHERE tenant_id = tenant AND upload_id = upload AND lease_token = token AND decided_at IS NULL AND expires_at > now()
    RETURNING true INTO reserved;
  END IF;
  RETURN room || jsonb_build_object('reserved', reserved);
END $$;

-- As in the baseline, except for the counters of audit entries: no function that is only STABLE in CASE.
CREATE OR REPLACE FUNCTION ledger_move(tenant text, moves jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  head tenant_heads; owner tenants; quota bigint; refusals jsonb := '[]'; rejected jsonb; removed record; trashed int[]; crossed boolean := false;
BEGIN
  SELECT * INTO head FROM tenant_heads WHERE tenant_id = tenant FOR UPDATE;
  IF NOT FOUND THEN
    RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('n', n, 'why', 'no_tenant')), '[]') FROM generate_series(0, (moves->>'entries')::int - 1) n);
  END IF;
  SELECT * INTO owner FROM tenants WHERE tenant_id = tenant;
  quota := owner.storage_quota_mb * 1048576::bigint;

  IF moves ? 'answers' THEN
    -- A response is stored once, by the holder of the lease.
    SELECT coalesce(jsonb_agg(jsonb_build_object('n', a.n, 'why', 'answered')), '[]') INTO refusals
    FROM jsonb_to_recordset(moves->'answers') AS a(n int, actor_id text, key text, token text)
    WHERE NOT EXISTS (SELECT 1 FROM idempotency_keys i WHERE i.tenant_id = tenant AND i.actor_id = a.actor_id AND i.key = a.key AND i.lease_token = a.token FOR UPDATE);
    IF refusals <> '[]' THEN moves := ledger_reject(tenant, moves, refusals); END IF;
  END IF;
  IF moves ? 'deletions' THEN
    SELECT * INTO removed FROM ledger_delete(tenant, moves->'deletions');
    head.files := head.files - removed.deleted;
    head.bytes := head.bytes - removed.freed;
    trashed := removed.trashed;
    rejected := removed.refusals;
  END IF;
  IF moves ? 'uploads' THEN
    rejected := coalesce(rejected, '[]') || ledger_check_uploads(owner, moves->'uploads', head.bytes);
  END IF;
  IF rejected <> '[]' THEN
    refusals := refusals || rejected;
    moves := ledger_reject(tenant, moves, rejected);
  END IF;

  IF moves ? 'uploads' THEN
    INSERT INTO files (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, metadata, uploaded_by, uploaded_by_name, created_at, updated_at, traits)
    SELECT file_id, tenant, context_id, original_filename, content_type, size_bytes, checksum, blob_path, metadata, uploaded_by, uploaded_by_name, created_at, created_at, report_traits(report)
    FROM jsonb_to_recordset(moves->'uploads') AS u(file_id text, context_id text, original_filename text, content_type text, size_bytes bigint, checksum text, blob_path text, metadata jsonb,
      uploaded_by text, uploaded_by_name text, created_at timestamptz, report jsonb);
    INSERT INTO validation_reports (tenant_id, file_id, validated_at, report)
    SELECT tenant, file_id, validated_at, report FROM jsonb_to_recordset(moves->'uploads') AS u(file_id text, validated_at timestamptz, report jsonb);
    INSERT INTO file_groups AS g (tenant_id, context_id, uploaded_by, content_type, files)
    SELECT tenant, context_id, uploaded_by, content_type, count(*) FROM jsonb_to_recordset(moves->'uploads') AS u(context_id text, uploaded_by text, content_type text)
    GROUP BY 2, 3, 4 ON CONFLICT (tenant_id, context_id, uploaded_by, content_type) DO UPDATE SET files = g.files + excluded.files;
    WITH gained AS (SELECT context_id, count(*) AS files, sum(size_bytes)::bigint AS bytes FROM jsonb_to_recordset(moves->'uploads') AS u(context_id text, size_bytes bigint) GROUP BY 1),
    totals AS (UPDATE file_totals t SET files = t.files + g.files, bytes = t.bytes + g.bytes FROM gained g WHERE t.tenant_id = tenant AND t.context_id = g.context_id
      RETURNING t.context_id, t.bytes, g.files AS added_files, g.bytes AS added_bytes)
    SELECT head.files + coalesce(sum(t.added_files), 0), head.bytes + coalesce(sum(t.added_bytes), 0),
      coalesce(bool_or(ledger_threshold(t.bytes, c.storage_quota_mb * 1048576::bigint) <> c.quota_level), false)
    INTO head.files, head.bytes, crossed FROM totals t JOIN file_contexts c ON c.tenant_id = tenant AND c.context_id = t.context_id;
  END IF;
  IF moves ? 'calls' THEN
    INSERT INTO call_logs (call_id, tenant_id, api_key_id, api_key_name, operation, status, file_id, context_key, error_code, error_message, validation, ip_address, user_agent, created_at)
    SELECT call_id, tenant, api_key_id, api_key_name, operation, status, file_id, context_key, error_code, error_message, validation, ip_address, user_agent, created_at
    FROM jsonb_populate_recordset(NULL::call_logs, moves->'calls');
  END IF;
  IF moves ? 'usage' THEN
    INSERT INTO usage_deltas (tenant_id, api_key_id, context_id, hour, upload_success, upload_failure, download_success, download_failure, metadata_success, metadata_failure,
      delete_success, delete_failure, files_uploaded, bytes_uploaded, files_deleted, bytes_deleted, downloads, bytes_downloaded)
    SELECT tenant, d.api_key_id, d.context_id, d.hour, sum(upload_success), sum(upload_failure), sum(download_success), sum(download_failure), sum(metadata_success), sum(metadata_failure),
      sum(delete_success), sum(delete_failure), sum(files_uploaded), sum(bytes_uploaded), sum(files_deleted), sum(CASE WHEN (r->>'n')::int = ANY (trashed) THEN 0 ELSE bytes_deleted END),
      sum(downloads), sum(bytes_downloaded)
    FROM jsonb_array_elements(moves->'usage') r CROSS JOIN LATERAL jsonb_populate_record(NULL::usage_deltas, r) d GROUP BY 2, 3, 4;
  END IF;
  IF moves ? 'blocked' THEN
    -- By column name, so that a new block reason needs no new function.
    INSERT INTO usage_deltas SELECT d.* FROM jsonb_array_elements(moves->'blocked') r
      CROSS JOIN LATERAL jsonb_populate_record(NULL::usage_deltas, r || jsonb_build_object('tenant_id', tenant, 'delta_id', nextval('usage_deltas_delta_id_seq'))) d;
  END IF;
  IF moves ? 'audit' THEN
    INSERT INTO audit_logs (audit_id, tenant_id, audit_type, action, entity_type, entity_id, entity_name, performed_by_id, performed_by_name, performed_by_email,
      performed_by_type, performed_by_scopes, details, ip_address, user_agent, created_at)
    SELECT audit_id, tenant, audit_type, action, entity_type, entity_id, entity_name, performed_by_id, performed_by_name, performed_by_email,
      performed_by_type, performed_by_scopes, details, ip_address, user_agent, created_at FROM jsonb_populate_recordset(NULL::audit_logs, moves->'audit');
    INSERT INTO audit_counters AS c (tenant_id, grain, bucket, audit_type, action, entries)
    SELECT tenant, g.grain, g.bucket, a.audit_type, a.action, count(*)
    FROM jsonb_to_recordset(moves->'audit') AS a(audit_type text, action text, created_at timestamptz)
      CROSS JOIN LATERAL (VALUES ('hour', date_trunc('hour', a.created_at, 'UTC')), ('day', date_trunc('day', a.created_at, 'UTC')), ('total', to_timestamp(0))) AS g(grain, bucket)
    GROUP BY 2, 3, 4, 5
    ON CONFLICT (tenant_id, grain, bucket, audit_type, action) DO UPDATE SET entries = c.entries + excluded.entries;
  END IF;
  IF moves ? 'answers' THEN
    UPDATE idempotency_keys i SET response = a.response, lease_token = NULL
    FROM jsonb_to_recordset(moves->'answers') AS a(actor_id text, key text, response jsonb) WHERE i.tenant_id = tenant AND i.actor_id = a.actor_id AND i.key = a.key;
  END IF;

  -- An upload has one audit entry. Any other audited change may have changed a quota.
  IF crossed OR moves ? 'deletions' OR jsonb_array_length(moves->'audit') > coalesce(jsonb_array_length(moves->'uploads'), 0)
    OR moves ?| '{uploads, audit}' AND ledger_threshold(head.bytes, quota) <> head.quota_level THEN
    moves := ledger_thresholds(tenant, moves, head.bytes, quota, head.quota_level);
    head.quota_level := ledger_threshold(head.bytes, quota);
  END IF;
  IF jsonb_array_length(moves->'events') > 0 THEN
    head := journal_append(head, moves->'events');
  END IF;
  IF moves ?| '{uploads, deletions, audit, events}' THEN
    UPDATE tenant_heads SET files = head.files, bytes = head.bytes, journal_length = head.journal_length, journal_frontier = head.journal_frontier,
      journal_at = head.journal_at, quota_level = head.quota_level WHERE tenant_id = tenant;
  END IF;
  RETURN refusals;
END $$;

-- As in the baseline, except that the answers are computed before the statement that stores them.
CREATE OR REPLACE FUNCTION ledger_move_all(tenant text, own jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  own_entries int := (own->>'entries')::int; ids bigint[]; firsts int[]; total int; merged jsonb; refusals jsonb; answers jsonb[];
BEGIN
  PERFORM FROM pending_moves WHERE tenant_id = tenant AND answer IS NULL LIMIT 1;
  IF NOT FOUND THEN
    RETURN jsonb_build_object('refusals', ledger_move(tenant, own), 'others', 0);
  END IF;
  WITH pending AS (SELECT pending_id, (moves->>'entries')::int AS entries FROM pending_moves
    WHERE tenant_id = tenant AND answer IS NULL AND created_at > clock_timestamp() - interval '15 s' ORDER BY pending_id LIMIT 32 FOR UPDATE SKIP LOCKED),
  placed AS (SELECT pending_id, entries, own_entries + sum(entries) OVER (ORDER BY pending_id) - entries AS first FROM pending)
  SELECT array_agg(pending_id ORDER BY pending_id), array_agg(first ORDER BY pending_id), max(first + entries) INTO ids, firsts, total
  FROM placed WHERE first < 1024 OR pending_id = (SELECT min(pending_id) FROM placed);
  IF ids IS NULL THEN
    RETURN jsonb_build_object('refusals', ledger_move(tenant, own), 'others', 0);
  END IF;

  WITH groups AS (SELECT 0 AS first, own AS moves
    UNION ALL SELECT i.first, p.moves FROM unnest(ids, firsts) AS i(id, first) JOIN pending_moves p ON p.tenant_id = tenant AND p.pending_id = i.id),
  kinds AS (SELECT k.kind, jsonb_agg(CASE WHEN g.first = 0 THEN r ELSE r || jsonb_build_object('n', (r->>'n')::int + g.first) END ORDER BY g.first, place) AS rows
    FROM groups g, jsonb_each(g.moves - 'entries') AS k(kind, list), jsonb_array_elements(k.list) WITH ORDINALITY AS l(r, place) GROUP BY k.kind)
  SELECT jsonb_object_agg(kind, rows) || jsonb_build_object('entries', total) INTO merged FROM kinds;
  BEGIN
    refusals := ledger_move(tenant, merged);
  EXCEPTION WHEN OTHERS THEN
    UPDATE pending_moves SET answer = '{"again": true}' WHERE tenant_id = tenant AND pending_id = ANY (ids);
    RETURN jsonb_build_object('refusals', ledger_move(tenant, own), 'others', cardinality(ids));
  END;
  answers := ARRAY(SELECT jsonb_build_object('others', cardinality(ids), 'refusals', coalesce((
      SELECT jsonb_agg(r || jsonb_build_object('n', (r->>'n')::int - g.first)) FROM jsonb_array_elements(refusals) r
      WHERE (r->>'n')::int >= g.first AND (r->>'n')::int < g.beyond), '[]'))
    FROM (SELECT f AS first, lead(f, 1, total) OVER (ORDER BY f) AS beyond FROM unnest(firsts) f) g ORDER BY g.first);
  UPDATE pending_moves p SET answer = a.answer FROM unnest(ids, answers) AS a(id, answer) WHERE p.tenant_id = tenant AND p.pending_id = a.id;
  RETURN jsonb_build_object('others', cardinality(ids), 'refusals',
    (SELECT coalesce(jsonb_agg(r), '[]') FROM jsonb_array_elements(refusals) r WHERE (r->>'n')::int < own_entries));
END $$;
