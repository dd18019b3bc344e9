-- assay: outside a transaction
-- One statement that commits after each month of the log; where it was interrupted, running it again goes on.
-- The call log with the tenant first in its key (one index fewer) and text instead of enums. Statements that change a column's type
-- would hold the whole log until all of it is rewritten.
DO $$
DECLARE
  month record;
BEGIN
  IF to_regtype('operation') IS NULL THEN RETURN; END IF;
  IF to_regclass('call_logs_before') IS NULL THEN
    ALTER TABLE call_logs RENAME TO call_logs_before;
    ALTER INDEX call_logs_pkey RENAME TO call_logs_before_pkey;
    ALTER INDEX call_logs_tenant_id_operation_status_call_id_idx RENAME TO call_logs_before_operation;
    ALTER INDEX call_logs_tenant_id_api_key_id_operation_status_call_id_idx RENAME TO call_logs_before_key;
    CREATE TABLE call_logs (
      call_id TEXT COLLATE "C" NOT NULL,
      tenant_id TEXT NOT NULL,
      api_key_id TEXT COLLATE "C" NOT NULL,
      api_key_name TEXT NOT NULL,
      operation TEXT NOT NULL,
      status TEXT NOT NULL,
      file_id TEXT COLLATE "C",
      context_key TEXT,
      error_code TEXT,
      error_message TEXT,
      validation JSONB,
      ip_address TEXT NOT NULL,
      user_agent TEXT NOT NULL,
      created_at TIMESTAMPTZ(3) NOT NULL,
      CONSTRAINT call_logs_pkey PRIMARY KEY (tenant_id, call_id),
      CONSTRAINT call_logs_operation_check CHECK (operation IN ('upload', 'download', 'metadata', 'delete')),
      CONSTRAINT call_logs_status_check CHECK (status IN ('success', 'failure'))
    ) PARTITION BY RANGE (call_id);
    CREATE INDEX call_logs_tenant_id_operation_status_call_id_idx ON call_logs (tenant_id, operation, status, call_id DESC);
    CREATE INDEX call_logs_tenant_id_api_key_id_operation_status_call_id_idx ON call_logs (tenant_id, api_key_id, operation, status, call_id DESC);
    COMMIT;
  END IF;
  FOR month IN SELECT c.oid, c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'call_logs_before'::regclass ORDER BY c.relname
  LOOP
    EXECUTE format('ALTER TABLE %I RENAME TO %I', month.name, month.name || '_before');
    EXECUTE format('CREATE TABLE %I (LIKE call_logs INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', month.name);
    EXECUTE format('INSERT INTO %I SELECT call_id, tenant_id, api_key_id, api_key_name, operation::text, status::text, file_id, context_key, error_code, error_message,
      validation, ip_address, user_agent, created_at FROM %I', month.name, month.name || '_before');
    EXECUTE format('ALTER TABLE call_logs ATTACH PARTITION %I %s', month.name, month.bounds);
    EXECUTE format('DROP TABLE %I', month.name || '_before');
    COMMIT;
  END LOOP;
  DROP TABLE call_logs_before;
  DROP TYPE operation;
  DROP TYPE call_status;
END $$
