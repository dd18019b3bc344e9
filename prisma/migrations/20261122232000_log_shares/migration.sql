-- Tokens that read a tenant's log and nothing else, kept as their hashes.
CREATE TABLE "log_shares" (
    "tenant_id" TEXT NOT NULL,
    "share_id" TEXT COLLATE "C" NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "log_shares_pkey" PRIMARY KEY ("tenant_id","share_id")
);
ALTER TABLE "log_shares" ADD CONSTRAINT "log_shares_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("tenant_id") ON DELETE CASCADE ON UPDATE CASCADE;
