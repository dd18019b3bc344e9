-- assay: outside a transaction
-- One statement that commits after every 20,000 entries; where it was interrupted, running it again goes on.
-- The audit log with the tenant first in its key (one index fewer) and text instead of enums.
DO $$
DECLARE
  after TEXT COLLATE "C";
  until TEXT COLLATE "C";
BEGIN
  IF to_regtype('audit_type') IS NULL THEN RETURN; END IF;
  IF to_regclass('audit_logs_before') IS NULL THEN
    ALTER TABLE audit_logs RENAME TO audit_logs_before;
    ALTER INDEX audit_logs_pkey RENAME TO audit_logs_before_pkey;
    DROP INDEX audit_logs_tenant_id_audit_id_idx, audit_logs_tenant_id_audit_type_action_audit_id_idx, audit_logs_tenant_id_entity_id_audit_id_idx;
    CREATE TABLE audit_logs (
      audit_id TEXT COLLATE "C" NOT NULL,
      tenant_id TEXT NOT NULL,
      audit_type TEXT NOT NULL,
      action TEXT NOT NULL,
      entity_type TEXT NOT NULL,
      entity_id TEXT NOT NULL,
      entity_name TEXT NOT NULL,
      performed_by_id TEXT NOT NULL,
      performed_by_name TEXT NOT NULL,
      performed_by_email TEXT,
      performed_by_type TEXT NOT NULL,
      performed_by_scopes TEXT[],
      details JSONB NOT NULL DEFAULT '{}',
      ip_address TEXT NOT NULL,
      user_agent TEXT NOT NULL,
      created_at TIMESTAMPTZ(3) NOT NULL,
      CONSTRAINT audit_logs_audit_type_check CHECK (audit_type IN ('api_key', 'file', 'context', 'tenant')),
      CONSTRAINT audit_logs_action_check CHECK (action IN ('created', 'enabled', 'disabled', 'revoked', 'updated', 'deleted')),
      CONSTRAINT audit_logs_performed_by_type_check CHECK (performed_by_type IN ('user', 'api_key', 'system'))
    );
    COMMIT;
  END IF;
  SELECT coalesce(max(audit_id), '') INTO after FROM audit_logs;
  LOOP
    SELECT max(audit_id) INTO until FROM (SELECT audit_id FROM audit_logs_before WHERE audit_id > after ORDER BY audit_id LIMIT 20000) batch;
    EXIT WHEN until IS NULL;
    INSERT INTO audit_logs SELECT audit_id, tenant_id, audit_type::text, action::text, entity_type, entity_id, entity_name, performed_by_id, performed_by_name,
      performed_by_email, performed_by_type::text, performed_by_scopes::text[], details, ip_address, user_agent, created_at
    FROM audit_logs_before WHERE audit_id > after AND audit_id <= until;
    COMMIT;
    after := until;
  END LOOP;
  ALTER TABLE audit_logs ADD CONSTRAINT audit_logs_pkey PRIMARY KEY (tenant_id, audit_id);
  CREATE INDEX audit_logs_tenant_id_audit_type_action_audit_id_idx ON audit_logs (tenant_id, audit_type, action, audit_id DESC);
  CREATE INDEX audit_logs_tenant_id_entity_id_audit_id_idx ON audit_logs (tenant_id, entity_id, audit_id DESC);
  DROP TABLE audit_logs_before;
  DROP TYPE audit_type;
  DROP TYPE audit_action;
  DROP TYPE performer_type;
  DROP TYPE scope;
END $$
