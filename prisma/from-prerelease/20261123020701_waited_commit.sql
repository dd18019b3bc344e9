-- Some managed databases reject pg_logical_emit_message. setval writes to the log as well, so a commit with it waits until the log is
-- durable. It holds no lock until the commit, so that concurrent commits still share one flush.
CREATE SEQUENCE "wal_flush";
DO $do$
DECLARE
  body text := pg_get_functiondef('ledger_groups_1(jsonb, text, jsonb)'::regprocedure);
  replaced constant text := $$pg_logical_emit_message(true, 'ledger', '')$$;
BEGIN
  IF position(replaced IN body) = 0 THEN
    RAISE EXCEPTION 'ledger_groups_1 has no "%".', replaced;
  END IF;
  EXECUTE replace(body, replaced, $$setval('wal_flush', 1)$$);
END $do$;
