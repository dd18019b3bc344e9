-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "public";

-- CreateEnum
CREATE TYPE "tenant_status" AS ENUM ('active', 'suspended');

-- CreateEnum
CREATE TYPE "user_status" AS ENUM ('active', 'disabled');

-- CreateEnum
CREATE TYPE "api_key_status" AS ENUM ('active', 'disabled', 'revoked');

-- CreateEnum
CREATE TYPE "context_status" AS ENUM ('active', 'disabled');

-- CreateEnum
CREATE TYPE "scope" AS ENUM ('upload', 'download', 'metadata', 'delete', 'admin');

-- CreateEnum
CREATE TYPE "operation" AS ENUM ('upload', 'download', 'metadata', 'delete');

-- CreateEnum
CREATE TYPE "call_status" AS ENUM ('success', 'failure');

-- CreateEnum
CREATE TYPE "audit_type" AS ENUM ('api_key', 'file', 'context', 'tenant');

-- CreateEnum
CREATE TYPE "audit_action" AS ENUM ('created', 'enabled', 'disabled', 'revoked', 'updated', 'deleted');

-- CreateEnum
CREATE TYPE "performer_type" AS ENUM ('user', 'api_key', 'system');

-- CreateEnum
CREATE TYPE "usage_grain" AS ENUM ('hour', 'day', 'total');

-- CreateTable
CREATE TABLE "tenants" (
    "tenant_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "storage_quota_mb" INTEGER NOT NULL DEFAULT 102400,
    "status" "tenant_status" NOT NULL DEFAULT 'active',
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "tenants_pkey" PRIMARY KEY ("tenant_id")
);

-- CreateTable
CREATE TABLE "users" (
    "user_id" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "password_hash" TEXT,
    "scopes" "scope"[],
    "status" "user_status" NOT NULL DEFAULT 'active',
    "issuer" TEXT,
    "subject" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "users_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "sessions" (
    "session_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "sessions_pkey" PRIMARY KEY ("session_id")
);

-- CreateTable
CREATE TABLE "signing_keys" (
    "key_id" TEXT NOT NULL,
    "purpose" TEXT NOT NULL,
    "secret_encrypted" BYTEA NOT NULL,
    "public_jwk" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "retired_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),

    CONSTRAINT "signing_keys_pkey" PRIMARY KEY ("key_id")
);

-- CreateTable
CREATE TABLE "api_keys" (
    "api_key_id" TEXT COLLATE "C" NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "key_prefix" TEXT NOT NULL,
    "secret_hash" BYTEA NOT NULL,
    "pepper_id" TEXT NOT NULL,
    "previous_secret_hash" BYTEA,
    "previous_pepper_id" TEXT,
    "previous_expires_at" TIMESTAMPTZ(3),
    "scopes" "scope"[],
    "context_ids" TEXT[],
    "restricted" BOOLEAN NOT NULL DEFAULT false,
    "status" "api_key_status" NOT NULL DEFAULT 'active',
    "expires_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("api_key_id")
);

-- CreateTable
CREATE TABLE "file_contexts" (
    "context_id" TEXT COLLATE "C" NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "context_key" TEXT NOT NULL,
    "display_name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "allowed_extensions" TEXT[],
    "max_file_size_mb" INTEGER NOT NULL,
    "storage_path_template" TEXT NOT NULL DEFAULT '{context_key}/{year}/{month}',
    "reject_blank_files" BOOLEAN NOT NULL DEFAULT true,
    "reject_corrupt_files" BOOLEAN NOT NULL DEFAULT true,
    "scan_for_viruses" BOOLEAN NOT NULL DEFAULT true,
    "storage_quota_mb" INTEGER NOT NULL DEFAULT 10240,
    "status" "context_status" NOT NULL DEFAULT 'active',
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "file_contexts_pkey" PRIMARY KEY ("context_id")
);

-- CreateTable
CREATE TABLE "files" (
    "file_id" TEXT COLLATE "C" NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "context_id" TEXT COLLATE "C" NOT NULL,
    "original_filename" TEXT NOT NULL,
    "content_type" TEXT NOT NULL,
    "size_bytes" BIGINT NOT NULL,
    "checksum" TEXT NOT NULL,
    "blob_path" TEXT COLLATE "C" NOT NULL,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "validation" JSONB NOT NULL,
    "uploaded_by" TEXT NOT NULL,
    "uploaded_by_name" TEXT,
    "download_count" BIGINT NOT NULL DEFAULT 0,
    "last_downloaded_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "files_pkey" PRIMARY KEY ("file_id")
);

