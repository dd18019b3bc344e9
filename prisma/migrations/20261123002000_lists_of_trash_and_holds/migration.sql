-- Both tables are new with this version: their indexes hold nobody up.
CREATE INDEX "trash_tenant_id_deleted_at_file_id_idx" ON "trash"("tenant_id", "deleted_at" DESC, "file_id" DESC);
CREATE INDEX "holds_tenant_id_held_at_file_id_idx" ON "holds"("tenant_id", "held_at" DESC, "file_id" DESC);
