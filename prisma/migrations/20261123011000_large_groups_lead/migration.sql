-- A large group gains nothing by being left to another ledger, which would store, merge and read it again: it waits for the tenant's lock itself.
DO $do$
DECLARE
  body text := pg_get_functiondef('ledger_groups_1(jsonb, text, jsonb)'::regprocedure);
  asked constant text := 'IF ledger_leads_2(tenant) THEN';
BEGIN
  IF position(asked IN body) = 0 THEN
    RAISE EXCEPTION 'ledger_groups_1 has no "%".', asked;
  END IF;
  EXECUTE replace(body, asked, $$IF (groups->i->'moves'->>'entries')::int > 64 OR ledger_leads_2(tenant) THEN$$);
END $do$;
