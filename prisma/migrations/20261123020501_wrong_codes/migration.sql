-- Wrong codes of the second factor in a row, and until when further codes are rejected.
ALTER TABLE "users" ADD COLUMN "wrong_codes" INTEGER NOT NULL DEFAULT 0,
  ADD COLUMN "codes_locked_until" TIMESTAMPTZ(3);
