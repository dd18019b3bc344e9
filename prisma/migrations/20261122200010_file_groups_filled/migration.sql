-- assay: outside a transaction
-- The groups of the files there are; what is added meanwhile the trigger sees to.
INSERT INTO "file_groups" SELECT DISTINCT "tenant_id", "context_id", "uploaded_by", "content_type" FROM "files" ON CONFLICT DO NOTHING;
