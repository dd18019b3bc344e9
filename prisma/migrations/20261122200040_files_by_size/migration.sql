-- assay: outside a transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS "files_by_size" ON "files"("tenant_id", "context_id", "uploaded_by", "content_type", "size_bytes", "file_id");
