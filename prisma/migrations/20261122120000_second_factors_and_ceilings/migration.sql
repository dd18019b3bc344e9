-- A second factor for dashboard users, which a tenant may require; and how far a tenant may raise its own quota.
ALTER TABLE "users" ADD COLUMN "totp_secret" BYTEA,
  ADD COLUMN "totp_confirmed_at" TIMESTAMPTZ(3),
  ADD COLUMN "totp_last_step" INTEGER NOT NULL DEFAULT 0,
  ADD COLUMN "recovery_codes" BYTEA[] NOT NULL DEFAULT '{}';
ALTER TABLE "tenants" ADD COLUMN "second_factor_required" BOOLEAN NOT NULL DEFAULT false,
  ADD COLUMN "storage_quota_ceiling_mb" INTEGER NOT NULL DEFAULT 102400;
UPDATE "tenants" SET "storage_quota_ceiling_mb" = "storage_quota_mb";
