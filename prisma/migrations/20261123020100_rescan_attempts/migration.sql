-- Bounded attempts for each file of a rescan. Readiness reports the reason of a failed attempt.

-- Why the last attempt failed. Null: no attempt has failed.
ALTER TABLE "rescan_queue" ADD COLUMN "failure" TEXT;
-- Why a file of the current rescan was given up.
ALTER TABLE "rescans" ADD COLUMN "failure" TEXT;
-- Readiness reads both every five seconds.
CREATE INDEX "rescan_queue_failed" ON "rescan_queue"("tenant_id") WHERE "failure" IS NOT NULL;
CREATE INDEX "rescans_failed" ON "rescans"("tenant_id") WHERE "failed" > 0;

-- As before, and:
-- - A file that was given up counts as failed, not as scanned. A later successful scan with the same signatures may add its report.
-- - A restored file without a virus in its quarantine row was only waiting for this scan, and leaves the quarantine.
CREATE OR REPLACE FUNCTION rescan_keep(tenant text, context text, holder text, results jsonb, again boolean) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  kept bigint;
BEGIN
  PERFORM FROM tenant_heads WHERE tenant_id = tenant FOR KEY SHARE;
  WITH given AS (SELECT * FROM jsonb_to_recordset(results) AS r(file_id text, validated_at timestamptz, report jsonb, bytes bigint, failed boolean, failure text)),
  mine AS (DELETE FROM rescan_queue q USING given g WHERE q.tenant_id = tenant AND q.file_id = g.file_id AND q.token = holder RETURNING g.*),
  reported AS (INSERT INTO validation_reports (tenant_id, file_id, validated_at, report)
    SELECT tenant, m.file_id, m.validated_at, m.report FROM mine m WHERE m.report IS NOT NULL
      AND EXISTS (SELECT FROM files f WHERE f.tenant_id = tenant AND f.file_id = m.file_id)
      AND (again OR NOT EXISTS (SELECT FROM validation_reports v WHERE v.tenant_id = tenant AND v.file_id = m.file_id
        AND v.report->'engine'->>'name' = m.report->'engine'->>'name' AND v.report->'engine'->>'signaturesVersion' = m.report->'engine'->>'signaturesVersion'
        AND (m.failed OR NOT v.report @> '{"checks": [{"evidence": {"scan_failed": true}}]}')))
    ON CONFLICT DO NOTHING),
  released AS (DELETE FROM quarantine q USING mine m WHERE q.tenant_id = tenant AND q.file_id = m.file_id AND q.viruses = '[]' AND NOT m.failed RETURNING q.file_id),
  served AS (UPDATE files f SET quarantined_at = NULL FROM released r WHERE f.tenant_id = tenant AND f.file_id = r.file_id),
  counted AS (SELECT count(*) AS passed, count(report) FILTER (WHERE NOT failed) AS scanned, coalesce(sum(bytes), 0) AS bytes,
    count(*) FILTER (WHERE failed) AS failed, max(failure) AS failure FROM mine),
  told AS (UPDATE rescans w SET passed = w.passed + c.passed, scanned = w.scanned + c.scanned, bytes = w.bytes + c.bytes, failed = w.failed + c.failed,
      failure = coalesce(c.failure, w.failure), paused_at = NULL
    FROM counted c WHERE w.tenant_id = tenant AND w.context_id = context)
  SELECT passed INTO kept FROM counted;
  RETURN kept;
END $$;
