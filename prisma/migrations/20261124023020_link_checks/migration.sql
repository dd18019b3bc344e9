-- As before, but in PL/pgSQL: there, the tenant is a parameter of the statement, as Citus requires.
CREATE OR REPLACE FUNCTION ledger_check_links(owner tenants, uploads jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('n', u.n, 'why', 'link')), '[]')
  FROM (SELECT n, context_id, uploaded_by, uploader_kind, link_id, row_number() OVER (PARTITION BY link_id ORDER BY n) AS place
      FROM jsonb_to_recordset(uploads) AS r(n int, context_id text, uploaded_by text, uploader_kind text, link_id text) WHERE link_id IS NOT NULL) u
    LEFT JOIN upload_links l ON l.tenant_id = owner.tenant_id AND l.link_id = u.link_id AND l.context_id = u.context_id AND l.created_by = u.uploaded_by
    LEFT JOIN file_contexts c ON c.tenant_id = owner.tenant_id AND c.context_id = u.context_id
    LEFT JOIN api_keys k ON u.uploader_kind = 'api_key' AND k.tenant_id = owner.tenant_id AND k.api_key_id = u.uploaded_by
    LEFT JOIN users s ON u.uploader_kind = 'user' AND s.tenant_id = owner.tenant_id AND s.user_id = u.uploaded_by
  WHERE owner.status <> 'active' OR (l.revoked_at IS NULL AND l.expires_at > clock_timestamp() AND l.accepted_files + u.place <= l.max_files
    AND c.status = 'active' AND coalesce(k.status, s.status) = 'active' AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
    AND coalesce(k.scopes, s.scopes) && '{upload,admin}') IS NOT TRUE);
END $$;
