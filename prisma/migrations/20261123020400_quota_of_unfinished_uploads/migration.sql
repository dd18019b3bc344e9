-- Received bytes of unfinished uploads count against the quotas. A request reserves the bytes of a part before it stores them:
-- `incoming_bytes`, which is 0 again when the part is added or when the request ends.
ALTER TABLE "resumable_uploads" ADD COLUMN "incoming_bytes" BIGINT NOT NULL DEFAULT 0;

-- One row per tenant. Reservations lock it, so that parallel requests cannot exceed a quota together. Other writers of the tenant do not wait for it.
CREATE TABLE "upload_guards" (
    "tenant_id" TEXT NOT NULL,

    CONSTRAINT "upload_guards_pkey" PRIMARY KEY ("tenant_id")
);

-- Quotas, bytes of files, and received bytes of unfinished uploads, of the tenant and of the upload's context. The context's values are null if it
-- does not exist any more.
CREATE FUNCTION upload_room(tenant text, upload text) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
  context text;
  tenant_unfinished bigint;
  context_unfinished bigint;
  tenant_room jsonb;
  context_room jsonb;
BEGIN
  SELECT context_key INTO context FROM resumable_uploads WHERE tenant_id = tenant AND upload_id = upload;
  SELECT coalesce(sum(offset_bytes + incoming_bytes), 0), coalesce(sum(offset_bytes + incoming_bytes) FILTER (WHERE context_key = context), 0)
  INTO tenant_unfinished, context_unfinished
  FROM resumable_uploads WHERE tenant_id = tenant AND decided_at IS NULL AND expires_at > now();
  SELECT jsonb_build_object('quota', t.storage_quota_mb * 1048576::bigint, 'stored', h.bytes, 'unfinished', tenant_unfinished) INTO tenant_room
  FROM tenants t JOIN tenant_heads h ON h.tenant_id = tenant WHERE t.tenant_id = tenant;
  SELECT jsonb_build_object('quota', c.storage_quota_mb * 1048576::bigint, 'stored', coalesce(f.bytes, 0), 'unfinished', context_unfinished) INTO context_room
  FROM file_contexts c LEFT JOIN file_totals f ON f.tenant_id = tenant AND f.context_id = c.context_id WHERE c.tenant_id = tenant AND c.context_key = context;
  RETURN jsonb_build_object('tenant', tenant_room, 'context', context_room);
END $$;

-- Reserves the bytes of a part for the request that holds the upload's lock. Returns the room before it, and whether it was `reserved`: false if a
-- quota is too small, null if the request does not hold the lock any more.
CREATE FUNCTION reserve_upload_bytes(tenant text, upload text, token text, added bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  room jsonb;
  reserved boolean := false;
BEGIN
  -- The statement that adds the part waits for the disk, and requires this reservation.
  PERFORM set_config('synchronous_commit', 'off', true);
  PERFORM set_config('lock_timeout', '5s', true);
  INSERT INTO upload_guards (tenant_id) VALUES (tenant) ON CONFLICT (tenant_id) DO NOTHING;
  PERFORM FROM upload_guards WHERE tenant_id = tenant FOR UPDATE;
  room := upload_room(tenant, upload);
  IF (room->'tenant'->>'stored')::bigint + (room->'tenant'->>'unfinished')::bigint + added <= (room->'tenant'->>'quota')::bigint
    AND ((room->'context'->>'stored')::bigint + (room->'context'->>'unfinished')::bigint + added <= (room->'context'->>'quota')::bigint) IS NOT FALSE THEN
    UPDATE resumable_uploads SET incoming_bytes = added
    WHERE tenant_id = tenant AND upload_id = upload AND lock_token = token AND decided_at IS NULL AND expires_at > now()
    RETURNING true INTO reserved;
  END IF;
  RETURN room || jsonb_build_object('reserved', reserved);
END $$;
