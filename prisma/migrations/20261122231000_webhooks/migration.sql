-- Where a tenant's events are sent. How far each has come stands apart: it changes with every delivery, the rest hardly ever.
CREATE TABLE "webhooks" (
    "tenant_id" TEXT NOT NULL,
    "webhook_id" TEXT COLLATE "C" NOT NULL,
    "url" TEXT NOT NULL,
    "types" TEXT[],
    "contexts" TEXT[],
    "description" TEXT NOT NULL DEFAULT '',
    "status" TEXT NOT NULL DEFAULT 'active',
    "disabled_reason" TEXT,
    "secret_encrypted" BYTEA NOT NULL,
    "previous_secret_encrypted" BYTEA,
    "previous_expires_at" TIMESTAMPTZ(3),
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "webhooks_pkey" PRIMARY KEY ("tenant_id", "webhook_id"),
    CONSTRAINT "webhooks_status_check" CHECK ("status" IN ('active', 'disabled')),
    CONSTRAINT "webhooks_disabled_reason_check" CHECK ("disabled_reason" IN ('requested', 'gone', 'failing'))
);
ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("tenant_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- `sequence` is the last event that was delivered, given up or not asked for. `claim` goes up with each process that takes the webhook on,
-- and whatever it writes counts only while it is still its own.
CREATE TABLE "webhook_positions" (
    "tenant_id" TEXT NOT NULL,
    "webhook_id" TEXT COLLATE "C" NOT NULL,
    "sequence" BIGINT NOT NULL,
    "claim" BIGINT NOT NULL DEFAULT 0,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3),
    "failing_since" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_positions_pkey" PRIMARY KEY ("tenant_id", "webhook_id")
);

-- Each event that was sent, or is being sent, to a webhook; the newest of each are kept.
CREATE TABLE "webhook_deliveries" (
    "tenant_id" TEXT NOT NULL,
    "webhook_id" TEXT COLLATE "C" NOT NULL,
    "delivery_id" TEXT COLLATE "C" NOT NULL,
    "sequence" BIGINT,
    "event_id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL,
    "response_status" INTEGER,
    "error" TEXT,
    "duration_ms" INTEGER,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "attempted_at" TIMESTAMPTZ(3) NOT NULL,
    "next_attempt_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("tenant_id", "webhook_id", "delivery_id"),
    CONSTRAINT "webhook_deliveries_status_check" CHECK ("status" IN ('pending', 'delivered', 'failed'))
);
