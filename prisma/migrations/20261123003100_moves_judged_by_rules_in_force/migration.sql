-- An upload says which rules it was judged by, and is refused where the context has others by the time it is committed: so a process may
-- judge by what it remembers of a context. What a replica of the version before sends says nothing of them, and is held against none.
DO $do$
DECLARE
  body text := pg_get_functiondef('ledger_move_3(text, jsonb)'::regprocedure);
  change text[];
BEGIN
  FOREACH change SLICE 1 IN ARRAY ARRAY[
    [$$c.quota_level, t.bytes AS context_held,$$,
     $$c.quota_level, c.rules_version AS version_now, c.updated_at AS changed_at, t.bytes AS context_held,$$],
    [$$blob_path text, uploaded_by text, uploader_kind text)$$,
     $$blob_path text, uploaded_by text, uploader_kind text, rules_version int, rules_at timestamptz)$$],
    [$$WHEN upload.uploader_status IS DISTINCT FROM 'active'$$,
     $$WHEN upload.rules_version <> upload.version_now OR upload.rules_at <> upload.changed_at THEN '{"why": "rules"}'
        WHEN upload.uploader_status IS DISTINCT FROM 'active'$$]]
  LOOP
    IF position(change[1] IN body) = 0 THEN
      RAISE EXCEPTION 'ledger_move_3 has no "%".', change[1];
    END IF;
    body := replace(body, change[1], change[2]);
  END LOOP;
  EXECUTE body;
END $do$;
