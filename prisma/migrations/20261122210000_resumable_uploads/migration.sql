-- Uploads that come in several requests. The row guards its bytes: a part counts when the statement that adds it finds the offset and
-- the lock's token as they were.
CREATE TABLE "resumable_uploads" (
    "tenant_id" TEXT NOT NULL,
    "upload_id" TEXT NOT NULL,
    "actor_id" TEXT NOT NULL,
    "context_key" TEXT NOT NULL,
    "filename" TEXT NOT NULL,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "upload_metadata" TEXT NOT NULL,
    "idempotency_key" TEXT,
    "size_bytes" BIGINT,
    "most_bytes" BIGINT NOT NULL,
    "offset_bytes" BIGINT NOT NULL DEFAULT 0,
    "lock_token" TEXT,
    "locked_until" TIMESTAMPTZ(3),
    "lock_wanted" BOOLEAN NOT NULL DEFAULT false,
    "outcome" JSONB,
    "decided_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "resumable_uploads_pkey" PRIMARY KEY ("tenant_id", "upload_id")
);
CREATE INDEX "resumable_uploads_tenant_id_decided_at_idx" ON "resumable_uploads"("tenant_id", "decided_at");
CREATE INDEX "resumable_uploads_expires_at_idx" ON "resumable_uploads"("expires_at");

-- Their bytes, as blobs that the garbage journal has until the upload expires.
CREATE TABLE "upload_parts" (
    "tenant_id" TEXT NOT NULL,
    "upload_id" TEXT NOT NULL,
    "start_byte" BIGINT NOT NULL,
    "size_bytes" BIGINT NOT NULL,
    "blob_path" TEXT NOT NULL,

    CONSTRAINT "upload_parts_pkey" PRIMARY KEY ("tenant_id", "upload_id", "start_byte")
);
