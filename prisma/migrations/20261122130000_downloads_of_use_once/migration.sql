-- Download URLs of use once that were used, until they expire.
CREATE TABLE "spent_downloads" (
    "tenant_id" TEXT NOT NULL,
    "nonce" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "spent_downloads_pkey" PRIMARY KEY ("tenant_id","nonce")
);
ALTER TABLE "spent_downloads" ADD CONSTRAINT "spent_downloads_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("tenant_id") ON DELETE CASCADE ON UPDATE CASCADE;
