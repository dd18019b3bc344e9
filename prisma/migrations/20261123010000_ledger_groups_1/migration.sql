-- Groups of several tenants, each moved in a transaction of its own: a tenant's lock is held while its rows are written, and neither while
-- those of another are, nor while the disk (or a standby) is waited for. One wait at the end makes all of them durable; nothing is answered before.
-- Since the log of the database is durable in its order, what is built on a move that is not durable yet is not durable before it.

-- What this ledger left pending: its answer; or it leads by now, and moves all that is pending; null where another leads. Who gives up
-- takes it back: then it is certainly not moved.
CREATE FUNCTION ledger_settled_1(tenant text, id bigint, gives_up boolean) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  mine pending_moves;
  leads boolean := false;
BEGIN
  SELECT * INTO mine FROM pending_moves p WHERE p.tenant_id = tenant AND p.pending_id = id;
  IF FOUND AND mine.answer IS NULL AND NOT gives_up THEN
    leads := ledger_leads_2(tenant);
    IF NOT leads THEN
      RETURN NULL;
    END IF;
    PERFORM FROM tenant_heads WHERE tenant_id = tenant FOR UPDATE;
  END IF;
  DELETE FROM pending_moves p WHERE p.tenant_id = tenant AND p.pending_id = id RETURNING * INTO mine;
  IF NOT FOUND THEN
    RAISE 'What was pending is gone, and it is not known whether it was moved.' USING ERRCODE = 'AS002';
  END IF;
  IF mine.answer IS NOT NULL THEN
    RETURN mine.answer;
  END IF;
  RETURN CASE WHEN leads THEN ledger_move_all_3(tenant, mine.moves) ELSE '{"left": true}' END;
END $$;

-- Gives for each group its refusals; `left` where another transaction kept the tenant's lock longer than `patience`; or `again` where it
-- cannot be written: the ledger then tries it by itself, so that the fault is told.
CREATE PROCEDURE ledger_groups_1(groups jsonb, patience text, INOUT answers jsonb) LANGUAGE plpgsql AS $$
DECLARE
  tenant text;
  said jsonb;
  id bigint;
  gives_up boolean;
  faulty boolean;
BEGIN
  FOR i IN 0 .. jsonb_array_length(groups) - 1 LOOP
    PERFORM set_config('synchronous_commit', 'off', true), set_config('lock_timeout', patience, true);
    tenant := groups->i->>'tenant';
    said := NULL;
    id := NULL;
    faulty := false;
    IF ledger_leads_2(tenant) THEN
      BEGIN
        PERFORM FROM tenant_heads WHERE tenant_id = tenant FOR UPDATE;
        said := ledger_move_all_3(tenant, groups->i->'moves');
      EXCEPTION
        WHEN lock_not_available THEN said := '{"left": true}';
        WHEN OTHERS THEN said := '{"again": true}';
      END;
    ELSE
      INSERT INTO pending_moves (tenant_id, moves, version) VALUES (tenant, groups->i->'moves', 3) RETURNING pending_id INTO id;
    END IF;
    COMMIT;
    gives_up := false;
    FOR attempt IN 1 .. 1000 LOOP
      EXIT WHEN said IS NOT NULL;
      PERFORM set_config('synchronous_commit', 'off', true), set_config('lock_timeout', patience, true);
      -- Ends for all who wait with the leader's transaction, where the lock of the row would pass from one to the next.
      BEGIN
        PERFORM pg_advisory_xact_lock_shared(hashtextextended(tenant, 4207005));
      EXCEPTION WHEN lock_not_available THEN
        gives_up := true;
      END;
      COMMIT;
      PERFORM set_config('synchronous_commit', 'off', true), set_config('lock_timeout', patience, true);
      BEGIN
        said := ledger_settled_1(tenant, id, gives_up);
      EXCEPTION
        WHEN lock_not_available THEN gives_up := true;
        WHEN SQLSTATE 'AS002' THEN RAISE;
        WHEN OTHERS THEN gives_up := true; faulty := true;
      END;
      COMMIT;
      -- Another leads by now, or just looks.
      PERFORM pg_sleep(0.0005) WHERE said IS NULL;
    END LOOP;
    IF said IS NULL THEN
      RAISE 'What is pending could not be withdrawn.';
    END IF;
    answers := answers || (CASE WHEN faulty AND said ? 'left' THEN '{"again": true}' ELSE said END || jsonb_build_object('tenant', tenant));
  END LOOP;
  -- With a commit that is waited for.
  PERFORM pg_logical_emit_message(true, 'ledger', '');
END $$;
