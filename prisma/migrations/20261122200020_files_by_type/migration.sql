-- assay: outside a transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS "files_by_type" ON "files"("tenant_id", "context_id", "uploaded_by", "content_type", "file_id" DESC);
