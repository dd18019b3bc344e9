import pg from 'pg'

/** Makes a database reject WAL functions, as Amazon Aurora does without logical wal_level. */
export async function rejectWalFunctions(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const rename = `DO $do$
    DECLARE
      function record;
    BEGIN
      FOR function IN
        SELECT proname AS name, pg_get_function_identity_arguments(oid) AS parameters FROM pg_proc
        WHERE pronamespace = 'pg_catalog'::regnamespace AND (proname LIKE 'pg_current_wal_%' OR proname = 'pg_logical_emit_message')
      LOOP
        EXECUTE format('ALTER FUNCTION pg_catalog.%I(%s) RENAME TO %I', function.name, function.parameters, 'real_' || function.name);
        EXECUTE format('CREATE FUNCTION pg_catalog.%I(%s) RETURNS pg_lsn LANGUAGE plpgsql AS %L', function.name, function.parameters,
          $$BEGIN RAISE 'wal_level must be set to ''logical''' USING ERRCODE = '55000'; END$$);
      END LOOP;
    END $do$`
  await client.query(rename).finally(() => client.end())
}
