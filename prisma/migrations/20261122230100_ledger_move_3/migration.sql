-- What moves the files of one tenant, or is audited, once more: with its events in the tenant's journal, and with what keeps a file from
-- being deleted. `ledger_move_1` and `ledger_move_2` stay for replicas of the version before; what those write is in no journal.

-- The frontier of a log (RFC 6962) behind these leaves: the roots of the complete trees that its leaves make, largest first. Each subtree
-- of 256^level leaves that one of them completes is kept.
CREATE FUNCTION journal_grown_3(tenant text, length bigint, frontier bytea[], leaves bytea[]) RETURNS bytea[] LANGUAGE plpgsql AS $$
DECLARE
  node bytea;
  place bigint;
  height int;
BEGIN
  FOREACH node IN ARRAY leaves LOOP
    place := length;
    height := 0;
    WHILE place & 1 = 1 LOOP
      node := sha256('\x01'::bytea || frontier[cardinality(frontier)] || node);
      frontier := frontier[:cardinality(frontier) - 1];
      place := place >> 1;
      height := height + 1;
      IF height & 7 = 0 THEN
        INSERT INTO journal_nodes (tenant_id, level, place, hash) VALUES (tenant, height >> 3, place, node);
      END IF;
    END LOOP;
    frontier := array_append(frontier, node);
    length := length + 1;
  END LOOP;
  RETURN frontier;
END $$;

-- The highest threshold that `held` has reached, in percent; 0 where none.
CREATE FUNCTION ledger_threshold_3(held bigint, quota bigint) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
  SELECT (CASE WHEN held >= quota THEN 100 WHEN held * 100 >= quota::numeric * 95 THEN 95 WHEN held * 100 >= quota::numeric * 80 THEN 80 ELSE 0 END)::smallint
$$;

-- The id of an event that the database itself finds: a ULID, as those of the service are.
CREATE FUNCTION new_event_id_3() RETURNS text LANGUAGE sql VOLATILE AS $$
  WITH now AS (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms, sha256(uuid_send(gen_random_uuid())) AS random)
  SELECT 'evt_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + CASE WHEN p < 10 THEN ((ms >> (45 - 5 * p)) & 31)::int ELSE get_byte(random, p - 10) & 31 END, 1), '' ORDER BY p)
  FROM now, generate_series(0, 25) p
$$;

