-- The last attempt to validate a complete upload that ended without a verdict. The service does not read its bytes again before `decision_retry_at`.
ALTER TABLE "resumable_uploads" ADD COLUMN "decision_error" JSONB,
    ADD COLUMN "decision_attempts" INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN "decision_retry_at" TIMESTAMPTZ(3);