-- CreateTable
CREATE TABLE "call_logs" (
    "call_id" TEXT COLLATE "C" NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "api_key_id" TEXT COLLATE "C" NOT NULL,
    "api_key_name" TEXT NOT NULL,
    "operation" "operation" NOT NULL,
    "status" "call_status" NOT NULL,
    "file_id" TEXT COLLATE "C",
    "context_key" TEXT,
    "error_code" TEXT,
    "error_message" TEXT,
    "validation" JSONB,
    "ip_address" TEXT NOT NULL,
    "user_agent" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "call_logs_pkey" PRIMARY KEY ("call_id")
) PARTITION BY RANGE ("call_id");

-- CreateTable
CREATE TABLE "audit_logs" (
    "audit_id" TEXT COLLATE "C" NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "audit_type" "audit_type" NOT NULL,
    "action" "audit_action" NOT NULL,
    "entity_type" TEXT NOT NULL,
    "entity_id" TEXT NOT NULL,
    "entity_name" TEXT NOT NULL,
    "performed_by_id" TEXT NOT NULL,
    "performed_by_name" TEXT NOT NULL,
    "performed_by_email" TEXT,
    "performed_by_type" "performer_type" NOT NULL,
    "performed_by_scopes" "scope"[],
    "details" JSONB NOT NULL DEFAULT '{}',
    "ip_address" TEXT NOT NULL,
    "user_agent" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "audit_logs_pkey" PRIMARY KEY ("audit_id")
);

-- CreateTable
CREATE TABLE "usage_counters" (
    "tenant_id" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "grain" "usage_grain" NOT NULL,
    "bucket" TIMESTAMPTZ(3) NOT NULL,
    "upload_success" BIGINT NOT NULL DEFAULT 0,
    "upload_failure" BIGINT NOT NULL DEFAULT 0,
    "download_success" BIGINT NOT NULL DEFAULT 0,
    "download_failure" BIGINT NOT NULL DEFAULT 0,
    "metadata_success" BIGINT NOT NULL DEFAULT 0,
    "metadata_failure" BIGINT NOT NULL DEFAULT 0,
    "delete_success" BIGINT NOT NULL DEFAULT 0,
    "delete_failure" BIGINT NOT NULL DEFAULT 0,
    "files_uploaded" BIGINT NOT NULL DEFAULT 0,
    "bytes_uploaded" BIGINT NOT NULL DEFAULT 0,
    "files_deleted" BIGINT NOT NULL DEFAULT 0,
    "bytes_deleted" BIGINT NOT NULL DEFAULT 0,
    "downloads" BIGINT NOT NULL DEFAULT 0,
    "bytes_downloaded" BIGINT NOT NULL DEFAULT 0,
    "invalid_extension" BIGINT NOT NULL DEFAULT 0,
    "size_exceeded" BIGINT NOT NULL DEFAULT 0,
    "blank_file" BIGINT NOT NULL DEFAULT 0,
    "corrupt_file" BIGINT NOT NULL DEFAULT 0,
    "virus_detected" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "usage_counters_pkey" PRIMARY KEY ("tenant_id","subject","grain","bucket")
);

-- CreateTable
CREATE TABLE "file_totals" (
    "tenant_id" TEXT NOT NULL,
    "context_id" TEXT COLLATE "C" NOT NULL,
    "uploaded_by" TEXT NOT NULL,
    "files" BIGINT NOT NULL DEFAULT 0,
    "bytes" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "file_totals_pkey" PRIMARY KEY ("tenant_id","context_id","uploaded_by")
);

-- CreateTable
CREATE TABLE "audit_counters" (
    "tenant_id" TEXT NOT NULL,
    "audit_type" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "grain" "usage_grain" NOT NULL,
    "bucket" TIMESTAMPTZ(3) NOT NULL,
    "entries" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "audit_counters_pkey" PRIMARY KEY ("tenant_id","audit_type","action","grain","bucket")
);

