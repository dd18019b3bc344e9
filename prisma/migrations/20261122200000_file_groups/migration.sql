-- Which contexts, uploaders and types files have together: each is one stretch of the indexes that follow, so that a list which is
-- filtered by any of them, and sorted by what these indexes are, merges stretches and sorts nothing. Rows are only added: a group
-- whose files are gone costs a look at an index, and counts nothing.

-- CreateTable
CREATE TABLE "file_groups" (
    "tenant_id" TEXT NOT NULL,
    "context_id" TEXT COLLATE "C" NOT NULL,
    "uploaded_by" TEXT NOT NULL,
    "content_type" TEXT NOT NULL,

    CONSTRAINT "file_groups_pkey" PRIMARY KEY ("tenant_id","context_id","uploaded_by","content_type")
);

-- By trigger, so that no statement that adds files can forget it.
CREATE FUNCTION add_file_groups() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO file_groups SELECT DISTINCT m.tenant_id, m.context_id, m.uploaded_by, m.content_type FROM moved m
    ORDER BY 1, 2, 3, 4 ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER "files_grouped" AFTER INSERT ON "files" REFERENCING NEW TABLE AS moved FOR EACH STATEMENT EXECUTE FUNCTION add_file_groups();
