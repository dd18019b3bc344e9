-- How many files lie in which stretch of ids, for each filter of their list: a page at any depth begins in a stretch that is
-- found by adding up, and no page skips more rows than a stretch holds.

-- CreateTable
CREATE TABLE "file_ranges" (
    "tenant_id" TEXT NOT NULL,
    "context_id" TEXT COLLATE "C" NOT NULL,
    "uploaded_by" TEXT NOT NULL,
    "from_id" TEXT COLLATE "C" NOT NULL,
    "files" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "file_ranges_pkey" PRIMARY KEY ("tenant_id","context_id","uploaded_by","from_id")
);

-- Updated with every group of uploads.
ALTER TABLE "file_ranges" SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);

-- By trigger, so that no statement that adds or removes files can forget it.
CREATE FUNCTION count_file_ranges() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- A tenant's first range is the lock of all of them: a split changes what the next statement looks up.
  PERFORM FROM file_ranges r
    WHERE r.context_id = '' AND r.uploaded_by = '' AND r.from_id = '' AND r.tenant_id IN (SELECT m.tenant_id FROM moved m)
    ORDER BY r.tenant_id FOR NO KEY UPDATE;
  INSERT INTO file_ranges AS r (tenant_id, context_id, uploaded_by, from_id, files)
    SELECT m.tenant_id, f.context_id, f.uploaded_by, coalesce((
        SELECT x.from_id FROM file_ranges x
        WHERE x.tenant_id = m.tenant_id AND x.context_id = f.context_id AND x.uploaded_by = f.uploaded_by AND x.from_id <= m.file_id
        ORDER BY x.from_id DESC LIMIT 1), '') AS from_id,
      CASE TG_OP WHEN 'DELETE' THEN -count(*) ELSE count(*) END
    FROM moved m CROSS JOIN LATERAL (VALUES ('', ''), (m.context_id, ''), ('', m.uploaded_by), (m.context_id, m.uploaded_by)) f(context_id, uploaded_by)
    GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (tenant_id, context_id, uploaded_by, from_id) DO UPDATE SET files = r.files + excluded.files;
  RETURN NULL;
END $$;

-- Cuts the largest range that holds more than twice `most` files, up to `cuts` times; gives how often. `most` stay in each.
CREATE FUNCTION split_file_ranges(most bigint DEFAULT 4096, cuts int DEFAULT 16) RETURNS int LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  r file_ranges;
  upper_id text;
  cut text;
  done int := 0;
BEGIN
  SELECT * INTO r FROM file_ranges WHERE files > 2 * most ORDER BY files DESC LIMIT 1;
  IF NOT FOUND THEN RETURN 0; END IF;
  PERFORM FROM file_ranges x WHERE x.tenant_id = r.tenant_id AND x.context_id = '' AND x.uploaded_by = '' AND x.from_id = '' FOR UPDATE;
  SELECT x.* INTO r FROM file_ranges x WHERE (x.tenant_id, x.context_id, x.uploaded_by, x.from_id) = (r.tenant_id, r.context_id, r.uploaded_by, r.from_id);
  SELECT min(x.from_id) INTO upper_id FROM file_ranges x
    WHERE x.tenant_id = r.tenant_id AND x.context_id = r.context_id AND x.uploaded_by = r.uploaded_by AND x.from_id > r.from_id;
  WHILE done < cuts AND r.files > 2 * most LOOP
    done := done + 1;
    SELECT f.file_id INTO cut FROM files f
      WHERE f.tenant_id = r.tenant_id AND (r.context_id = '' OR f.context_id = r.context_id) AND (r.uploaded_by = '' OR f.uploaded_by = r.uploaded_by)
        AND f.file_id >= r.from_id AND (upper_id IS NULL OR f.file_id < upper_id)
      ORDER BY f.file_id OFFSET most LIMIT 1;
    IF cut IS NULL THEN
      -- Fewer than it says: it is counted anew.
      UPDATE file_ranges x SET files = (SELECT count(*) FROM files f
        WHERE f.tenant_id = r.tenant_id AND (r.context_id = '' OR f.context_id = r.context_id) AND (r.uploaded_by = '' OR f.uploaded_by = r.uploaded_by)
          AND f.file_id >= r.from_id AND (upper_id IS NULL OR f.file_id < upper_id))
        WHERE (x.tenant_id, x.context_id, x.uploaded_by, x.from_id) = (r.tenant_id, r.context_id, r.uploaded_by, r.from_id);
      EXIT;
    END IF;
    UPDATE file_ranges x SET files = most
      WHERE (x.tenant_id, x.context_id, x.uploaded_by, x.from_id) = (r.tenant_id, r.context_id, r.uploaded_by, r.from_id);
    INSERT INTO file_ranges VALUES (r.tenant_id, r.context_id, r.uploaded_by, cut, r.files - most);
    r.from_id := cut;
    r.files := r.files - most;
  END LOOP;
  RETURN done;
END $$;

-- Holds writers of files for the moment that the two statements below it take: what they read is then what the triggers start from.
CREATE TRIGGER "files_added" AFTER INSERT ON "files" REFERENCING NEW TABLE AS moved FOR EACH STATEMENT EXECUTE FUNCTION count_file_ranges();
CREATE TRIGGER "files_removed" AFTER DELETE ON "files" REFERENCING OLD TABLE AS moved FOR EACH STATEMENT EXECUTE FUNCTION count_file_ranges();
INSERT INTO "file_ranges" SELECT tenant_id, context_id, uploaded_by, '', files FROM "file_totals";
