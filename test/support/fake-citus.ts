import pg from 'pg'

/**
 * Installs a fake citus extension in a single-node test database. Its functions record their calls and reject what Citus 13.2
 * rejects: ON UPDATE CASCADE on the tenant column, triggers, keys without the tenant, and distributed tables. Like Citus, the
 * extension adopts local tables with a foreign key to a reference table. The extension moves no rows. `failing` is a table that
 * cannot be distributed.
 */
export async function installFakeCitus(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query(fakeS3)
    const { rows } = await client.query<{ name: string }>('SELECT current_database() AS name')
    await client.query(`ALTER DATABASE ${rows[0]!.name} SET search_path = public, fake_citus`)
    await client.query(`ALTER DATABASE ${rows[0]!.name} SET citus.multi_shard_modify_mode = 'parallel'`)
  } finally {
    await client.end()
  }
}

const fakeS3 = `
INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
  SELECT 99999, 'citus', oid, 'public'::regnamespace, false, 'stand-in' FROM pg_roles WHERE rolname = current_user;
CREATE SCHEMA fake_citus;
SET search_path = fake_citus, public;
CREATE TABLE calls (call_id serial, what text);
CREATE TABLE failing (name text);
CREATE TABLE placed (name regclass PRIMARY KEY, kind text);
CREATE TABLE pg_dist_object (classid oid, objid oid);
CREATE TABLE pg_dist_node (nodeid int, nodename text, nodeport int, noderole text, isactive boolean, shouldhaveshards boolean, metadatasynced boolean);
INSERT INTO pg_dist_node VALUES (1, 'localhost', 5432, 'primary', true, true, true);
CREATE VIEW citus_tables AS SELECT name AS table_name, kind AS citus_table_type FROM placed;
CREATE FUNCTION citus_version() RETURNS text LANGUAGE sql AS $$ SELECT 'stand-in' $$;

CREATE FUNCTION record_call(what text, relation regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO fake_citus.calls (what) VALUES (what);
  IF current_setting('citus.multi_shard_modify_mode') <> 'sequential' THEN
    RAISE 'cannot distribute "%" in parallel: it has foreign keys to a reference table', relation;
  END IF;
  IF EXISTS (SELECT FROM fake_citus.failing WHERE name = relation::text) THEN RAISE 'distribution of "%" failed', relation; END IF;
  IF EXISTS (SELECT FROM fake_citus.placed p WHERE p.name = relation AND p.kind <> 'local') THEN RAISE 'table "%" is already distributed', relation; END IF;
END $$;

CREATE FUNCTION place(relation regclass, how text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO fake_citus.placed VALUES (relation, how) ON CONFLICT (name) DO UPDATE SET kind = excluded.kind;
  -- Citus adopts the tables at the other end of foreign keys.
  INSERT INTO fake_citus.placed SELECT DISTINCT CASE WHEN conrelid = relation THEN confrelid ELSE conrelid END, 'local' FROM pg_constraint
  WHERE contype = 'f' AND relation IN (conrelid, confrelid) AND conrelid <> confrelid ON CONFLICT (name) DO NOTHING;
END $$;

CREATE FUNCTION create_reference_table(relation regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM fake_citus.record_call('reference ' || relation, relation);
  PERFORM fake_citus.place(relation, 'reference');
END $$;

CREATE FUNCTION create_distributed_table(relation regclass, key text, colocate_with text DEFAULT 'default') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM fake_citus.record_call('distributed ' || relation || ' with ' || colocate_with, relation);
  IF colocate_with NOT IN ('default', 'none') AND NOT EXISTS (SELECT FROM fake_citus.placed WHERE name = colocate_with::regclass AND kind = 'distributed') THEN
    RAISE 'relation % is not distributed', colocate_with;
  END IF;
  IF EXISTS (SELECT FROM pg_index i WHERE i.indrelid = relation AND i.indisunique
    AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = relation AND a.attname = key AND a.attnum = ANY (i.indkey))) THEN
    RAISE 'cannot create constraint on "%": it does not include the partition column', relation;
  END IF;
  PERFORM fake_citus.place(relation, 'distributed');
  PERFORM fake_citus.reject_unsupported();
END $$;

CREATE FUNCTION create_distributed_function(function regprocedure) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO fake_citus.calls (what) VALUES ('function ' || function);
  INSERT INTO fake_citus.pg_dist_object VALUES ('pg_proc'::regclass, function);
END $$;

CREATE FUNCTION reject_unsupported() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  bad record;
BEGIN
  SELECT conname AS name INTO bad FROM pg_constraint c JOIN fake_citus.placed p ON p.name = c.conrelid AND p.kind = 'distributed'
  WHERE contype = 'f' AND confupdtype IN ('c', 'n', 'd') LIMIT 1;
  IF FOUND THEN RAISE 'cannot create foreign key constraint "%": CASCADE as the action for ON UPDATE is not supported', bad.name; END IF;
  SELECT conname AS name INTO bad FROM pg_constraint c JOIN fake_citus.placed p ON p.name = c.conrelid AND p.kind = 'distributed'
  WHERE contype = 'f' AND NOT EXISTS (SELECT FROM fake_citus.placed o WHERE o.name = c.confrelid AND o.kind <> 'local') LIMIT 1;
  IF FOUND THEN RAISE 'cannot create foreign key constraint "%": the referenced table must be distributed or a reference table', bad.name; END IF;
  SELECT tgname AS name INTO bad FROM pg_trigger t JOIN fake_citus.placed p ON p.name = t.tgrelid AND p.kind = 'distributed' WHERE NOT tgisinternal LIMIT 1;
  IF FOUND AND coalesce(current_setting('citus.enable_unsafe_triggers', true), 'off') <> 'on' THEN RAISE 'triggers are not supported on distributed tables'; END IF;
END $$;

CREATE FUNCTION after_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM fake_citus.reject_unsupported(); END $$;
CREATE EVENT TRIGGER fake_citus ON ddl_command_end WHEN TAG IN ('ALTER TABLE', 'CREATE TRIGGER') EXECUTE FUNCTION after_ddl();
`
