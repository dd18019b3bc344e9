-- What comes after an upload: versions of a context's rules, trash, holds, quarantine; and the journal, in which every change of a
-- tenant and every verdict stands once, numbered in the order of commits.

ALTER TABLE "file_contexts"
  ADD COLUMN "retention_days" INTEGER,
  ADD COLUMN "trash_days" INTEGER NOT NULL DEFAULT 0,
  ADD COLUMN "rescan" BOOLEAN NOT NULL DEFAULT true,
  ADD COLUMN "rules_version" INTEGER NOT NULL DEFAULT 1;

-- CreateTable
CREATE TABLE "context_versions" (
    "tenant_id" TEXT NOT NULL,
    "context_id" TEXT COLLATE "C" NOT NULL,
    "version" INTEGER NOT NULL,
    "rules" JSONB NOT NULL,
    "changed_by" TEXT NOT NULL,
    "changed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "context_versions_pkey" PRIMARY KEY ("tenant_id","context_id","version")
);
INSERT INTO "context_versions" SELECT "tenant_id", "context_id", 1, jsonb_build_object('allowed_extensions', "allowed_extensions",
  'max_file_size_mb', "max_file_size_mb", 'reject_blank_files', "reject_blank_files", 'reject_corrupt_files', "reject_corrupt_files",
  'scan_for_viruses', "scan_for_viruses", 'policy', jsonb_build_object('retention_days', NULL, 'trash_days', 0,
  'reject_encrypted_files', "reject_encrypted_files", 'reject_active_content', "reject_active_content", 'accept_unscanned', "accept_unscanned",
  'rescan', true)), 'system', "updated_at" FROM "file_contexts";

-- A file that is quarantined stays where lists count it; nothing hands it out.
ALTER TABLE "files" ADD COLUMN "quarantined_at" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "quarantine" (
    "tenant_id" TEXT NOT NULL,
    "file_id" TEXT COLLATE "C" NOT NULL,
    "context_id" TEXT COLLATE "C" NOT NULL,
    "quarantined_at" TIMESTAMPTZ(3) NOT NULL,
    "signatures" TEXT NOT NULL,
    "viruses" JSONB NOT NULL,

    CONSTRAINT "quarantine_pkey" PRIMARY KEY ("tenant_id","file_id")
);

-- Rows of files that were deleted and can be restored: for every reader of files they are gone.
CREATE TABLE "trash" (
    "file_id" TEXT COLLATE "C" NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "context_id" TEXT COLLATE "C" NOT NULL,
    "original_filename" TEXT NOT NULL,
    "content_type" TEXT NOT NULL,
    "size_bytes" BIGINT NOT NULL,
    "checksum" TEXT NOT NULL,
    "blob_path" TEXT COLLATE "C" NOT NULL,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "uploaded_by" TEXT NOT NULL,
    "uploaded_by_name" TEXT,
    "download_count" BIGINT NOT NULL DEFAULT 0,
    "last_downloaded_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "quarantined_at" TIMESTAMPTZ(3),
    "deleted_at" TIMESTAMPTZ(3) NOT NULL,
    "deleted_by" TEXT NOT NULL,
    "deleted_by_type" TEXT NOT NULL,

    CONSTRAINT "trash_pkey" PRIMARY KEY ("tenant_id","file_id"),
    CONSTRAINT "trash_deleted_by_type_check" CHECK ("deleted_by_type" IN ('user', 'api_key', 'system'))
);
CREATE UNIQUE INDEX "trash_tenant_id_blob_path_key" ON "trash"("tenant_id", "blob_path");
CREATE INDEX "trash_tenant_id_context_id_deleted_at_idx" ON "trash"("tenant_id", "context_id", "deleted_at");
ALTER TABLE "trash" ADD CONSTRAINT "trash_tenant_id_context_id_fkey" FOREIGN KEY ("tenant_id", "context_id") REFERENCES "file_contexts"("tenant_id", "context_id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- CreateTable
CREATE TABLE "holds" (
    "tenant_id" TEXT NOT NULL,
    "file_id" TEXT COLLATE "C" NOT NULL,
    "reason" TEXT NOT NULL,
    "held_by" TEXT NOT NULL,
    "held_by_type" TEXT NOT NULL,
    "held_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "holds_pkey" PRIMARY KEY ("tenant_id","file_id"),
    CONSTRAINT "holds_held_by_type_check" CHECK ("held_by_type" IN ('user', 'api_key', 'system'))
);

-- `entry` is the whole event as canonical JSON, `leaf` its hash in the log (RFC 6962). What was looked at for a verdict stands beside.
CREATE TABLE "journal" (
    "tenant_id" TEXT NOT NULL,
    "sequence" BIGINT NOT NULL,
    "event_id" TEXT NOT NULL,
    "type" TEXT COLLATE "C" NOT NULL,
    "subject" TEXT COLLATE "C" NOT NULL,
    "context_key" TEXT,
    "occurred_at" TIMESTAMPTZ(3) NOT NULL,
    "entry" TEXT NOT NULL,
    "leaf" BYTEA NOT NULL,
    "checks" JSONB,

    CONSTRAINT "journal_pkey" PRIMARY KEY ("tenant_id","sequence"),
    CONSTRAINT "journal_sequence_check" CHECK ("sequence" > 0),
    CONSTRAINT "journal_entry_check" CHECK (octet_length("entry") <= 65535)
) WITH (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000);
CREATE INDEX "journal_tenant_id_type_sequence_idx" ON "journal"("tenant_id", "type", "sequence");
CREATE INDEX "journal_verdicts" ON "journal"("tenant_id", "subject") WHERE "type" IN ('file.accepted', 'file.rejected');

-- The hashes of complete subtrees of 256^level leaves; those of level 0 are in the journal.
CREATE TABLE "journal_nodes" (
    "tenant_id" TEXT NOT NULL,
    "level" SMALLINT NOT NULL,
    "place" BIGINT NOT NULL,
    "hash" BYTEA NOT NULL,

    CONSTRAINT "journal_nodes_pkey" PRIMARY KEY ("tenant_id","level","place")
);

-- The journal's length, the roots of the complete trees that its leaves make, largest first, and when its last event was; and which
-- threshold of a quota (80, 95, 100) has an event already.
ALTER TABLE "tenant_heads"
  ADD COLUMN "journal_length" BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN "journal_frontier" BYTEA[] NOT NULL DEFAULT '{}',
  ADD COLUMN "journal_at" TIMESTAMPTZ(3),
  ADD COLUMN "quota_level" SMALLINT NOT NULL DEFAULT 0;
ALTER TABLE "file_contexts" ADD COLUMN "quota_level" SMALLINT NOT NULL DEFAULT 0;
-- What was full before there was a journal did not fill up now.
UPDATE "tenant_heads" h SET "quota_level" = coalesce((SELECT max(l) FROM unnest('{80, 95, 100}'::smallint[]) l
  WHERE h."bytes" * 100 >= l * t."storage_quota_mb" * 1048576::numeric), 0) FROM "tenants" t WHERE t."tenant_id" = h."tenant_id";
UPDATE "file_contexts" c SET "quota_level" = coalesce((SELECT max(l) FROM unnest('{80, 95, 100}'::smallint[]) l
  WHERE h."bytes" * 100 >= l * c."storage_quota_mb" * 1048576::numeric), 0)
  FROM "file_totals" h WHERE c."tenant_id" = h."tenant_id" AND c."context_id" = h."context_id";
