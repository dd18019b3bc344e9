-- assay: outside a transaction
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "files_by_tenant" ON "files"("tenant_id", "file_id");
