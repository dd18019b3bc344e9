-- assay: outside a transaction
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "files_tenant_id_blob_path_key" ON "files"("tenant_id", "blob_path");
