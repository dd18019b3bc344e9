-- assay: outside a transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS files_by_checksum ON files (tenant_id, checksum, file_id);
