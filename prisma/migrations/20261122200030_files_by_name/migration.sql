-- assay: outside a transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS "files_by_name" ON "files"("tenant_id", "context_id", "uploaded_by", "content_type", lower("original_filename" COLLATE "C"), "file_id");
