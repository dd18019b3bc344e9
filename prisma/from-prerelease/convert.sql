-- Converts a database of the last pre-release version to the state that the baseline creates. Runs once, in one transaction, after the other
-- files of this folder. The functions of the baseline are created afterwards (src/platform/db/from-prerelease.ts).

DROP FUNCTION ledger_gather_2, ledger_gather_3, ledger_leads_2, ledger_move_1, ledger_move_2, ledger_move_3, ledger_move_all_2, ledger_move_all_3,
  ledger_move_or_wait_2, ledger_move_or_wait_3, ledger_moved_2, ledger_moved_3, ledger_moves_3, ledger_settled_1, ledger_threshold_3, ledger_thresholds_3,
  journal_grown_3, new_event_id_3, rescan_keep_1;
DROP PROCEDURE ledger_groups_1;

-- No replica waits for these groups any more.
TRUNCATE pending_moves;
ALTER TABLE pending_moves DROP COLUMN version;

-- Early versions stored API keys as HMACs with a pepper, which the service no longer supports.
DO $$
DECLARE
  ids text := (SELECT string_agg(api_key_id, ', ' ORDER BY api_key_id) FROM api_keys
    WHERE status <> 'revoked' AND (pepper_id IS NOT NULL OR (previous_pepper_id IS NOT NULL AND previous_expires_at > now())));
BEGIN
  IF ids IS NOT NULL THEN
    RAISE EXCEPTION 'these API keys have a hash of an early version: %; use, rotate or revoke them with the last pre-release version.', ids;
  END IF;
END $$;
ALTER TABLE api_keys DROP COLUMN pepper_id, DROP COLUMN previous_pepper_id;
DELETE FROM signing_keys WHERE purpose = 'pepper';

-- These constraints were added as NOT VALID, because the rows had already passed equivalent checks.
ALTER TABLE audit_counters VALIDATE CONSTRAINT audit_counters_grain_check;
ALTER TABLE audit_logs VALIDATE CONSTRAINT audit_logs_action_check, VALIDATE CONSTRAINT audit_logs_audit_type_check,
  VALIDATE CONSTRAINT audit_logs_performed_by_type_check;
ALTER TABLE call_logs VALIDATE CONSTRAINT call_logs_operation_check, VALIDATE CONSTRAINT call_logs_status_check;
ALTER TABLE files VALIDATE CONSTRAINT files_checksum_check;

-- The baseline has these columns, indexes and this table, but the last pre-release version does not.
ALTER TABLE users ADD COLUMN wrong_codes integer NOT NULL DEFAULT 0, ADD COLUMN codes_locked_until timestamptz(3);
ALTER TABLE rescans ADD COLUMN failure text;
ALTER TABLE rescan_queue ADD COLUMN failure text;
CREATE INDEX rescans_failed ON rescans (tenant_id) WHERE failed > 0;
CREATE INDEX rescan_queue_failed ON rescan_queue (tenant_id) WHERE failure IS NOT NULL;
ALTER TABLE resumable_uploads ADD COLUMN incoming_bytes bigint NOT NULL DEFAULT 0, ADD COLUMN decision_error jsonb,
  ADD COLUMN decision_attempts integer NOT NULL DEFAULT 0, ADD COLUMN decision_retry_at timestamptz(3);
CREATE TABLE upload_guards (tenant_id text PRIMARY KEY);

-- All leases have the same column names. No process holds a lease during the conversion.
ALTER TABLE idempotency_keys RENAME COLUMN token TO lease_token;
ALTER TABLE idempotency_keys RENAME COLUMN locked_until TO leased_until;
UPDATE idempotency_keys SET lease_token = NULL, leased_until = now();
ALTER TABLE idempotency_keys ALTER COLUMN leased_until SET NOT NULL, ALTER COLUMN leased_until SET DEFAULT CURRENT_TIMESTAMP;
ALTER TABLE resumable_uploads RENAME COLUMN lock_token TO lease_token;
ALTER TABLE resumable_uploads RENAME COLUMN locked_until TO leased_until;
UPDATE resumable_uploads SET lease_token = NULL, leased_until = now();
ALTER TABLE resumable_uploads ALTER COLUMN leased_until SET NOT NULL, ALTER COLUMN leased_until SET DEFAULT CURRENT_TIMESTAMP;
ALTER TABLE rescan_queue RENAME COLUMN token TO lease_token;
ALTER TABLE webhook_positions DROP COLUMN claim, ADD COLUMN lease_token text, ADD COLUMN leased_until timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP;
DROP SCHEMA webhook_queue CASCADE;

-- Files: changes the indexes, and replaces the triggers by counters that the writing statements update.
DROP TRIGGER files_added ON files;
DROP TRIGGER files_removed ON files;
DROP TRIGGER files_grouped ON files;
DROP TRIGGER reports_added ON validation_reports;
DROP FUNCTION add_file_groups, count_file_ranges, split_file_ranges, keep_file_traits;
DROP TABLE file_ranges;
DROP INDEX files_by_type, files_tenant_id_context_id_file_id_idx, files_tenant_id_context_id_uploaded_by_file_id_idx, files_tenant_id_uploaded_by_file_id_idx;
CREATE INDEX files_by_context ON files (tenant_id, context_id, file_id, uploaded_by, content_type);
ALTER TABLE file_groups ADD COLUMN files bigint NOT NULL DEFAULT 0;
ALTER TABLE file_groups SET (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=500);
INSERT INTO file_groups AS g (tenant_id, context_id, uploaded_by, content_type, files)
SELECT tenant_id, context_id, uploaded_by, content_type, count(*) FROM files GROUP BY 1, 2, 3, 4
ON CONFLICT (tenant_id, context_id, uploaded_by, content_type) DO UPDATE SET files = excluded.files;
