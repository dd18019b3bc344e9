-- What a context's policy says of files that are encrypted, that hold active content, or that could not be scanned completely.
ALTER TABLE "file_contexts" ADD COLUMN "reject_encrypted_files" BOOLEAN NOT NULL DEFAULT false,
  ADD COLUMN "reject_active_content" BOOLEAN NOT NULL DEFAULT false,
  ADD COLUMN "accept_unscanned" BOOLEAN NOT NULL DEFAULT false;
