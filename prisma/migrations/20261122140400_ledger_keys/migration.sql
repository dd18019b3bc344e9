-- The tenant first in every key of what grows.
-- The indexes were built before; nothing here reads or rewrites the files.
ALTER TABLE "files" DROP COLUMN "validation",
  DROP CONSTRAINT "files_pkey",
  ADD CONSTRAINT "files_pkey" PRIMARY KEY USING INDEX "files_by_tenant";
DROP INDEX "files_tenant_id_file_id_idx";
DROP INDEX "files_blob_path_key";

ALTER TABLE "storage_findings" DROP CONSTRAINT "storage_findings_pkey";
UPDATE "storage_findings" SET "tenant_id" = '' WHERE "tenant_id" IS NULL;
ALTER TABLE "storage_findings" ALTER COLUMN "tenant_id" SET NOT NULL,
  ADD CONSTRAINT "storage_findings_pkey" PRIMARY KEY ("tenant_id","blob_path","kind");
