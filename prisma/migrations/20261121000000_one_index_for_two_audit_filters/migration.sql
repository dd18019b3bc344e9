-- A filter by action alone reads the index by type and action once for each of the four types: an index of its own is not worth its writes.
-- DropIndex
DROP INDEX "audit_logs_tenant_id_action_audit_id_idx";