-- CreateTable
CREATE TABLE "blob_garbage" (
    "blob_path" TEXT COLLATE "C" NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "blob_garbage_pkey" PRIMARY KEY ("blob_path")
);

-- CreateTable
CREATE TABLE "idempotency_keys" (
    "tenant_id" TEXT NOT NULL,
    "actor_id" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "operation" TEXT NOT NULL,
    "request_hash" TEXT,
    "response" JSONB,
    "locked_until" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("tenant_id","actor_id","key")
);

-- CreateTable
CREATE TABLE "rate_limits" (
    "key" TEXT NOT NULL,
    "window_start" TIMESTAMPTZ(3) NOT NULL,
    "points" BIGINT NOT NULL DEFAULT 0,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "rate_limits_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "storage_findings" (
    "blob_path" TEXT COLLATE "C" NOT NULL,
    "kind" TEXT NOT NULL,
    "tenant_id" TEXT,
    "file_id" TEXT COLLATE "C",
    "found_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "storage_findings_pkey" PRIMARY KEY ("blob_path","kind")
);

-- CreateTable
CREATE TABLE "service_state" (
    "key" TEXT NOT NULL,
    "value" JSONB NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "service_state_pkey" PRIMARY KEY ("key")
);

-- CreateIndex
CREATE INDEX "users_email_idx" ON "users"("email");

-- CreateIndex
CREATE UNIQUE INDEX "users_tenant_id_email_key" ON "users"("tenant_id", "email");

-- CreateIndex
CREATE UNIQUE INDEX "users_tenant_id_issuer_subject_key" ON "users"("tenant_id", "issuer", "subject");

-- CreateIndex
CREATE INDEX "sessions_user_id_idx" ON "sessions"("user_id");

-- CreateIndex
CREATE INDEX "sessions_expires_at_idx" ON "sessions"("expires_at");

-- CreateIndex
CREATE INDEX "signing_keys_purpose_created_at_idx" ON "signing_keys"("purpose", "created_at");

-- CreateIndex
CREATE UNIQUE INDEX "api_keys_secret_hash_key" ON "api_keys"("secret_hash");

-- CreateIndex
CREATE UNIQUE INDEX "api_keys_previous_secret_hash_key" ON "api_keys"("previous_secret_hash");

-- CreateIndex
CREATE INDEX "api_keys_tenant_id_api_key_id_idx" ON "api_keys"("tenant_id", "api_key_id" DESC);

-- CreateIndex
CREATE INDEX "api_keys_tenant_id_status_api_key_id_idx" ON "api_keys"("tenant_id", "status", "api_key_id" DESC);

