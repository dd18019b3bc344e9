-- Adopted files: objects that another program stored, and that become blobs in place. The flag `adopted` of an upload marks them.

-- As before, except for adopted files. Their paths have no reservation. An adopted file is accepted only if no other file has its path, and if no
-- sweep is due to delete it.
CREATE OR REPLACE FUNCTION ledger_check_files(owner tenants, uploads jsonb, held bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  quota constant bigint := owner.storage_quota_mb * 1048576::bigint; claimed text[]; upload record;
  adopted constant text[] := ARRAY(SELECT u->>'blob_path' FROM jsonb_array_elements(uploads) u WHERE u @> '{"adopted": true}'); used text[]; added jsonb := '{}'; context_held bigint; why jsonb; refusals jsonb := '[]';
BEGIN
  WITH leases AS (DELETE FROM blob_garbage g WHERE g.tenant_id = owner.tenant_id AND NOT g.taken
    AND g.blob_path = ANY (ARRAY(SELECT u->>'blob_path' FROM jsonb_array_elements(uploads) u WHERE NOT u @> '{"adopted": true}')) RETURNING g.blob_path)
  SELECT array_agg(blob_path) INTO claimed FROM leases;
  IF adopted <> '{}' THEN
    SELECT array_agg(blob_path) INTO used FROM (SELECT blob_path FROM files WHERE tenant_id = owner.tenant_id AND blob_path = ANY (adopted)
      UNION ALL SELECT blob_path FROM trash WHERE tenant_id = owner.tenant_id AND blob_path = ANY (adopted)
      UNION ALL SELECT blob_path FROM blob_garbage WHERE tenant_id = owner.tenant_id AND blob_path = ANY (adopted)) u;
    claimed := claimed || ARRAY(SELECT path FROM unnest(adopted) path WHERE path <> ALL (coalesce(used, '{}')));
  END IF;
  FOR upload IN
    SELECT u.n, u.context_id, u.size_bytes, c.storage_quota_mb * 1048576::bigint AS quota, t.bytes AS held, CASE
        WHEN u.blob_path = ANY (claimed) IS NOT TRUE THEN '{"why": "swept"}'
        WHEN c.context_id IS NULL OR t.context_id IS NULL THEN '{"why": "no_context"}'
        WHEN u.rules_version <> c.rules_version OR u.rules_at <> c.updated_at THEN '{"why": "rules"}'
        WHEN CASE u.uploader_kind WHEN 'api_key' THEN k.status WHEN 'user' THEN s.status ELSE 'active' END IS DISTINCT FROM 'active' THEN '{"why": "inactive"}'
        WHEN owner.status <> 'active' THEN '{"why": "suspended"}'
        WHEN c.status <> 'active' THEN jsonb_build_object('why', 'disabled', 'status', c.status) END AS why
    FROM jsonb_to_recordset(uploads) AS u(n int, context_id text, size_bytes bigint, blob_path text, uploaded_by text, uploader_kind text, rules_version int, rules_at timestamptz)
      LEFT JOIN file_contexts c ON c.tenant_id = owner.tenant_id AND c.context_id = u.context_id
      LEFT JOIN file_totals t ON t.tenant_id = owner.tenant_id AND t.context_id = u.context_id
      LEFT JOIN api_keys k ON u.uploader_kind = 'api_key' AND k.tenant_id = owner.tenant_id AND k.api_key_id = u.uploaded_by
      LEFT JOIN users s ON u.uploader_kind = 'user' AND s.tenant_id = owner.tenant_id AND s.user_id = u.uploaded_by
    ORDER BY u.n
  LOOP
    context_held := upload.held + coalesce((added->>upload.context_id)::bigint, 0);
    why := coalesce(upload.why, CASE
      WHEN upload.size_bytes = 0 THEN NULL
      WHEN context_held + upload.size_bytes > upload.quota THEN jsonb_build_object('why', 'context_quota', 'quota', upload.quota, 'held', context_held)
      WHEN held + upload.size_bytes > quota THEN jsonb_build_object('why', 'tenant_quota', 'quota', quota, 'held', held) END);
    IF why IS NULL THEN
      held := held + upload.size_bytes;
      added := added || jsonb_build_object(upload.context_id, context_held + upload.size_bytes - upload.held);
    ELSE
      refusals := refusals || (why || jsonb_build_object('n', upload.n));
    END IF;
  END LOOP;
  RETURN refusals;
END $$;

-- As before, except that the object of a rejected adoption is never deleted.
CREATE OR REPLACE FUNCTION ledger_reject(tenant text, moves jsonb, refusals jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  rejected constant int[] := ARRAY(SELECT (r->>'n')::int FROM jsonb_array_elements(refusals) r);
BEGIN
  INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT tenant, u.blob_path, now() FROM jsonb_to_recordset(moves->'uploads') AS u(n int, blob_path text, adopted boolean)
  WHERE u.n = ANY (rejected) AND u.adopted IS NOT TRUE ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = excluded.due_at, taken = false;
  RETURN moves || (SELECT jsonb_object_agg(kind, (SELECT coalesce(jsonb_agg(e ORDER BY place), '[]')
      FROM jsonb_array_elements(list) WITH ORDINALITY AS l(e, place) WHERE (e->>'n')::int <> ALL (rejected)))
    FROM jsonb_each(moves - 'entries') AS k(kind, list));
END $$;
