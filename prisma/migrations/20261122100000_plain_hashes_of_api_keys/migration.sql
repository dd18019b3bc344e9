-- Keys are kept as a plain SHA-256 from here on; a pepper is named only where an earlier version's hash is still under it.
ALTER TABLE "api_keys" ALTER COLUMN "pepper_id" DROP NOT NULL;