-- CreateIndex
CREATE INDEX "file_contexts_tenant_id_context_id_idx" ON "file_contexts"("tenant_id", "context_id" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "file_contexts_tenant_id_context_key_key" ON "file_contexts"("tenant_id", "context_key");

-- CreateIndex
CREATE UNIQUE INDEX "file_contexts_tenant_id_context_id_key" ON "file_contexts"("tenant_id", "context_id");

-- CreateIndex
CREATE UNIQUE INDEX "files_blob_path_key" ON "files"("blob_path");

-- CreateIndex
CREATE INDEX "files_tenant_id_file_id_idx" ON "files"("tenant_id", "file_id" DESC);

-- CreateIndex
CREATE INDEX "files_tenant_id_context_id_file_id_idx" ON "files"("tenant_id", "context_id", "file_id" DESC);

-- CreateIndex
CREATE INDEX "files_tenant_id_uploaded_by_file_id_idx" ON "files"("tenant_id", "uploaded_by", "file_id" DESC);

-- CreateIndex
CREATE INDEX "files_tenant_id_context_id_uploaded_by_file_id_idx" ON "files"("tenant_id", "context_id", "uploaded_by", "file_id" DESC);

-- CreateIndex
CREATE INDEX "call_logs_tenant_id_call_id_idx" ON "call_logs"("tenant_id", "call_id" DESC);

-- CreateIndex
CREATE INDEX "call_logs_tenant_id_operation_status_call_id_idx" ON "call_logs"("tenant_id", "operation", "status", "call_id" DESC);

-- CreateIndex
CREATE INDEX "call_logs_tenant_id_api_key_id_operation_status_call_id_idx" ON "call_logs"("tenant_id", "api_key_id", "operation", "status", "call_id" DESC);

-- CreateIndex
CREATE INDEX "audit_logs_tenant_id_audit_id_idx" ON "audit_logs"("tenant_id", "audit_id" DESC);

-- CreateIndex
CREATE INDEX "audit_logs_tenant_id_audit_type_action_audit_id_idx" ON "audit_logs"("tenant_id", "audit_type", "action", "audit_id" DESC);

-- CreateIndex
CREATE INDEX "audit_logs_tenant_id_action_audit_id_idx" ON "audit_logs"("tenant_id", "action", "audit_id" DESC);

-- CreateIndex
CREATE INDEX "audit_logs_tenant_id_entity_id_audit_id_idx" ON "audit_logs"("tenant_id", "entity_id", "audit_id" DESC);

-- CreateIndex
CREATE INDEX "blob_garbage_due_at_idx" ON "blob_garbage"("due_at");

-- CreateIndex
CREATE INDEX "idempotency_keys_created_at_idx" ON "idempotency_keys"("created_at");

-- CreateIndex
CREATE INDEX "rate_limits_expires_at_idx" ON "rate_limits"("expires_at");

-- AddForeignKey
ALTER TABLE "users" ADD CONSTRAINT "users_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("tenant_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("user_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("tenant_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "file_contexts" ADD CONSTRAINT "file_contexts_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("tenant_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "files" ADD CONSTRAINT "files_tenant_id_context_id_fkey" FOREIGN KEY ("tenant_id", "context_id") REFERENCES "file_contexts"("tenant_id", "context_id") ON DELETE RESTRICT ON UPDATE CASCADE;


-- What Prisma's schema cannot say.

-- Ranges and states.
ALTER TABLE "tenants" ADD CONSTRAINT "tenants_storage_quota_mb_check" CHECK ("storage_quota_mb" >= 1),
  ADD CONSTRAINT "tenants_name_check" CHECK (char_length("name") BETWEEN 1 AND 255);
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_name_check" CHECK (char_length("name") BETWEEN 1 AND 255),
  ADD CONSTRAINT "api_keys_metadata_check" CHECK (jsonb_typeof("metadata") = 'object');
ALTER TABLE "file_contexts" ADD CONSTRAINT "file_contexts_context_key_check" CHECK ("context_key" ~ '^[a-z][a-z0-9_]{0,62}$'),
  ADD CONSTRAINT "file_contexts_display_name_check" CHECK (char_length("display_name") BETWEEN 1 AND 255),
  ADD CONSTRAINT "file_contexts_allowed_extensions_check" CHECK (cardinality("allowed_extensions") BETWEEN 1 AND 100),
  ADD CONSTRAINT "file_contexts_max_file_size_mb_check" CHECK ("max_file_size_mb" >= 1),
  ADD CONSTRAINT "file_contexts_storage_quota_mb_check" CHECK ("storage_quota_mb" >= 1),
  ADD CONSTRAINT "file_contexts_metadata_check" CHECK (jsonb_typeof("metadata") = 'object');
ALTER TABLE "files" ADD CONSTRAINT "files_size_bytes_check" CHECK ("size_bytes" >= 0),
  ADD CONSTRAINT "files_download_count_check" CHECK ("download_count" >= 0),
  ADD CONSTRAINT "files_checksum_check" CHECK ("checksum" ~ '^[0-9a-f]{64}$'),
  ADD CONSTRAINT "files_original_filename_check" CHECK (octet_length("original_filename") BETWEEN 1 AND 255);

-- Rows that every group of calls updates: room on their pages keeps those updates off the indexes (HOT).
ALTER TABLE "usage_counters" SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
ALTER TABLE "file_totals" SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
ALTER TABLE "audit_counters" SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
ALTER TABLE "files" SET (fillfactor = 80);

-- One key of each purpose signs now: two replicas that rotate at once cannot both win.
CREATE UNIQUE INDEX "signing_keys_current_key" ON "signing_keys" ("purpose") WHERE "retired_at" IS NULL;

-- Counts of a minute that may be lost with the server: not worth its write-ahead log.
ALTER TABLE "rate_limits" SET UNLOGGED;
