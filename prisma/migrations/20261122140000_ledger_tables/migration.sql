-- What the two lanes of the ledger write, and text instead of enums in the tables that stay small.

-- The lock of a tenant: whatever moves its files or is audited takes this row first. It holds what the tenant's quota is judged by.
CREATE TABLE "tenant_heads" (
    "tenant_id" TEXT NOT NULL,
    "files" BIGINT NOT NULL DEFAULT 0,
    "bytes" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "tenant_heads_pkey" PRIMARY KEY ("tenant_id")
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
ALTER TABLE "tenant_heads" ADD CONSTRAINT "tenant_heads_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("tenant_id") ON DELETE CASCADE ON UPDATE CASCADE;
INSERT INTO "tenant_heads" SELECT t."tenant_id", coalesce(h."files", 0), coalesce(h."bytes", 0)
FROM "tenants" t LEFT JOIN "file_totals" h ON h."tenant_id" = t."tenant_id" AND h."context_id" = '' AND h."uploaded_by" = '';
-- What an uploader has in a list is told by file_ranges.
DELETE FROM "file_totals" WHERE "context_id" = '' OR "uploaded_by" <> '';
ALTER TABLE "file_totals" DROP CONSTRAINT "file_totals_pkey", DROP COLUMN "uploaded_by",
  ADD CONSTRAINT "file_totals_pkey" PRIMARY KEY ("tenant_id","context_id");

-- Only ever inserted, and folded a moment later: rows that no two writers share. An absent number is a 0 that takes no room.
CREATE TABLE "usage_deltas" (
    "tenant_id" TEXT NOT NULL,
    "delta_id" BIGSERIAL NOT NULL,
    "api_key_id" TEXT,
    "context_id" TEXT,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "upload_success" BIGINT,
    "upload_failure" BIGINT,
    "download_success" BIGINT,
    "download_failure" BIGINT,
    "metadata_success" BIGINT,
    "metadata_failure" BIGINT,
    "delete_success" BIGINT,
    "delete_failure" BIGINT,
    "files_uploaded" BIGINT,
    "bytes_uploaded" BIGINT,
    "files_deleted" BIGINT,
    "bytes_deleted" BIGINT,
    "downloads" BIGINT,
    "bytes_downloaded" BIGINT,
    "invalid_extension" BIGINT,
    "size_exceeded" BIGINT,
    "blank_file" BIGINT,
    "corrupt_file" BIGINT,
    "virus_detected" BIGINT,

    CONSTRAINT "usage_deltas_pkey" PRIMARY KEY ("tenant_id","delta_id")
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000);

CREATE TABLE "download_deltas" (
    "tenant_id" TEXT NOT NULL,
    "file_id" TEXT COLLATE "C" NOT NULL,
    "delta_id" BIGSERIAL NOT NULL,
    "times" BIGINT NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "download_deltas_pkey" PRIMARY KEY ("tenant_id","file_id","delta_id")
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000);

-- A table of its own: lists and metadata read half the pages. Later scans of a file add theirs.
CREATE TABLE "validation_reports" (
    "tenant_id" TEXT NOT NULL,
    "file_id" TEXT COLLATE "C" NOT NULL,
    "validated_at" TIMESTAMPTZ(3) NOT NULL,
    "report" JSONB NOT NULL,

    CONSTRAINT "validation_reports_pkey" PRIMARY KEY ("tenant_id","file_id","validated_at")
);

-- A path that a sweep has taken is never claimed by an upload again.
ALTER TABLE "blob_garbage" ADD COLUMN "tenant_id" TEXT, ADD COLUMN "taken" BOOLEAN NOT NULL DEFAULT false;
UPDATE "blob_garbage" SET "tenant_id" = split_part("blob_path", '/', 1);
ALTER TABLE "blob_garbage" ALTER COLUMN "tenant_id" SET NOT NULL,
  DROP CONSTRAINT "blob_garbage_pkey",
  ADD CONSTRAINT "blob_garbage_pkey" PRIMARY KEY ("tenant_id","blob_path");

-- Made anew whenever a key is taken: whoever took it before can no longer answer for it.
ALTER TABLE "idempotency_keys" ADD COLUMN "token" TEXT;

-- Sums over types and actions are made by the reader: at most 24 rows a day.
DELETE FROM "audit_counters" WHERE "audit_type" = '' OR "action" = '';
ALTER TABLE "audit_counters" ALTER COLUMN "grain" TYPE TEXT,
  ADD CONSTRAINT "audit_counters_grain_check" CHECK ("grain" IN ('day', 'total')),
  DROP CONSTRAINT "audit_counters_pkey",
  ADD CONSTRAINT "audit_counters_pkey" PRIMARY KEY ("tenant_id","grain","bucket","audit_type","action");
ALTER TABLE "usage_counters" ALTER COLUMN "grain" TYPE TEXT,
  ADD CONSTRAINT "usage_counters_grain_check" CHECK ("grain" IN ('hour', 'day', 'total'));
DROP TYPE "usage_grain";

ALTER TABLE "tenants" ALTER COLUMN "status" DROP DEFAULT, ALTER COLUMN "status" TYPE TEXT, ALTER COLUMN "status" SET DEFAULT 'active',
  ADD CONSTRAINT "tenants_status_check" CHECK ("status" IN ('active', 'suspended'));
ALTER TABLE "users" ALTER COLUMN "status" DROP DEFAULT, ALTER COLUMN "status" TYPE TEXT, ALTER COLUMN "status" SET DEFAULT 'active',
  ALTER COLUMN "scopes" TYPE TEXT[] USING "scopes"::text[],
  ADD CONSTRAINT "users_status_check" CHECK ("status" IN ('active', 'disabled')),
  ADD CONSTRAINT "users_scopes_check" CHECK ("scopes" <@ ARRAY['upload', 'download', 'metadata', 'delete', 'admin']);
ALTER TABLE "api_keys" ALTER COLUMN "status" DROP DEFAULT, ALTER COLUMN "status" TYPE TEXT, ALTER COLUMN "status" SET DEFAULT 'active',
  ALTER COLUMN "scopes" TYPE TEXT[] USING "scopes"::text[],
  ADD CONSTRAINT "api_keys_status_check" CHECK ("status" IN ('active', 'disabled', 'revoked')),
  ADD CONSTRAINT "api_keys_scopes_check" CHECK ("scopes" <@ ARRAY['upload', 'download', 'metadata', 'delete', 'admin']);
ALTER TABLE "file_contexts" ALTER COLUMN "status" DROP DEFAULT, ALTER COLUMN "status" TYPE TEXT, ALTER COLUMN "status" SET DEFAULT 'active',
  ADD CONSTRAINT "file_contexts_status_check" CHECK ("status" IN ('active', 'disabled'));
DROP TYPE "tenant_status";
DROP TYPE "user_status";
DROP TYPE "api_key_status";
DROP TYPE "context_status";
