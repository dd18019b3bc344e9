-- Moves of several ledgers in one commit. `ledger_move_1` stays what judges and writes; these bring entries of others to it.

-- What one ledger wants moved while another one's transaction holds the tenant's lock: that transaction takes it along, or the next.
-- No promise rests on a row of this table (it is not logged, and a crash empties it): its answer is written by the transaction that moves.
CREATE UNLOGGED TABLE "pending_moves" (
    "tenant_id" TEXT NOT NULL,
    "pending_id" BIGSERIAL NOT NULL,
    "moves" JSONB NOT NULL,
    "answer" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "pending_moves_pkey" PRIMARY KEY ("tenant_id","pending_id")
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- One ledger at a time leads for a tenant. The others' wait for this lock ends for all of them at once with the leader's transaction,
-- where the tenant's own lock would pass from one to the next. Nothing but speed rests on it: what guards is the row in tenant_heads.
CREATE FUNCTION ledger_leads_2(tenant text) RETURNS boolean LANGUAGE sql AS $$ SELECT pg_try_advisory_xact_lock(hashtextextended(tenant, 4207005)) $$;

-- Waits until as many groups of others are pending as there were the last time, but not for long: a commit that is dear is shared by more.
CREATE FUNCTION ledger_gather_2(tenant text, expected int, most_ms int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  until timestamptz := clock_timestamp() + most_ms * interval '1 ms';
BEGIN
  WHILE clock_timestamp() < until AND (SELECT count(*) FROM (SELECT FROM pending_moves WHERE tenant_id = tenant AND answer IS NULL LIMIT expected) p) < expected LOOP
    PERFORM pg_sleep(0.001);
  END LOOP;
END $$;

-- Under the tenant's lock: the ledger's own group, and behind it what others have pending by then, judged and written as one group.
-- Where that cannot be written, each is left to its own ledger, so that a fault is told where it belongs.
CREATE FUNCTION ledger_move_all_2(tenant text, own jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  own_entries int := (own->>'entries')::int;
  ids bigint[];
  firsts int[];
  total int;
  merged jsonb;
  refusals jsonb;
BEGIN
  WITH pending AS (SELECT pending_id, (moves->>'entries')::int AS entries FROM pending_moves
    WHERE tenant_id = tenant AND answer IS NULL AND created_at > clock_timestamp() - interval '15 s' ORDER BY pending_id LIMIT 32 FOR UPDATE SKIP LOCKED),
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

-- Small groups of several tenants in one commit. A tenant whose lock is held, or whose rows are, delays none of the others: it is told
-- as `left`, and nothing of it is written.
CREATE FUNCTION ledger_move_2(groups jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
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
          said := ledger_move_all_2(one.tenant, one.moves);
        EXCEPTION WHEN OTHERS THEN
        END;
      END IF;
    END IF;
    answers := answers || (said || jsonb_build_object('tenant', one.tenant));
  END LOOP;
  RETURN answers;
END $$;

-- A group of one tenant: written where no other ledger leads, and else left pending for it.
CREATE FUNCTION ledger_move_or_wait_2(tenant text, moves jsonb, expected int, most_ms int) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  id bigint;
BEGIN
  IF ledger_leads_2(tenant) THEN
    PERFORM ledger_gather_2(tenant, expected, most_ms);
    PERFORM FROM tenant_heads WHERE tenant_id = tenant FOR UPDATE;
    RETURN ledger_move_all_2(tenant, moves);
  END IF;
  -- Nothing is promised yet: the disk is not waited for.
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO pending_moves (tenant_id, moves) VALUES (tenant, moves) RETURNING pending_id INTO id;
  RETURN jsonb_build_object('pending', id);
END $$;

-- Waits for the ledger that leads. What was pending is answered by then, or is moved now with what others have pending.
CREATE FUNCTION ledger_moved_2(tenant text, id bigint, expected int, most_ms int) RETURNS jsonb LANGUAGE plpgsql AS $$
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
    PERFORM ledger_gather_2(tenant, expected + 1, most_ms);
    PERFORM FROM tenant_heads WHERE tenant_id = tenant FOR UPDATE;
  END IF;
  DELETE FROM pending_moves p WHERE p.tenant_id = tenant AND p.pending_id = id RETURNING p.moves, p.answer INTO mine;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  IF mine.answer IS NULL THEN
    RETURN ledger_move_all_2(tenant, mine.moves);
  END IF;
  -- The transaction that wrote the answer is durable: only this row's end is not.
  PERFORM set_config('synchronous_commit', 'off', true);
  RETURN mine.answer;
END $$;