-- The group with an event for each threshold (80, 95, 100 %) that the tenant or a context of its events has reached since the last time;
-- one that is left again can be reached again.
CREATE FUNCTION ledger_thresholds_3(tenant text, moves jsonb, held bigint, quota bigint, before smallint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  one record;
  level smallint;
  events jsonb := '[]';
  performed constant text := ',"performed_by_id":"system","performed_by_type":"system","quota_mb":';
BEGIN
  FOR one IN
    SELECT c.context_id, c.context_key, c.storage_quota_mb::bigint AS quota_mb, coalesce(t.bytes, 0) AS bytes, c.quota_level,
      ledger_threshold_3(coalesce(t.bytes, 0), c.storage_quota_mb * 1048576::bigint) AS reached
    FROM file_contexts c LEFT JOIN file_totals t ON t.tenant_id = tenant AND t.context_id = c.context_id
    WHERE c.tenant_id = tenant AND c.context_key IN (SELECT e.context_key FROM jsonb_to_recordset(moves->'events') AS e(context_key text))
    ORDER BY c.context_id
  LOOP
    CONTINUE WHEN one.reached = one.quota_level;
    FOREACH level IN ARRAY '{80, 95, 100}'::smallint[] LOOP
      CONTINUE WHEN level <= one.quota_level OR level > one.reached;
      events := events || jsonb_build_object('event_id', new_event_id_3(), 'type', 'quota.threshold', 'subject', one.context_id, 'context_key', one.context_key, 'data',
        '{"context_id":' || to_json(one.context_id)::text || ',"context_key":' || to_json(one.context_key)::text || ',"percent":' || level || performed || one.quota_mb || ',"used_bytes":' || one.bytes || '}');
    END LOOP;
    UPDATE file_contexts SET quota_level = one.reached WHERE tenant_id = tenant AND context_id = one.context_id;
  END LOOP;
  FOREACH level IN ARRAY '{80, 95, 100}'::smallint[] LOOP
    CONTINUE WHEN level <= before OR level > ledger_threshold_3(held, quota);
    events := events || jsonb_build_object('event_id', new_event_id_3(), 'type', 'quota.threshold', 'subject', tenant, 'data',
      '{"percent":' || level || performed || quota / 1048576 || ',"tenant_id":' || to_json(tenant)::text || ',"used_bytes":' || held || '}');
  END LOOP;
  IF events = '[]' THEN
    RETURN moves;
  END IF;
  -- Behind those of the group.
  RETURN moves || jsonb_build_object('events', coalesce(moves->'events', '[]') || (SELECT jsonb_agg(e || '{"n": 2147483647}') FROM jsonb_array_elements(events) e));
END $$;

-- A group of entries, judged in order under the tenant's lock, and written. `moves` has arrays of rows, each with `n`, the place of its
-- entry in the group. Gives the entries that were refused, each with the facts that say why; nothing of them is written.
CREATE FUNCTION ledger_move_3(tenant text, moves jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
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
  leaves bytea[];
  at timestamptz(3);
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
    DELETE FROM blob_garbage WHERE tenant_id = tenant AND blob_path IN (SELECT u.blob_path FROM jsonb_to_recordset(moves->'uploads') AS u(blob_path text));
    -- The blob of a file in the trash is no garbage, and its bytes are still held.
    INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT tenant, blob_path, now() FROM jsonb_to_recordset(moves->'deletions') AS d(n int, blob_path text)
    WHERE trashed IS NULL OR d.n <> ALL (trashed) ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = now();
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

  IF moves ?| '{uploads, deletions, audit}' THEN
    SELECT storage_quota_mb * 1048576::bigint INTO quota FROM tenants WHERE tenant_id = tenant;
    moves := ledger_thresholds_3(tenant, moves, held, quota, head.quota_level);
    head.quota_level := ledger_threshold_3(held, quota);
  END IF;
  IF jsonb_array_length(moves->'events') > 0 THEN
    -- The tenant's lock is held until the commit: numbers follow each other in the order of commits, and none is missing.
    at := greatest(date_trunc('milliseconds', clock_timestamp()), head.journal_at);
    WITH numbered AS (
      SELECT head.journal_length + row_number() OVER (ORDER BY e.n, e.place) AS sequence, e.* FROM ROWS FROM (jsonb_to_recordset(moves->'events')
        AS (n int, event_id text, type text, subject text, context_key text, data text, checks jsonb)) WITH ORDINALITY AS e(n, event_id, type, subject, context_key, data, checks, place)),
    written AS (
      SELECT n.*, '{"data":' || data || ',"event_id":"' || event_id || '","occurred_at":"' || to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
        || '","sequence":' || sequence || ',"type":"' || type || '"}' AS entry FROM numbered n),
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

-- As of ledger_move_2, whose lock is the same: one ledger at a time leads for a tenant, of either version. Each takes along only what
-- was left pending for its own version, so that nothing of this one is moved without its events.
ALTER TABLE "pending_moves" ADD COLUMN "version" SMALLINT NOT NULL DEFAULT 2;
CREATE OR REPLACE FUNCTION ledger_move_all_2(tenant text, own jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  own_entries int := (own->>'entries')::int;
  ids bigint[];
  firsts int[];
  total int;
  merged jsonb;
  refusals jsonb;
BEGIN
  WITH pending AS (SELECT pending_id, (moves->>'entries')::int AS entries FROM pending_moves
    WHERE tenant_id = tenant AND answer IS NULL AND version = 2 AND created_at > clock_timestamp() - interval '15 s' ORDER BY pending_id LIMIT 32 FOR UPDATE SKIP LOCKED),
  placed AS (SELECT pending_id, entries, own_entries + sum(entries) OVER (ORDER BY pending_id) - entries AS first FROM pending)
  SELECT array_agg(pending_id ORDER BY pending_id), array_agg(first ORDER BY pending_id), max(first + entries) INTO ids, firsts, total
  FROM placed WHERE first < 1024 OR pending_id = (SELECT min(pending_id) FROM placed);
  IF ids IS NULL THEN
    RETURN jsonb_build_object('refusals', ledger_move_1(tenant, own), 'others', 0);
  END IF;

  WITH groups AS (SELECT 0 AS first, own AS moves
    UNION ALL SELECT i.first, p.moves FROM unnest(ids, firsts) AS i(id, first) JOIN pending_moves p ON p.tenant_id = tenant AND p.pending_id = i.id),
  kinds AS (SELECT k.kind, jsonb_agg(CASE WHEN g.first = 0 THEN r ELSE r || jsonb_build_object('n', (r->>'n')::int + g.first) END ORDER BY g.first) AS rows
    FROM groups g, jsonb_each(g.moves - 'entries') AS k(kind, list), jsonb_array_elements(k.list) r GROUP BY k.kind)
  SELECT jsonb_object_agg(kind, rows) || jsonb_build_object('entries', total) INTO merged FROM kinds;
  BEGIN
    refusals := ledger_move_1(tenant, merged);
  EXCEPTION WHEN OTHERS THEN
    UPDATE pending_moves SET answer = '{"again": true}' WHERE tenant_id = tenant AND pending_id = ANY (ids);
    RETURN jsonb_build_object('refusals', ledger_move_1(tenant, own), 'others', cardinality(ids));
  END;
  UPDATE pending_moves p SET answer = jsonb_build_object('others', cardinality(ids), 'refusals', coalesce((
      SELECT jsonb_agg(r || jsonb_build_object('n', (r->>'n')::int - i.first)) FROM jsonb_array_elements(refusals) r
      WHERE (r->>'n')::int >= i.first AND (r->>'n')::int < i.first + (p.moves->>'entries')::int), '[]'))
  FROM unnest(ids, firsts) AS i(id, first) WHERE p.tenant_id = tenant AND p.pending_id = i.id;
  RETURN jsonb_build_object('others', cardinality(ids), 'refusals',
    (SELECT coalesce(jsonb_agg(r), '[]') FROM jsonb_array_elements(refusals) r WHERE (r->>'n')::int < own_entries));
END $$;

CREATE FUNCTION ledger_gather_3(tenant text, expected int, most_ms int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  until timestamptz := clock_timestamp() + most_ms * interval '1 ms';
BEGIN
  WHILE clock_timestamp() < until AND (SELECT count(*) FROM (SELECT FROM pending_moves WHERE tenant_id = tenant AND answer IS NULL AND version = 3 LIMIT expected) p) < expected LOOP
    PERFORM pg_sleep(0.001);
  END LOOP;
END $$;

CREATE FUNCTION ledger_move_all_3(tenant text, own jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  own_entries int := (own->>'entries')::int;
  ids bigint[];
  firsts int[];
  total int;
  merged jsonb;
  refusals jsonb;
BEGIN
  WITH pending AS (SELECT pending_id, (moves->>'entries')::int AS entries FROM pending_moves
    WHERE tenant_id = tenant AND answer IS NULL AND version = 3 AND created_at > clock_timestamp() - interval '15 s' ORDER BY pending_id LIMIT 32 FOR UPDATE SKIP LOCKED),
  placed AS (SELECT pending_id, entries, own_entries + sum(entries) OVER (ORDER BY pending_id) - entries AS first FROM pending)
  SELECT array_agg(pending_id ORDER BY pending_id), array_agg(first ORDER BY pending_id), max(first + entries) INTO ids, firsts, total
  FROM placed WHERE first < 1024 OR pending_id = (SELECT min(pending_id) FROM placed);
  IF ids IS NULL THEN
    RETURN jsonb_build_object('refusals', ledger_move_3(tenant, own), 'others', 0);
  END IF;

  WITH groups AS (SELECT 0 AS first, own AS moves
    UNION ALL SELECT i.first, p.moves FROM unnest(ids, firsts) AS i(id, first) JOIN pending_moves p ON p.tenant_id = tenant AND p.pending_id = i.id),
  kinds AS (SELECT k.kind, jsonb_agg(CASE WHEN g.first = 0 THEN r ELSE r || jsonb_build_object('n', (r->>'n')::int + g.first) END ORDER BY g.first, place) AS rows
    FROM groups g, jsonb_each(g.moves - 'entries') AS k(kind, list), jsonb_array_elements(k.list) WITH ORDINALITY AS l(r, place) GROUP BY k.kind)
  SELECT jsonb_object_agg(kind, rows) || jsonb_build_object('entries', total) INTO merged FROM kinds;
  BEGIN
    refusals := ledger_move_3(tenant, merged);
  EXCEPTION WHEN OTHERS THEN
    UPDATE pending_moves SET answer = '{"again": true}' WHERE tenant_id = tenant AND pending_id = ANY (ids);
    RETURN jsonb_build_object('refusals', ledger_move_3(tenant, own), 'others', cardinality(ids));
  END;
  UPDATE pending_moves p SET answer = jsonb_build_object('others', cardinality(ids), 'refusals', coalesce((
      SELECT jsonb_agg(r || jsonb_build_object('n', (r->>'n')::int - i.first)) FROM jsonb_array_elements(refusals) r
      WHERE (r->>'n')::int >= i.first AND (r->>'n')::int < i.first + (p.moves->>'entries')::int), '[]'))
  FROM unnest(ids, firsts) AS i(id, first) WHERE p.tenant_id = tenant AND p.pending_id = i.id;
  RETURN jsonb_build_object('others', cardinality(ids), 'refusals',
    (SELECT coalesce(jsonb_agg(r), '[]') FROM jsonb_array_elements(refusals) r WHERE (r->>'n')::int < own_entries));
END $$;

-- Small groups of several tenants in one commit.
CREATE FUNCTION ledger_moves_3(groups jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  one record;
  answers jsonb := '[]';
  said jsonb;
BEGIN
  PERFORM set_config('lock_timeout', '20ms', true);
  FOR one IN SELECT g->>'tenant' AS tenant, g->'moves' AS moves FROM jsonb_array_elements(groups) g ORDER BY 1 LOOP
    said := '{"left": true}';
    IF ledger_leads_2(one.tenant) THEN
      PERFORM FROM tenant_heads WHERE tenant_id = one.tenant FOR UPDATE SKIP LOCKED;
      IF FOUND OR NOT EXISTS (SELECT FROM tenant_heads WHERE tenant_id = one.tenant) THEN
        BEGIN
          said := ledger_move_all_3(one.tenant, one.moves);
        EXCEPTION WHEN OTHERS THEN
        END;
      END IF;
    END IF;
    answers := answers || (said || jsonb_build_object('tenant', one.tenant));
  END LOOP;
  RETURN answers;
END $$;

-- A group of one tenant: written where no other ledger leads, and else left pending for it.
CREATE FUNCTION ledger_move_or_wait_3(tenant text, moves jsonb, expected int, most_ms int) RETURNS jsonb LANGUAGE plpgsql SET lock_timeout = '1s' AS $$
DECLARE
  id bigint;
BEGIN
  IF ledger_leads_2(tenant) THEN
    PERFORM ledger_gather_3(tenant, expected, most_ms);
    PERFORM FROM tenant_heads WHERE tenant_id = tenant FOR UPDATE;
    RETURN ledger_move_all_3(tenant, moves);
  END IF;
  -- Nothing is promised yet: the disk is not waited for.
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO pending_moves (tenant_id, moves, version) VALUES (tenant, moves, 3) RETURNING pending_id INTO id;
  RETURN jsonb_build_object('pending', id);
END $$;

-- Waits for the ledger that leads. What was pending is answered by then, or is moved now with what others have pending.
CREATE FUNCTION ledger_moved_3(tenant text, id bigint, expected int, most_ms int) RETURNS jsonb LANGUAGE plpgsql SET lock_timeout = '1s' AS $$
DECLARE
  lock bigint := hashtextextended(tenant, 4207005);
  mine record;
BEGIN
  LOOP
    BEGIN
      PERFORM pg_advisory_xact_lock_shared(lock);
      -- Only waited for: undoing this gives it back.
      RAISE EXCEPTION USING ERRCODE = 'AS001';
    EXCEPTION WHEN SQLSTATE 'AS001' THEN
    END;
    SELECT p.answer INTO mine FROM pending_moves p WHERE p.tenant_id = tenant AND p.pending_id = id;
    EXIT WHEN mine.answer IS NOT NULL OR ledger_leads_2(tenant);
    -- Another leads by now, or just looks.
    PERFORM pg_sleep(0.0005);
  END LOOP;
  IF mine.answer IS NULL THEN
    PERFORM ledger_gather_3(tenant, expected + 1, most_ms);
    PERFORM FROM tenant_heads WHERE tenant_id = tenant FOR UPDATE;
  END IF;
  DELETE FROM pending_moves p WHERE p.tenant_id = tenant AND p.pending_id = id RETURNING p.moves, p.answer INTO mine;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  IF mine.answer IS NULL THEN
    RETURN ledger_move_all_3(tenant, mine.moves);
  END IF;
  -- The transaction that wrote the answer is durable: only this row's end is not.
  PERFORM set_config('synchronous_commit', 'off', true);
  RETURN mine.answer;
END $$;
