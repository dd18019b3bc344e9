-- Where a session began: shown to admins, and how an address is known to have signed in of late.
ALTER TABLE "sessions" ADD COLUMN "ip_address" TEXT NOT NULL DEFAULT '', ADD COLUMN "user_agent" TEXT NOT NULL DEFAULT '';
