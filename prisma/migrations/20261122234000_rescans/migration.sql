-- Files that are kept are scanned again when the scanner's signatures change: how far each context has come, and what is in hand.

-- The last walk of a context: newest first, from `top_id` down. What lies at or above `before_id` was taken; what lies at or below
-- `until_id` was looked at by the walk before with the same signatures.
CREATE TABLE "rescans" (
    "tenant_id" TEXT NOT NULL,
    "context_id" TEXT COLLATE "C" NOT NULL,
    "signatures" TEXT NOT NULL,
    "asked" BOOLEAN NOT NULL DEFAULT false,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "finished_at" TIMESTAMPTZ(3),
    "paused_at" TIMESTAMPTZ(3),
    "taken_at" TIMESTAMPTZ(3) NOT NULL,
    "top_id" TEXT COLLATE "C" NOT NULL DEFAULT '',
    "before_id" TEXT COLLATE "C",
    "until_id" TEXT COLLATE "C" NOT NULL DEFAULT '',
    "walked" BOOLEAN NOT NULL DEFAULT false,
    "settled" BOOLEAN NOT NULL DEFAULT false,
    "files" BIGINT NOT NULL,
    "passed" BIGINT NOT NULL DEFAULT 0,
    "scanned" BIGINT NOT NULL DEFAULT 0,
    "bytes" BIGINT NOT NULL DEFAULT 0,
    "infected" BIGINT NOT NULL DEFAULT 0,
    "failed" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "rescans_pkey" PRIMARY KEY ("tenant_id","context_id")
) WITH (fillfactor = 50);
CREATE INDEX "rescans_under_way" ON "rescans"("taken_at") WHERE NOT "walked";

-- Files that a replica scans until `leased_until`; from then on any other may. Restored files are put here as due.
CREATE TABLE "rescan_queue" (
    "tenant_id" TEXT NOT NULL,
    "file_id" TEXT COLLATE "C" NOT NULL,
    "context_id" TEXT COLLATE "C" NOT NULL,
    "leased_until" TIMESTAMPTZ(3) NOT NULL,
    "token" TEXT,
    "attempts" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "rescan_queue_pkey" PRIMARY KEY ("tenant_id","file_id")
);
CREATE INDEX "rescan_queue_leased_until_idx" ON "rescan_queue"("leased_until");

-- In a bucket a quarantined object is moved: when to do so, or to try again; null when it is done.
ALTER TABLE "quarantine" ADD COLUMN "move_due_at" TIMESTAMPTZ(3);
CREATE INDEX "quarantine_to_move" ON "quarantine"("move_due_at") WHERE "move_due_at" IS NOT NULL;
CREATE INDEX "quarantine_tenant_id_quarantined_at_file_id_idx" ON "quarantine"("tenant_id", "quarantined_at" DESC, "file_id" DESC);

-- The results of scans, written where they are still the token's to give. No file that is deleted meanwhile is given a report: the
-- tenant's head keeps deletions out for the moment that this takes. Without `again`, a version of the signatures has one report.
CREATE FUNCTION rescan_keep_1(tenant text, context text, holder text, results jsonb, again boolean) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  kept bigint;
BEGIN
  PERFORM FROM tenant_heads WHERE tenant_id = tenant FOR KEY SHARE;
  WITH given AS (SELECT * FROM jsonb_to_recordset(results) AS r(file_id text, validated_at timestamptz, report jsonb, bytes bigint, failed boolean)),
  mine AS (DELETE FROM rescan_queue q USING given g WHERE q.tenant_id = tenant AND q.file_id = g.file_id AND q.token = holder RETURNING g.*),
  reported AS (INSERT INTO validation_reports (tenant_id, file_id, validated_at, report)
    SELECT tenant, m.file_id, m.validated_at, m.report FROM mine m WHERE m.report IS NOT NULL
      AND EXISTS (SELECT FROM files f WHERE f.tenant_id = tenant AND f.file_id = m.file_id)
      AND (again OR NOT EXISTS (SELECT FROM validation_reports v WHERE v.tenant_id = tenant AND v.file_id = m.file_id
        AND v.report->'engine'->>'name' = m.report->'engine'->>'name' AND v.report->'engine'->>'signaturesVersion' = m.report->'engine'->>'signaturesVersion'))
    ON CONFLICT DO NOTHING),
  counted AS (SELECT count(*) AS passed, count(report) AS scanned, coalesce(sum(bytes), 0) AS bytes, count(*) FILTER (WHERE failed) AS failed FROM mine),
  told AS (UPDATE rescans w SET passed = w.passed + c.passed, scanned = w.scanned + c.scanned, bytes = w.bytes + c.bytes, failed = w.failed + c.failed, paused_at = NULL
    FROM counted c WHERE w.tenant_id = tenant AND w.context_id = context)
  SELECT passed INTO kept FROM counted;
  RETURN kept;
END $$;
