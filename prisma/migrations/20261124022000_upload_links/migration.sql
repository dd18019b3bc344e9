-- Links that let a client without an API key upload to one context. Only the hash of the token is stored. allowed_extensions and max_size_mb
-- are null if the link has no limits of its own.
CREATE TABLE upload_links (
  tenant_id text NOT NULL REFERENCES tenants ON UPDATE CASCADE ON DELETE CASCADE,
  link_id text COLLATE "C" NOT NULL,
  token_hash bytea NOT NULL,
  context_id text NOT NULL,
  context_key text NOT NULL,
  max_files int NOT NULL CHECK (max_files BETWEEN 1 AND 1000),
  accepted_files int NOT NULL DEFAULT 0 CHECK (accepted_files BETWEEN 0 AND max_files),
  rejected_files int NOT NULL DEFAULT 0,
  max_size_mb int,
  allowed_extensions text[],
  sha256 text,
  metadata jsonb NOT NULL DEFAULT '{}',
  origins text[],
  created_by text NOT NULL,
  created_by_kind text NOT NULL CHECK (created_by_kind IN ('api_key', 'user')),
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  revoked_at timestamptz(3),
  PRIMARY KEY (tenant_id, link_id)
);

CREATE INDEX upload_links_by_expiry ON upload_links (tenant_id, expires_at);

-- The link through which a file was uploaded. A row outlives its file, which may be in the trash, and is deleted with its link.
CREATE TABLE upload_link_files (
  tenant_id text NOT NULL,
  file_id text COLLATE "C" NOT NULL,
  link_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant_id, file_id),
  FOREIGN KEY (tenant_id, link_id) REFERENCES upload_links (tenant_id, link_id) ON DELETE CASCADE
);

CREATE INDEX upload_link_files_by_link ON upload_link_files (tenant_id, link_id);

ALTER FUNCTION ledger_check_uploads(tenants, jsonb, bigint) RENAME TO ledger_check_files;

-- Uploads whose link does not accept a file: it is revoked, expired or used up, its creator may not upload any more, or its context is not active.
-- Of the uploads of one link, the first ones get its remaining files. The lock of the tenant is held, so that no other transaction changes a link.
CREATE FUNCTION ledger_check_links(owner tenants, uploads jsonb) RETURNS jsonb LANGUAGE sql AS $$
  SELECT coalesce(jsonb_agg(jsonb_build_object('n', u.n, 'why', 'link')), '[]')
  FROM (SELECT n, context_id, uploaded_by, uploader_kind, link_id, row_number() OVER (PARTITION BY link_id ORDER BY n) AS place
      FROM jsonb_to_recordset(uploads) AS r(n int, context_id text, uploaded_by text, uploader_kind text, link_id text) WHERE link_id IS NOT NULL) u
    LEFT JOIN upload_links l ON l.tenant_id = owner.tenant_id AND l.link_id = u.link_id AND l.context_id = u.context_id AND l.created_by = u.uploaded_by
    LEFT JOIN file_contexts c ON c.tenant_id = owner.tenant_id AND c.context_id = u.context_id
    LEFT JOIN api_keys k ON u.uploader_kind = 'api_key' AND k.tenant_id = owner.tenant_id AND k.api_key_id = u.uploaded_by
    LEFT JOIN users s ON u.uploader_kind = 'user' AND s.tenant_id = owner.tenant_id AND s.user_id = u.uploaded_by
  WHERE owner.status <> 'active' OR (l.revoked_at IS NULL AND l.expires_at > clock_timestamp() AND l.accepted_files + u.place <= l.max_files
    AND c.status = 'active' AND coalesce(k.status, s.status) = 'active' AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
    AND coalesce(k.scopes, s.scopes) && '{upload,admin}') IS NOT TRUE
$$;

-- The checks of the files, after those of their links. Counts each accepted upload of a link: the count is part of the transaction that inserts the file.
CREATE FUNCTION ledger_check_uploads(owner tenants, uploads jsonb, held bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  refusals jsonb;
BEGIN
  IF NOT uploads @? '$[*].link_id' THEN
    RETURN ledger_check_files(owner, uploads, held);
  END IF;
  refusals := ledger_check_links(owner, uploads);
  refusals := refusals || ledger_check_files(owner, (SELECT coalesce(jsonb_agg(u ORDER BY place), '[]')
    FROM jsonb_array_elements(uploads) WITH ORDINALITY AS l(u, place) WHERE NOT refusals @> jsonb_build_array(jsonb_build_object('n', u->'n'))), held);
  INSERT INTO upload_link_files (tenant_id, file_id, link_id)
  SELECT owner.tenant_id, u.file_id, u.link_id FROM jsonb_to_recordset(uploads) AS u(n int, file_id text, link_id text)
  WHERE u.link_id IS NOT NULL AND NOT refusals @> jsonb_build_array(jsonb_build_object('n', u.n));
  UPDATE upload_links l SET accepted_files = l.accepted_files + a.files
  FROM (SELECT u.link_id, count(*)::int AS files FROM jsonb_to_recordset(uploads) AS u(n int, link_id text)
    WHERE u.link_id IS NOT NULL AND NOT refusals @> jsonb_build_array(jsonb_build_object('n', u.n)) GROUP BY 1) a
  WHERE l.tenant_id = owner.tenant_id AND l.link_id = a.link_id;
  RETURN refusals;
END $$;
