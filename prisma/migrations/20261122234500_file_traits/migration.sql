-- What the last report leaves open of a file, or says against it, as bits: a question about all files of a context then reads no reports.
--   1 not judged for blankness   2 not for damage   4 not for passwords and active content   8 encrypted   16 active content
--   32 not scanned   64 not scanned completely   256 infected
-- 0, which most files have, is a file that passed every check. Null: kept before there were traits; its report is asked.
ALTER TABLE "files" ADD COLUMN "traits" SMALLINT;
ALTER TABLE "files" ALTER COLUMN "traits" SET DEFAULT 0;

CREATE FUNCTION report_traits(report jsonb) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
  SELECT (CASE WHEN report ? 'rulesVersion' THEN 0 ELSE 4 END | coalesce(bit_or(CASE c->>'check'
    WHEN 'blank_file' THEN CASE c->>'outcome' WHEN 'passed' THEN 0 ELSE 1 END
    WHEN 'corrupt_file' THEN CASE c->>'outcome' WHEN 'passed' THEN 0 ELSE 2 END
      | CASE WHEN (c->'evidence') ? 'encrypted' THEN 8 ELSE 0 END | CASE WHEN (c->'evidence') ? 'active_content' THEN 16 ELSE 0 END
    WHEN 'virus_detected' THEN CASE c->>'outcome' WHEN 'passed' THEN 0 WHEN 'incomplete' THEN 64 WHEN 'failed' THEN 256 ELSE 32 END
    ELSE 0 END), 35))::smallint FROM jsonb_array_elements(report->'checks') c
$$;

-- By trigger, so that no statement that adds a report can forget it. A report without traits changes no row.
CREATE FUNCTION keep_file_traits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE files f SET traits = a.traits
  FROM (SELECT DISTINCT ON (tenant_id, file_id) tenant_id, file_id, report_traits(report) AS traits FROM added ORDER BY tenant_id, file_id, validated_at DESC) a
  WHERE f.tenant_id = a.tenant_id AND f.file_id = a.file_id AND f.traits IS DISTINCT FROM a.traits;
  RETURN NULL;
END $$;
CREATE TRIGGER "reports_added" AFTER INSERT ON "validation_reports" REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION keep_file_traits();
