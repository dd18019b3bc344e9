-- The schema of the service. prisma/schema.prisma describes the same tables for the client; test/database/migrate.test.ts compares them.
-- Indexes, checks, collations, partitions and functions that Prisma cannot express are only here.
--
-- Ids and paths have the collation "C": they sort by byte, on every platform alike, and ids sort by time.
-- States are text with a CHECK instead of enums: adding a value needs no change of type, and distributed PostgreSQL accepts them.

-- ==================== Tenants and credentials ====================

-- A tenant. storage_quota_ceiling_mb belongs to the operator: an admin of the tenant cannot raise the quota above it.
CREATE TABLE tenants (
  tenant_id text PRIMARY KEY,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
  storage_quota_mb integer NOT NULL DEFAULT 102400 CHECK (storage_quota_mb >= 1),
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  created_at timestamptz(3) NOT NULL, updated_at timestamptz(3) NOT NULL,
  second_factor_required boolean NOT NULL DEFAULT false,
  storage_quota_ceiling_mb integer NOT NULL DEFAULT 102400
);

-- Dashboard users. Users of an external identity provider have issuer and subject, and no password. recovery_codes are hashes.
-- wrong_codes counts consecutive wrong codes of the second factor. Further codes are rejected until codes_locked_until.
CREATE TABLE users (
  user_id text PRIMARY KEY,
  tenant_id text NOT NULL REFERENCES tenants ON UPDATE CASCADE ON DELETE CASCADE,
  email text NOT NULL, name text NOT NULL,
  password_hash text,
  scopes text[] CHECK (scopes <@ ARRAY['upload', 'download', 'metadata', 'delete', 'admin']),
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
  issuer text, subject text,
  created_at timestamptz(3) NOT NULL, updated_at timestamptz(3) NOT NULL,
  totp_secret bytea,
  totp_confirmed_at timestamptz(3),
  totp_last_step integer NOT NULL DEFAULT 0,
  recovery_codes bytea[] NOT NULL DEFAULT '{}',
  wrong_codes integer NOT NULL DEFAULT 0,
  codes_locked_until timestamptz(3)
);
-- Sign-in does not name the tenant.
CREATE INDEX users_email_idx ON users (email);
CREATE UNIQUE INDEX users_tenant_id_email_key ON users (tenant_id, email);
CREATE UNIQUE INDEX users_tenant_id_issuer_subject_key ON users (tenant_id, issuer, subject);

-- Sign-ins. The address and the program are shown to admins and identify sign-ins from new places.
CREATE TABLE sessions (
  session_id text PRIMARY KEY,
  user_id text NOT NULL REFERENCES users ON UPDATE CASCADE ON DELETE CASCADE,
  created_at timestamptz(3) NOT NULL, expires_at timestamptz(3) NOT NULL,
  revoked_at timestamptz(3),
  ip_address text NOT NULL DEFAULT '', user_agent text NOT NULL DEFAULT ''
);
CREATE INDEX sessions_expires_at_idx ON sessions (expires_at);
CREATE INDEX sessions_user_id_idx ON sessions (user_id);

-- API keys. Only the SHA-256 of a secret is stored. After a rotation, the previous secret stays valid until previous_expires_at.
-- One unique index per hash: authentication reads one row.
CREATE TABLE api_keys (
  api_key_id text COLLATE "C" PRIMARY KEY,
  tenant_id text NOT NULL REFERENCES tenants ON UPDATE CASCADE ON DELETE CASCADE,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
  key_prefix text NOT NULL,
  secret_hash bytea NOT NULL,
  previous_secret_hash bytea,
  previous_expires_at timestamptz(3),
  scopes text[] CHECK (scopes <@ ARRAY['upload', 'download', 'metadata', 'delete', 'admin']),
  context_ids text[],
  restricted boolean NOT NULL DEFAULT false,
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled', 'revoked')),
  expires_at timestamptz(3), last_used_at timestamptz(3),
  metadata jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(metadata) = 'object'),
  created_by text NOT NULL,
  created_at timestamptz(3) NOT NULL, updated_at timestamptz(3) NOT NULL
);
CREATE UNIQUE INDEX api_keys_previous_secret_hash_key ON api_keys (previous_secret_hash);
CREATE UNIQUE INDEX api_keys_secret_hash_key ON api_keys (secret_hash);
-- Lists of keys, newest first, with and without a status.
CREATE INDEX api_keys_tenant_id_api_key_id_idx ON api_keys (tenant_id, api_key_id DESC);
CREATE INDEX api_keys_tenant_id_status_api_key_id_idx ON api_keys (tenant_id, status, api_key_id DESC);

-- Keys that sign tokens, download URLs, checkpoints and receipts, encrypted with MASTER_KEY. A retired key still verifies until it expires.
CREATE TABLE signing_keys (
  key_id text PRIMARY KEY,
  purpose text NOT NULL,
  secret_encrypted bytea NOT NULL,
  public_jwk jsonb,
  created_at timestamptz(3) NOT NULL,
  retired_at timestamptz(3), expires_at timestamptz(3)
);
-- One current key for each purpose: of two replicas that rotate at the same time, one fails.
CREATE UNIQUE INDEX signing_keys_current_key ON signing_keys (purpose) WHERE retired_at IS NULL;
CREATE INDEX signing_keys_purpose_created_at_idx ON signing_keys (purpose, created_at);

-- Counts of one minute. Unlogged: losing them in a crash is harmless, and they change with every call.
CREATE UNLOGGED TABLE rate_limits (
  key text PRIMARY KEY,
  window_start timestamptz(3) NOT NULL,
  points bigint NOT NULL DEFAULT 0,
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX rate_limits_expires_at_idx ON rate_limits (expires_at);

-- Small values of the service itself, such as the position of the reconciler.
CREATE TABLE service_state (
  key text PRIMARY KEY,
  value jsonb NOT NULL,
  updated_at timestamptz(3) NOT NULL
);

-- ==================== Contexts and files ====================

-- Upload rules. rules_version and updated_at let an upload prove which rules it was checked against.
-- quota_level is the last threshold (80, 95, 100 percent) that was announced as an event.
CREATE TABLE file_contexts (
  context_id text COLLATE "C" PRIMARY KEY,
  tenant_id text NOT NULL REFERENCES tenants ON UPDATE CASCADE ON DELETE CASCADE,
  context_key text NOT NULL CHECK (context_key ~ '^[a-z][a-z0-9_]{0,62}$'),
  display_name text NOT NULL CHECK (char_length(display_name) BETWEEN 1 AND 255),
  description text NOT NULL DEFAULT '',
  allowed_extensions text[] CHECK (cardinality(allowed_extensions) BETWEEN 1 AND 100),
  max_file_size_mb integer NOT NULL CHECK (max_file_size_mb >= 1),
  storage_path_template text NOT NULL DEFAULT '{context_key}/{year}/{month}',
  reject_blank_files boolean NOT NULL DEFAULT true, reject_corrupt_files boolean NOT NULL DEFAULT true,
  scan_for_viruses boolean NOT NULL DEFAULT true,
  storage_quota_mb integer NOT NULL DEFAULT 10240 CHECK (storage_quota_mb >= 1),
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
  metadata jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(metadata) = 'object'),
  created_at timestamptz(3) NOT NULL, updated_at timestamptz(3) NOT NULL,
  reject_encrypted_files boolean NOT NULL DEFAULT false, reject_active_content boolean NOT NULL DEFAULT false,
  accept_unscanned boolean NOT NULL DEFAULT false,
  retention_days integer,
  trash_days integer NOT NULL DEFAULT 0,
  rescan boolean NOT NULL DEFAULT true,
  rules_version integer NOT NULL DEFAULT 1,
  quota_level smallint NOT NULL DEFAULT 0
);
CREATE INDEX file_contexts_tenant_id_context_id_idx ON file_contexts (tenant_id, context_id DESC);
-- Target of the foreign keys that include the tenant.
CREATE UNIQUE INDEX file_contexts_tenant_id_context_id_key ON file_contexts (tenant_id, context_id);
CREATE UNIQUE INDEX file_contexts_tenant_id_context_key_key ON file_contexts (tenant_id, context_key);

-- Every version of the rules of a context, counted from 1.
CREATE TABLE context_versions (
  tenant_id text NOT NULL,
  context_id text COLLATE "C" NOT NULL,
  version integer NOT NULL,
  rules jsonb NOT NULL,
  changed_by text NOT NULL,
  changed_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, context_id, version)
);

-- Stored files. The tenant comes first in every key of a table that grows, so that a distributed PostgreSQL keeps a tenant's rows on one node.
-- Room on each page (fillfactor) keeps updates of the download count off the indexes. traits: see report_traits.
CREATE TABLE files (
  file_id text COLLATE "C" NOT NULL,
  tenant_id text NOT NULL,
  context_id text COLLATE "C" NOT NULL,
  original_filename text NOT NULL CHECK (octet_length(original_filename) BETWEEN 1 AND 255),
  content_type text NOT NULL,
  size_bytes bigint NOT NULL CHECK (size_bytes >= 0),
  checksum text NOT NULL CHECK ((octet_length(checksum) = 64) AND (checksum !~ '[^0-9a-f]')),
  blob_path text COLLATE "C" NOT NULL,
  metadata jsonb NOT NULL DEFAULT '{}',
  uploaded_by text NOT NULL,
  uploaded_by_name text,
  download_count bigint NOT NULL DEFAULT 0 CHECK (download_count >= 0),
  last_downloaded_at timestamptz(3),
  created_at timestamptz(3) NOT NULL, updated_at timestamptz(3) NOT NULL,
  quarantined_at timestamptz(3),
  traits smallint DEFAULT 0,
  FOREIGN KEY (tenant_id, context_id) REFERENCES file_contexts (tenant_id, context_id) ON UPDATE CASCADE ON DELETE RESTRICT,
  PRIMARY KEY (tenant_id, file_id)
) WITH (fillfactor=80);
-- Five indexes, one for each kind of query:
-- Primary key: a file by its id; lists of the tenant by age.
-- Lists of contexts by age, also of an uploader or a type, without reading the table; the next files of a rescan, and the oldest of a context.
CREATE INDEX files_by_context ON files (tenant_id, context_id, file_id, uploaded_by, content_type);
-- Lists sorted by name or size. file_groups has the prefixes that exist, so that a list merges a few index ranges and sorts nothing.
CREATE INDEX files_by_name ON files (tenant_id, context_id, uploaded_by, content_type, lower((original_filename COLLATE "C")), file_id);
CREATE INDEX files_by_size ON files (tenant_id, context_id, uploaded_by, content_type, size_bytes, file_id);
-- The sweep checks that no file has a path before it deletes the blob; verify reads all files in the order of the store's listing.
CREATE UNIQUE INDEX files_tenant_id_blob_path_key ON files (tenant_id, blob_path);

-- Number of files for each combination of context, uploader and type, changed under the lock of the tenant. It gives the totals of lists of an
-- uploader, and the index ranges that a sorted list merges. A combination without files keeps its row.
CREATE TABLE file_groups (
  tenant_id text NOT NULL,
  context_id text COLLATE "C" NOT NULL,
  uploaded_by text NOT NULL, content_type text NOT NULL,
  files bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, context_id, uploaded_by, content_type)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=500);

-- Files and bytes of each context. Changed under the lock of the tenant.
CREATE TABLE file_totals (
  tenant_id text NOT NULL,
  context_id text COLLATE "C" NOT NULL,
  files bigint NOT NULL DEFAULT 0, bytes bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, context_id)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=500);

-- Reports of files, one for each scan. Separate from files, so that lists and metadata read half as many pages.
CREATE TABLE validation_reports (
  tenant_id text NOT NULL,
  file_id text COLLATE "C" NOT NULL,
  validated_at timestamptz(3) NOT NULL,
  report jsonb NOT NULL,
  PRIMARY KEY (tenant_id, file_id, validated_at)
);

-- Deleted files that can be restored. Separate from files, so that no query on files can return them by mistake.
CREATE TABLE trash (
  file_id text COLLATE "C" NOT NULL,
  tenant_id text NOT NULL,
  context_id text COLLATE "C" NOT NULL,
  original_filename text NOT NULL, content_type text NOT NULL,
  size_bytes bigint NOT NULL,
  checksum text NOT NULL,
  blob_path text COLLATE "C" NOT NULL,
  metadata jsonb NOT NULL DEFAULT '{}',
  uploaded_by text NOT NULL,
  uploaded_by_name text,
  download_count bigint NOT NULL DEFAULT 0,
  last_downloaded_at timestamptz(3),
  created_at timestamptz(3) NOT NULL, updated_at timestamptz(3) NOT NULL,
  quarantined_at timestamptz(3),
  deleted_at timestamptz(3) NOT NULL,
  deleted_by text NOT NULL,
  deleted_by_type text NOT NULL CHECK (deleted_by_type IN ('user', 'api_key', 'system')),
  FOREIGN KEY (tenant_id, context_id) REFERENCES file_contexts (tenant_id, context_id) ON UPDATE CASCADE ON DELETE RESTRICT,
  PRIMARY KEY (tenant_id, file_id)
);
CREATE UNIQUE INDEX trash_tenant_id_blob_path_key ON trash (tenant_id, blob_path);
CREATE INDEX trash_tenant_id_context_id_deleted_at_idx ON trash (tenant_id, context_id, deleted_at);
CREATE INDEX trash_tenant_id_deleted_at_file_id_idx ON trash (tenant_id, deleted_at DESC, file_id DESC);

-- Files that cannot be deleted, expire or be purged.
CREATE TABLE holds (
  tenant_id text NOT NULL,
  file_id text COLLATE "C" NOT NULL,
  reason text NOT NULL, held_by text NOT NULL,
  held_by_type text NOT NULL CHECK (held_by_type IN ('user', 'api_key', 'system')),
  held_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, file_id)
);
CREATE INDEX holds_tenant_id_held_at_file_id_idx ON holds (tenant_id, held_at DESC, file_id DESC);

-- Files that a rescan found infected. They stay in files and its counts, but are not served.
CREATE TABLE quarantine (
  tenant_id text NOT NULL,
  file_id text COLLATE "C" NOT NULL, context_id text COLLATE "C" NOT NULL,
  quarantined_at timestamptz(3) NOT NULL,
  signatures text NOT NULL,
  viruses jsonb NOT NULL,
  move_due_at timestamptz(3),
  PRIMARY KEY (tenant_id, file_id)
);
CREATE INDEX quarantine_tenant_id_quarantined_at_file_id_idx ON quarantine (tenant_id, quarantined_at DESC, file_id DESC);
-- In a bucket, the object of a quarantined file is moved.
CREATE INDEX quarantine_to_move ON quarantine (move_due_at) WHERE move_due_at IS NOT NULL;

-- Progress of the rescan of a context: newest first, from top_id downwards. Files at or above before_id were taken.
-- Files at or below until_id were scanned by the previous rescan with the same signatures. failure: why a file was given up.
CREATE TABLE rescans (
  tenant_id text NOT NULL,
  context_id text COLLATE "C" NOT NULL,
  signatures text NOT NULL,
  asked boolean NOT NULL DEFAULT false,
  started_at timestamptz(3) NOT NULL,
  finished_at timestamptz(3), paused_at timestamptz(3),
  taken_at timestamptz(3) NOT NULL,
  top_id text COLLATE "C" NOT NULL DEFAULT '',
  before_id text COLLATE "C",
  until_id text COLLATE "C" NOT NULL DEFAULT '',
  walked boolean NOT NULL DEFAULT false, settled boolean NOT NULL DEFAULT false,
  files bigint NOT NULL,
  passed bigint NOT NULL DEFAULT 0, scanned bigint NOT NULL DEFAULT 0, bytes bigint NOT NULL DEFAULT 0, infected bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  failure text,
  PRIMARY KEY (tenant_id, context_id)
) WITH (fillfactor=50);
-- The next context to continue with.
CREATE INDEX rescans_under_way ON rescans (taken_at) WHERE NOT walked;
-- Readiness reads this index and rescan_queue_failed every five seconds.
CREATE INDEX rescans_failed ON rescans (tenant_id) WHERE failed > 0;

-- Files that one replica scans (see leases), or that wait for their next attempt until leased_until. failure: why the last attempt failed.
CREATE TABLE rescan_queue (
  tenant_id text NOT NULL,
  file_id text COLLATE "C" NOT NULL, context_id text COLLATE "C" NOT NULL,
  leased_until timestamptz(3) NOT NULL,
  lease_token text,
  attempts integer NOT NULL DEFAULT 0,
  failure text,
  PRIMARY KEY (tenant_id, file_id)
);
CREATE INDEX rescan_queue_failed ON rescan_queue (tenant_id) WHERE failure IS NOT NULL;
CREATE INDEX rescan_queue_leased_until_idx ON rescan_queue (leased_until);

-- Paths of blobs without a file. A path is recorded here before its blob is written, and removed by the transaction that inserts the file,
-- so that a crash never leaves an unknown blob. An upload cannot claim a path that a sweep has taken.
CREATE TABLE blob_garbage (
  blob_path text COLLATE "C" NOT NULL,
  due_at timestamptz(3) NOT NULL,
  tenant_id text NOT NULL,
  taken boolean NOT NULL DEFAULT false,
  PRIMARY KEY (tenant_id, blob_path)
);
CREATE INDEX blob_garbage_due_at_idx ON blob_garbage (due_at);

-- Differences between rows and blobs that the reconciler found.
CREATE TABLE storage_findings (
  blob_path text COLLATE "C" NOT NULL,
  kind text NOT NULL, tenant_id text NOT NULL,
  file_id text COLLATE "C",
  found_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, blob_path, kind)
);

-- Single-use download URLs that were used, until they expire.
CREATE TABLE spent_downloads (
  tenant_id text NOT NULL REFERENCES tenants ON UPDATE CASCADE ON DELETE CASCADE,
  nonce text NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, nonce)
);

-- ==================== Uploads ====================

-- Resumable uploads (tus). The row guards the received bytes: a part counts only if offset and lease token are unchanged.
-- lock_wanted: another request waits for the lease.
-- incoming_bytes: reserved for the part that a request stores, 0 when the part is added or the request ends.
-- decision_*: the last validation that ended without a verdict. The bytes are not read again before decision_retry_at.
CREATE TABLE resumable_uploads (
  tenant_id text NOT NULL, upload_id text NOT NULL, actor_id text NOT NULL, context_key text NOT NULL, filename text NOT NULL,
  metadata jsonb NOT NULL DEFAULT '{}',
  upload_metadata text NOT NULL,
  idempotency_key text,
  size_bytes bigint,
  most_bytes bigint NOT NULL,
  offset_bytes bigint NOT NULL DEFAULT 0,
  lease_token text,
  leased_until timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  lock_wanted boolean NOT NULL DEFAULT false,
  outcome jsonb,
  decided_at timestamptz(3),
  created_at timestamptz(3) NOT NULL, expires_at timestamptz(3) NOT NULL,
  incoming_bytes bigint NOT NULL DEFAULT 0,
  decision_error jsonb,
  decision_attempts integer NOT NULL DEFAULT 0,
  decision_retry_at timestamptz(3),
  PRIMARY KEY (tenant_id, upload_id)
);
CREATE INDEX resumable_uploads_expires_at_idx ON resumable_uploads (expires_at);
CREATE INDEX resumable_uploads_tenant_id_decided_at_idx ON resumable_uploads (tenant_id, decided_at);

-- Received parts, as blobs. They stay in blob_garbage until the upload expires, so that they are deleted after a crash.
CREATE TABLE upload_parts (
  tenant_id text NOT NULL, upload_id text NOT NULL,
  start_byte bigint NOT NULL, size_bytes bigint NOT NULL,
  blob_path text NOT NULL,
  PRIMARY KEY (tenant_id, upload_id, start_byte)
);

-- One row per tenant. Reservations of quota for unfinished uploads lock it, so that parallel requests cannot exceed a quota together.
-- Other writers of the tenant do not wait for it.
CREATE TABLE upload_guards (
  tenant_id text PRIMARY KEY
);

-- Responses that a repeated request gets. The request that has the lease stores the response, which ends the lease.
CREATE TABLE idempotency_keys (
  tenant_id text NOT NULL, actor_id text NOT NULL, key text NOT NULL, operation text NOT NULL,
  request_hash text,
  response jsonb,
  leased_until timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  created_at timestamptz(3) NOT NULL,
  lease_token text,
  PRIMARY KEY (tenant_id, actor_id, key)
);
CREATE INDEX idempotency_keys_created_at_idx ON idempotency_keys (created_at);

-- ==================== Ledger ====================

-- The lock of a tenant: every transaction that changes its files or is audited locks this row first. It has the state that those
-- transactions check: stored bytes, and the length and frontier of the journal.
CREATE TABLE tenant_heads (
  tenant_id text PRIMARY KEY REFERENCES tenants ON UPDATE CASCADE ON DELETE CASCADE,
  files bigint NOT NULL DEFAULT 0, bytes bigint NOT NULL DEFAULT 0, journal_length bigint NOT NULL DEFAULT 0,
  journal_frontier bytea[] NOT NULL DEFAULT '{}',
  journal_at timestamptz(3),
  quota_level smallint NOT NULL DEFAULT 0
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=500);

-- Groups of entries that another replica's transaction takes along (see ledger_groups). Unlogged: no guarantee depends on these rows,
-- because the answer is written by the transaction that writes the entries.
CREATE UNLOGGED TABLE pending_moves (
  tenant_id text NOT NULL,
  pending_id bigserial NOT NULL,
  moves jsonb NOT NULL,
  answer jsonb,
  created_at timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (tenant_id, pending_id)
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000);

-- A commit that waits until the log of the database is durable writes to this sequence. setval writes to the log each time and holds no
-- lock until the commit. Some managed databases reject pg_logical_emit_message, which would do the same.
CREATE SEQUENCE wal_flush;

-- ==================== Logs and statistics ====================

-- One row per call. Partitioned by month of the id, so that retention drops whole months; the service creates the partitions.
CREATE TABLE call_logs (
  call_id text COLLATE "C" NOT NULL,
  tenant_id text NOT NULL,
  api_key_id text COLLATE "C" NOT NULL,
  api_key_name text NOT NULL,
  operation text NOT NULL CHECK (operation = ANY ('{upload,download,metadata,delete}'::text[])),
  status text NOT NULL CHECK (status = ANY ('{success,failure}'::text[])),
  file_id text COLLATE "C",
  context_key text, error_code text, error_message text,
  validation jsonb,
  ip_address text NOT NULL, user_agent text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, call_id)
) PARTITION BY RANGE (call_id);
CREATE INDEX call_logs_tenant_id_api_key_id_operation_status_call_id_idx ON call_logs (tenant_id, api_key_id, operation, status, call_id DESC);
-- The filters of the call log. An index for each combination would cost more in writes than it saves.
CREATE INDEX call_logs_tenant_id_operation_status_call_id_idx ON call_logs (tenant_id, operation, status, call_id DESC);

-- Changes, with a snapshot of the performer.
CREATE TABLE audit_logs (
  audit_id text COLLATE "C" NOT NULL,
  tenant_id text NOT NULL,
  audit_type text NOT NULL CHECK (audit_type = ANY ('{api_key,file,context,tenant,security}'::text[])),
  action text NOT NULL CHECK (action = ANY ('{created,enabled,disabled,revoked,updated,deleted}'::text[])),
  entity_type text NOT NULL, entity_id text NOT NULL, entity_name text NOT NULL, performed_by_id text NOT NULL,
  performed_by_name text NOT NULL,
  performed_by_email text,
  performed_by_type text NOT NULL CHECK (performed_by_type = ANY ('{user,api_key,system}'::text[])),
  performed_by_scopes text[],
  details jsonb NOT NULL DEFAULT '{}',
  ip_address text NOT NULL, user_agent text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, audit_id)
);
-- A filter by action alone reads this index once for each type. An index of its own would cost more in writes.
CREATE INDEX audit_logs_tenant_id_audit_type_action_audit_id_idx ON audit_logs (tenant_id, audit_type, action, audit_id DESC);
CREATE INDEX audit_logs_tenant_id_entity_id_audit_id_idx ON audit_logs (tenant_id, entity_id, audit_id DESC);

-- Audit entries per hour, day and in total, so that counts and deep pages of the log never scan it.
CREATE TABLE audit_counters (
  tenant_id text NOT NULL, audit_type text NOT NULL, action text NOT NULL,
  grain text NOT NULL CHECK (grain = ANY ('{hour,day,total}'::text[])),
  bucket timestamptz(3) NOT NULL,
  entries bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, grain, bucket, audit_type, action)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=500);

-- Calls, files and rejections per subject (tenant, key or context) and hour, day or in total. Statistics never scan logs.
-- Groups of calls update the same rows: room on each page keeps those updates off the indexes.
CREATE TABLE usage_counters (
  tenant_id text NOT NULL, subject text NOT NULL,
  grain text NOT NULL CHECK (grain IN ('hour', 'day', 'total')),
  bucket timestamptz(3) NOT NULL,
  upload_success bigint NOT NULL DEFAULT 0, upload_failure bigint NOT NULL DEFAULT 0,
  download_success bigint NOT NULL DEFAULT 0, download_failure bigint NOT NULL DEFAULT 0,
  metadata_success bigint NOT NULL DEFAULT 0, metadata_failure bigint NOT NULL DEFAULT 0,
  delete_success bigint NOT NULL DEFAULT 0, delete_failure bigint NOT NULL DEFAULT 0,
  files_uploaded bigint NOT NULL DEFAULT 0, bytes_uploaded bigint NOT NULL DEFAULT 0,
  files_deleted bigint NOT NULL DEFAULT 0, bytes_deleted bigint NOT NULL DEFAULT 0,
  downloads bigint NOT NULL DEFAULT 0, bytes_downloaded bigint NOT NULL DEFAULT 0,
  invalid_extension bigint NOT NULL DEFAULT 0, size_exceeded bigint NOT NULL DEFAULT 0,
  blank_file bigint NOT NULL DEFAULT 0, corrupt_file bigint NOT NULL DEFAULT 0,
  virus_detected bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, subject, grain, bucket)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=500);

-- Counts that are not in usage_counters yet. Rows are only inserted, so that calls need no lock; a background job adds them up.
-- Readers add both. Null instead of 0 takes no space.
CREATE TABLE usage_deltas (
  tenant_id text NOT NULL,
  delta_id bigserial NOT NULL,
  api_key_id text, context_id text,
  hour timestamptz(3) NOT NULL,
  upload_success bigint, upload_failure bigint, download_success bigint, download_failure bigint,
  metadata_success bigint, metadata_failure bigint, delete_success bigint, delete_failure bigint,
  files_uploaded bigint, bytes_uploaded bigint, files_deleted bigint, bytes_deleted bigint,
  downloads bigint, bytes_downloaded bigint, invalid_extension bigint, size_exceeded bigint,
  blank_file bigint, corrupt_file bigint, virus_detected bigint,
  PRIMARY KEY (tenant_id, delta_id)
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_insert_scale_factor=0, autovacuum_vacuum_insert_threshold=100000);

-- Downloads that are not in files yet. As usage_deltas.
CREATE TABLE download_deltas (
  tenant_id text NOT NULL,
  file_id text COLLATE "C" NOT NULL,
  delta_id bigserial NOT NULL,
  times bigint NOT NULL,
  last_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, file_id, delta_id)
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_insert_scale_factor=0, autovacuum_vacuum_insert_threshold=100000);
-- Most files have few rows here. Without this, the planner expects many after a burst of downloads of few files, and reads them all.
ALTER TABLE download_deltas ALTER COLUMN file_id SET (n_distinct = -1);

-- ==================== Journal ====================

-- The events of a tenant, numbered without gaps in commit order. entry is the canonical JSON of the event, leaf its RFC 6962 hash.
-- checks are the checks of a verdict, for receipts; they are not part of the entry.
CREATE TABLE journal (
  tenant_id text NOT NULL,
  sequence bigint NOT NULL CHECK (sequence > 0),
  event_id text NOT NULL,
  type text COLLATE "C" NOT NULL, subject text COLLATE "C" NOT NULL,
  context_key text,
  occurred_at timestamptz(3) NOT NULL,
  entry text NOT NULL CHECK (octet_length(entry) <= 65535),
  leaf bytea NOT NULL,
  checks jsonb,
  PRIMARY KEY (tenant_id, sequence)
) WITH (autovacuum_vacuum_insert_scale_factor=0, autovacuum_vacuum_insert_threshold=100000);
-- Events of a rare type in a long journal.
CREATE INDEX journal_tenant_id_type_sequence_idx ON journal (tenant_id, type, sequence);
-- Receipts look up the verdict of a file or a call.
CREATE INDEX journal_verdicts ON journal (tenant_id, subject) WHERE type IN ('file.accepted', 'file.rejected');

-- Hashes of complete subtrees of 256^level leaves, for tiles and proofs. The hashes of level 0 are in journal.
CREATE TABLE journal_nodes (
  tenant_id text NOT NULL,
  level smallint NOT NULL,
  place bigint NOT NULL,
  hash bytea NOT NULL,
  PRIMARY KEY (tenant_id, level, place)
);

-- Tokens that can read a tenant's log and nothing else. Only their hashes are stored.
CREATE TABLE log_shares (
  tenant_id text NOT NULL REFERENCES tenants ON UPDATE CASCADE ON DELETE CASCADE,
  share_id text COLLATE "C" NOT NULL,
  token_hash bytea NOT NULL,
  created_by text NOT NULL,
  created_at timestamptz(3) NOT NULL, expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, share_id)
);

-- ==================== Webhooks ====================

-- Endpoints. Their position is in webhook_positions, which changes with every delivery.
CREATE TABLE webhooks (
  tenant_id text NOT NULL REFERENCES tenants ON UPDATE CASCADE ON DELETE CASCADE,
  webhook_id text COLLATE "C" NOT NULL,
  url text NOT NULL,
  types text[], contexts text[],
  description text NOT NULL DEFAULT '',
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
  disabled_reason text CHECK (disabled_reason IN ('requested', 'gone', 'failing')),
  secret_encrypted bytea NOT NULL,
  previous_secret_encrypted bytea,
  previous_expires_at timestamptz(3),
  created_by text NOT NULL,
  created_at timestamptz(3) NOT NULL, updated_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, webhook_id)
);

-- sequence is the last event that is delivered, failed or excluded. The process that has the lease delivers.
CREATE TABLE webhook_positions (
  tenant_id text NOT NULL,
  webhook_id text COLLATE "C" NOT NULL,
  sequence bigint NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz(3), failing_since timestamptz(3),
  lease_token text,
  leased_until timestamptz(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (tenant_id, webhook_id)
);

-- The newest deliveries of each webhook.
CREATE TABLE webhook_deliveries (
  tenant_id text NOT NULL,
  webhook_id text COLLATE "C" NOT NULL, delivery_id text COLLATE "C" NOT NULL,
  sequence bigint,
  event_id text NOT NULL, type text NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
  attempts integer NOT NULL,
  response_status integer,
  error text,
  duration_ms integer,
  created_at timestamptz(3) NOT NULL, attempted_at timestamptz(3) NOT NULL,
  next_attempt_at timestamptz(3),
  PRIMARY KEY (tenant_id, webhook_id, delivery_id)
);

-- ==================== Functions ====================

-- Open questions and findings of a report as bits, so that a preview over all files of a context reads no reports:
--   1 not checked for blankness   2 not checked for damage   4 not checked for passwords and active content   8 encrypted
--   16 active content   32 not scanned   64 scanned incompletely   256 infected
-- 0, the value of most files, means that every check passed. Null means unknown: the report has to be read.
CREATE OR REPLACE FUNCTION report_traits(report jsonb) RETURNS smallint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  -- Most reports passed every check. One pass finds those.
  IF report ? 'rulesVersion' AND report @? '$.checks[0]'
    AND NOT report @? '$.checks[*] ? (!(@.outcome == "passed") || exists (@.evidence.encrypted) || exists (@.evidence.active_content))' THEN
    RETURN 0;
  END IF;
  RETURN (SELECT (CASE WHEN report ? 'rulesVersion' THEN 0 ELSE 4 END | coalesce(bit_or(CASE c->>'check'
    WHEN 'blank_file' THEN CASE c->>'outcome' WHEN 'passed' THEN 0 ELSE 1 END
    WHEN 'corrupt_file' THEN CASE c->>'outcome' WHEN 'passed' THEN 0 ELSE 2 END
      | CASE WHEN (c->'evidence') ? 'encrypted' THEN 8 ELSE 0 END | CASE WHEN (c->'evidence') ? 'active_content' THEN 16 ELSE 0 END
    WHEN 'virus_detected' THEN CASE c->>'outcome' WHEN 'passed' THEN 0 WHEN 'incomplete' THEN 64 WHEN 'failed' THEN 256 ELSE 32 END
    ELSE 0 END), 35))::smallint FROM jsonb_array_elements(report->'checks') c);
END $$;

-- The highest threshold in percent that the stored bytes have reached, or 0. There is one event for each threshold.
CREATE OR REPLACE FUNCTION ledger_threshold(held bigint, quota bigint) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
  SELECT (CASE WHEN held >= quota THEN 100 WHEN held * 100 >= quota::numeric * 95 THEN 95 WHEN held * 100 >= quota::numeric * 80 THEN 80 ELSE 0 END)::smallint
$$;

-- An event id (ULID) for events that the database creates itself.
CREATE OR REPLACE FUNCTION new_event_id() RETURNS text LANGUAGE sql AS $$
  WITH now AS (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms, sha256(uuid_send(gen_random_uuid())) AS random)
  SELECT 'evt_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + CASE WHEN p < 10 THEN ((ms >> (45 - 5 * p)) & 31)::int ELSE get_byte(random, p - 10) & 31 END, 1), '' ORDER BY p)
  FROM now, generate_series(0, 25) p
$$;

-- The frontier of a log (RFC 6962) after these leaves: the roots of its complete trees, largest first. Stores the hash of every subtree of
-- 256^level leaves that a leaf completes, which is what tiles consist of.
CREATE OR REPLACE FUNCTION journal_grown(tenant text, length bigint, frontier bytea[], leaves bytea[]) RETURNS bytea[] LANGUAGE plpgsql AS $$
DECLARE
  node bytea; place bigint; height int;
BEGIN
  FOREACH node IN ARRAY leaves LOOP
    place := length;
    height := 0;
    WHILE place & 1 = 1 LOOP
      node := sha256('\x01'::bytea || frontier[cardinality(frontier)] || node);
      frontier := frontier[:cardinality(frontier) - 1];
      place := place >> 1;
      height := height + 1;
      IF height & 7 = 0 THEN
        INSERT INTO journal_nodes (tenant_id, level, place, hash) VALUES (tenant, height >> 3, place, node);
      END IF;
    END LOOP;
    frontier := array_append(frontier, node);
    length := length + 1;
  END LOOP;
  RETURN frontier;
END $$;

-- The group, plus an event for each threshold (80, 95, 100 percent) that the tenant or a context has reached since the last check.
-- A threshold can be reached again after the stored bytes fall below it.
CREATE OR REPLACE FUNCTION ledger_thresholds(tenant text, moves jsonb, held bigint, quota bigint, before smallint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  one record; level smallint; events jsonb := '[]';
  performed constant text := ',"performed_by_id":"system","performed_by_type":"system","quota_mb":';
BEGIN
  FOR one IN
    SELECT c.context_id, c.context_key, c.storage_quota_mb::bigint AS quota_mb, coalesce(t.bytes, 0) AS bytes, c.quota_level,
      ledger_threshold(coalesce(t.bytes, 0), c.storage_quota_mb * 1048576::bigint) AS reached
    FROM file_contexts c LEFT JOIN file_totals t ON t.tenant_id = tenant AND t.context_id = c.context_id
    WHERE c.tenant_id = tenant AND c.context_key IN (SELECT e.context_key FROM jsonb_to_recordset(moves->'events') AS e(context_key text))
    ORDER BY c.context_id
  LOOP
    CONTINUE WHEN one.reached = one.quota_level;
    FOREACH level IN ARRAY '{80, 95, 100}'::smallint[] LOOP
      CONTINUE WHEN level <= one.quota_level OR level > one.reached;
      events := events || jsonb_build_object('event_id', new_event_id(), 'type', 'quota.threshold', 'subject', one.context_id, 'context_key', one.context_key, 'data',
        '{"context_id":' || to_json(one.context_id)::text || ',"context_key":' || to_json(one.context_key)::text || ',"percent":' || level || performed || one.quota_mb || ',"used_bytes":' || one.bytes || '}');
    END LOOP;
    UPDATE file_contexts SET quota_level = one.reached WHERE tenant_id = tenant AND context_id = one.context_id;
  END LOOP;
  FOREACH level IN ARRAY '{80, 95, 100}'::smallint[] LOOP
    CONTINUE WHEN level <= before OR level > ledger_threshold(held, quota);
    events := events || jsonb_build_object('event_id', new_event_id(), 'type', 'quota.threshold', 'subject', tenant, 'data',
      '{"percent":' || level || performed || quota / 1048576 || ',"tenant_id":' || to_json(tenant)::text || ',"used_bytes":' || held || '}');
  END LOOP;
  IF events = '[]' THEN
    RETURN moves;
  END IF;
  -- After the events of the group.
  RETURN moves || jsonb_build_object('events', coalesce(moves->'events', '[]') || (SELECT jsonb_agg(e || '{"n": 2147483647}') FROM jsonb_array_elements(events) e));
END $$;

-- Deletes files. Of two deletions of a file, the first succeeds. The lock of the rows is taken in the order of ids, as the fold does, to avoid
-- deadlocks. A file goes to the trash if its context has one: its blob is not garbage then, and its bytes still count.
CREATE OR REPLACE FUNCTION ledger_delete(tenant text, deletions jsonb, OUT refusals jsonb, OUT deleted bigint, OUT freed bigint, OUT trashed int[]) LANGUAGE plpgsql AS $$
BEGIN
  WITH asked AS (SELECT DISTINCT ON (file_id) * FROM jsonb_to_recordset(deletions) AS d(n int, file_id text, deleted_by text, deleted_by_type text) ORDER BY file_id, n),
  locked AS (SELECT f.file_id, f.quarantined_at FROM files f WHERE f.tenant_id = tenant AND f.file_id IN (SELECT file_id FROM asked) ORDER BY f.file_id FOR UPDATE),
  kept AS (SELECT l.file_id, CASE WHEN l.quarantined_at IS NULL THEN 'on_hold' ELSE 'quarantined' END AS why FROM locked l
    WHERE l.quarantined_at IS NOT NULL OR EXISTS (SELECT FROM holds h WHERE h.tenant_id = tenant AND h.file_id = l.file_id)),
  gone AS (DELETE FROM files f USING locked l WHERE f.tenant_id = tenant AND f.file_id = l.file_id AND l.file_id NOT IN (SELECT file_id FROM kept) RETURNING f.*),
  won AS (SELECT g.*, a.n, a.deleted_by, a.deleted_by_type, c.trash_days > 0 AS to_trash
    FROM gone g JOIN asked a USING (file_id) JOIN file_contexts c ON c.tenant_id = tenant AND c.context_id = g.context_id),
  in_trash AS (INSERT INTO trash (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, metadata, uploaded_by, uploaded_by_name,
      download_count, last_downloaded_at, created_at, updated_at, deleted_at, deleted_by, deleted_by_type)
    SELECT file_id, tenant, context_id, original_filename, content_type, size_bytes, checksum, blob_path, metadata, uploaded_by, uploaded_by_name,
      download_count, last_downloaded_at, created_at, updated_at, clock_timestamp(), deleted_by, deleted_by_type FROM won WHERE to_trash),
  reports AS (DELETE FROM validation_reports r USING won w WHERE r.tenant_id = tenant AND r.file_id = w.file_id AND NOT w.to_trash),
  garbage AS (INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT tenant, blob_path, now() FROM won WHERE NOT to_trash
    ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = excluded.due_at),
  grouped AS (UPDATE file_groups g SET files = g.files - w.files FROM (SELECT context_id, uploaded_by, content_type, count(*) AS files FROM won GROUP BY 1, 2, 3) w
    WHERE g.tenant_id = tenant AND g.context_id = w.context_id AND g.uploaded_by = w.uploaded_by AND g.content_type = w.content_type),
  totals AS (UPDATE file_totals t SET files = t.files - w.files, bytes = t.bytes - w.bytes
    FROM (SELECT context_id, count(*) AS files, coalesce(sum(size_bytes) FILTER (WHERE NOT to_trash), 0)::bigint AS bytes FROM won GROUP BY 1) w
    WHERE t.tenant_id = tenant AND t.context_id = w.context_id)
  SELECT (SELECT coalesce(jsonb_agg(jsonb_build_object('n', d.n, 'why', coalesce(k.why, 'no_file'))), '[]')
      FROM jsonb_to_recordset(deletions) AS d(n int, file_id text) LEFT JOIN kept k USING (file_id) WHERE d.n NOT IN (SELECT n FROM won)),
    count(*), coalesce(sum(size_bytes) FILTER (WHERE NOT to_trash), 0), array_agg(n) FILTER (WHERE to_trash)
  INTO refusals, deleted, freed, trashed FROM won;
END $$;

-- Claims the paths of uploads and returns the uploads that are rejected. Claiming deletes the row, so that no sweep deletes the blob; path by path,
-- because a tenant may have very many. The quota is checked in order: a file that does not fit leaves its space to the next.
CREATE OR REPLACE FUNCTION ledger_check_uploads(owner tenants, uploads jsonb, held bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  quota constant bigint := owner.storage_quota_mb * 1048576::bigint; claimed text[]; upload record; added jsonb := '{}'; context_held bigint; why jsonb; refusals jsonb := '[]';
BEGIN
  WITH leases AS (DELETE FROM blob_garbage g WHERE g.tenant_id = owner.tenant_id AND NOT g.taken
    AND g.blob_path = ANY (ARRAY(SELECT u->>'blob_path' FROM jsonb_array_elements(uploads) u)) RETURNING g.blob_path)
  SELECT array_agg(blob_path) INTO claimed FROM leases;
  FOR upload IN
    SELECT u.n, u.context_id, u.size_bytes, c.storage_quota_mb * 1048576::bigint AS quota, t.bytes AS held, CASE
        WHEN u.blob_path = ANY (claimed) IS NOT TRUE THEN '{"why": "swept"}'
        WHEN c.context_id IS NULL OR t.context_id IS NULL THEN '{"why": "no_context"}'
        WHEN u.rules_version <> c.rules_version OR u.rules_at <> c.updated_at THEN '{"why": "rules"}'
        WHEN CASE u.uploader_kind WHEN 'api_key' THEN k.status WHEN 'user' THEN s.status ELSE 'active' END IS DISTINCT FROM 'active' THEN '{"why": "inactive"}'
        WHEN owner.status <> 'active' THEN '{"why": "suspended"}'
        WHEN c.status <> 'active' THEN jsonb_build_object('why', 'disabled', 'status', c.status) END AS why
    FROM jsonb_to_recordset(uploads) AS u(n int, context_id text, size_bytes bigint, blob_path text, uploaded_by text, uploader_kind text, rules_version int, rules_at timestamptz)
      LEFT JOIN file_contexts c ON c.tenant_id = owner.tenant_id AND c.context_id = u.context_id
      LEFT JOIN file_totals t ON t.tenant_id = owner.tenant_id AND t.context_id = u.context_id
      LEFT JOIN api_keys k ON u.uploader_kind = 'api_key' AND k.tenant_id = owner.tenant_id AND k.api_key_id = u.uploaded_by
      LEFT JOIN users s ON u.uploader_kind = 'user' AND s.tenant_id = owner.tenant_id AND s.user_id = u.uploaded_by
    ORDER BY u.n
  LOOP
    context_held := upload.held + coalesce((added->>upload.context_id)::bigint, 0);
    why := coalesce(upload.why, CASE
      WHEN upload.size_bytes = 0 THEN NULL
      WHEN context_held + upload.size_bytes > upload.quota THEN jsonb_build_object('why', 'context_quota', 'quota', upload.quota, 'held', context_held)
      WHEN held + upload.size_bytes > quota THEN jsonb_build_object('why', 'tenant_quota', 'quota', quota, 'held', held) END);
    IF why IS NULL THEN
      held := held + upload.size_bytes;
      added := added || jsonb_build_object(upload.context_id, context_held + upload.size_bytes - upload.held);
    ELSE
      refusals := refusals || (why || jsonb_build_object('n', upload.n));
    END IF;
  END LOOP;
  RETURN refusals;
END $$;

-- The group without rejected entries. The blob of a rejected upload is garbage now, even if a sweep took its path before the blob was written.
CREATE OR REPLACE FUNCTION ledger_reject(tenant text, moves jsonb, refusals jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  rejected constant int[] := ARRAY(SELECT (r->>'n')::int FROM jsonb_array_elements(refusals) r);
BEGIN
  INSERT INTO blob_garbage (tenant_id, blob_path, due_at) SELECT tenant, u.blob_path, now() FROM jsonb_to_recordset(moves->'uploads') AS u(n int, blob_path text)
  WHERE u.n = ANY (rejected) ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = excluded.due_at, taken = false;
  RETURN moves || (SELECT jsonb_object_agg(kind, (SELECT coalesce(jsonb_agg(e ORDER BY place), '[]')
      FROM jsonb_array_elements(list) WITH ORDINALITY AS l(e, place) WHERE (e->>'n')::int <> ALL (rejected)))
    FROM jsonb_each(moves - 'entries') AS k(kind, list));
END $$;

-- Appends events to the journal and returns the head after them. The lock of the tenant is held until the commit, so that sequence numbers have no
-- gaps and follow the order of commits.
CREATE OR REPLACE FUNCTION journal_append(head tenant_heads, events jsonb) RETURNS tenant_heads LANGUAGE plpgsql AS $$
DECLARE
  at constant timestamptz(3) := greatest(date_trunc('milliseconds', clock_timestamp()), head.journal_at);
  numbered constant text := '","occurred_at":"' || to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '","sequence":';
  leaves bytea[];
BEGIN
  WITH written AS (
    SELECT head.journal_length + place AS sequence, e.*, '{"data":' || data || ',"event_id":"' || event_id || numbered || head.journal_length + place || ',"type":"' || type || '"}' AS entry
    FROM ROWS FROM (jsonb_to_recordset(events) AS (event_id text, type text, subject text, context_key text, data text, checks jsonb))
      WITH ORDINALITY AS e(event_id, type, subject, context_key, data, checks, place)),
  added AS (
    INSERT INTO journal (tenant_id, sequence, event_id, type, subject, context_key, occurred_at, entry, leaf, checks)
    SELECT head.tenant_id, sequence, event_id, type, subject, context_key, at, entry, sha256('\x00'::bytea || convert_to(entry, 'UTF8')), checks FROM written
    RETURNING sequence, leaf)
  SELECT array_agg(leaf ORDER BY sequence) INTO leaves FROM added;
  head.journal_frontier := journal_grown(head.tenant_id, head.journal_length, head.journal_frontier, leaves);
  head.journal_length := head.journal_length + cardinality(leaves);
  head.journal_at := at;
  RETURN head;
END $$;

-- Checks a group of entries in order, under the lock of the tenant, and writes them: one round trip for files, trash, reports, counts, audit log,
-- idempotent responses and journal. moves has an array of rows for each kind; n is the index of the entry of a row. Returns the rejected
-- entries with their reasons; nothing of those is written. The statements after the lock see everything that was committed before it was granted.
CREATE OR REPLACE FUNCTION ledger_move(tenant text, moves jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  head tenant_heads; owner tenants; quota bigint; refusals jsonb := '[]'; rejected jsonb; removed record; trashed int[]; crossed boolean := false;
BEGIN
  SELECT * INTO head FROM tenant_heads WHERE tenant_id = tenant FOR UPDATE;
  IF NOT FOUND THEN
    RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('n', n, 'why', 'no_tenant')), '[]') FROM generate_series(0, (moves->>'entries')::int - 1) n);
  END IF;
  SELECT * INTO owner FROM tenants WHERE tenant_id = tenant;
  quota := owner.storage_quota_mb * 1048576::bigint;

  IF moves ? 'answers' THEN
    -- A response is stored once, by the holder of the lease.
    SELECT coalesce(jsonb_agg(jsonb_build_object('n', a.n, 'why', 'answered')), '[]') INTO refusals
    FROM jsonb_to_recordset(moves->'answers') AS a(n int, actor_id text, key text, token text)
    WHERE NOT EXISTS (SELECT 1 FROM idempotency_keys i WHERE i.tenant_id = tenant AND i.actor_id = a.actor_id AND i.key = a.key AND i.lease_token = a.token FOR UPDATE);
    IF refusals <> '[]' THEN moves := ledger_reject(tenant, moves, refusals); END IF;
  END IF;
  IF moves ? 'deletions' THEN
    SELECT * INTO removed FROM ledger_delete(tenant, moves->'deletions');
    head.files := head.files - removed.deleted;
    head.bytes := head.bytes - removed.freed;
    trashed := removed.trashed;
    rejected := removed.refusals;
  END IF;
  IF moves ? 'uploads' THEN
    rejected := coalesce(rejected, '[]') || ledger_check_uploads(owner, moves->'uploads', head.bytes);
  END IF;
  IF rejected <> '[]' THEN
    refusals := refusals || rejected;
    moves := ledger_reject(tenant, moves, rejected);
  END IF;

  IF moves ? 'uploads' THEN
    INSERT INTO files (file_id, tenant_id, context_id, original_filename, content_type, size_bytes, checksum, blob_path, metadata, uploaded_by, uploaded_by_name, created_at, updated_at, traits)
    SELECT file_id, tenant, context_id, original_filename, content_type, size_bytes, checksum, blob_path, metadata, uploaded_by, uploaded_by_name, created_at, created_at, report_traits(report)
    FROM jsonb_to_recordset(moves->'uploads') AS u(file_id text, context_id text, original_filename text, content_type text, size_bytes bigint, checksum text, blob_path text, metadata jsonb,
      uploaded_by text, uploaded_by_name text, created_at timestamptz, report jsonb);
    INSERT INTO validation_reports (tenant_id, file_id, validated_at, report)
    SELECT tenant, file_id, validated_at, report FROM jsonb_to_recordset(moves->'uploads') AS u(file_id text, validated_at timestamptz, report jsonb);
    INSERT INTO file_groups AS g (tenant_id, context_id, uploaded_by, content_type, files)
    SELECT tenant, context_id, uploaded_by, content_type, count(*) FROM jsonb_to_recordset(moves->'uploads') AS u(context_id text, uploaded_by text, content_type text)
    GROUP BY 2, 3, 4 ON CONFLICT (tenant_id, context_id, uploaded_by, content_type) DO UPDATE SET files = g.files + excluded.files;
    WITH gained AS (SELECT context_id, count(*) AS files, sum(size_bytes)::bigint AS bytes FROM jsonb_to_recordset(moves->'uploads') AS u(context_id text, size_bytes bigint) GROUP BY 1),
    totals AS (UPDATE file_totals t SET files = t.files + g.files, bytes = t.bytes + g.bytes FROM gained g WHERE t.tenant_id = tenant AND t.context_id = g.context_id
      RETURNING t.context_id, t.bytes, g.files AS added_files, g.bytes AS added_bytes)
    SELECT head.files + coalesce(sum(t.added_files), 0), head.bytes + coalesce(sum(t.added_bytes), 0),
      coalesce(bool_or(ledger_threshold(t.bytes, c.storage_quota_mb * 1048576::bigint) <> c.quota_level), false)
    INTO head.files, head.bytes, crossed FROM totals t JOIN file_contexts c ON c.tenant_id = tenant AND c.context_id = t.context_id;
  END IF;
  IF moves ? 'calls' THEN
    INSERT INTO call_logs (call_id, tenant_id, api_key_id, api_key_name, operation, status, file_id, context_key, error_code, error_message, validation, ip_address, user_agent, created_at)
    SELECT call_id, tenant, api_key_id, api_key_name, operation, status, file_id, context_key, error_code, error_message, validation, ip_address, user_agent, created_at
    FROM jsonb_populate_recordset(NULL::call_logs, moves->'calls');
  END IF;
  IF moves ? 'usage' THEN
    INSERT INTO usage_deltas (tenant_id, api_key_id, context_id, hour, upload_success, upload_failure, download_success, download_failure, metadata_success, metadata_failure,
      delete_success, delete_failure, files_uploaded, bytes_uploaded, files_deleted, bytes_deleted, downloads, bytes_downloaded)
    SELECT tenant, d.api_key_id, d.context_id, d.hour, sum(upload_success), sum(upload_failure), sum(download_success), sum(download_failure), sum(metadata_success), sum(metadata_failure),
      sum(delete_success), sum(delete_failure), sum(files_uploaded), sum(bytes_uploaded), sum(files_deleted), sum(CASE WHEN (r->>'n')::int = ANY (trashed) THEN 0 ELSE bytes_deleted END),
      sum(downloads), sum(bytes_downloaded)
    FROM jsonb_array_elements(moves->'usage') r CROSS JOIN LATERAL jsonb_populate_record(NULL::usage_deltas, r) d GROUP BY 2, 3, 4;
  END IF;
  IF moves ? 'blocked' THEN
    -- By column name, so that a new block reason needs no new function.
    INSERT INTO usage_deltas SELECT d.* FROM jsonb_array_elements(moves->'blocked') r
      CROSS JOIN LATERAL jsonb_populate_record(NULL::usage_deltas, r || jsonb_build_object('tenant_id', tenant, 'delta_id', nextval('usage_deltas_delta_id_seq'))) d;
  END IF;
  IF moves ? 'audit' THEN
    INSERT INTO audit_logs (audit_id, tenant_id, audit_type, action, entity_type, entity_id, entity_name, performed_by_id, performed_by_name, performed_by_email,
      performed_by_type, performed_by_scopes, details, ip_address, user_agent, created_at)
    SELECT audit_id, tenant, audit_type, action, entity_type, entity_id, entity_name, performed_by_id, performed_by_name, performed_by_email,
      performed_by_type, performed_by_scopes, details, ip_address, user_agent, created_at FROM jsonb_populate_recordset(NULL::audit_logs, moves->'audit');
    INSERT INTO audit_counters AS c (tenant_id, grain, bucket, audit_type, action, entries)
    SELECT tenant, g.grain, CASE g.grain WHEN 'total' THEN to_timestamp(0) ELSE date_trunc(g.grain, a.created_at, 'UTC') END, a.audit_type, a.action, count(*)
    FROM jsonb_to_recordset(moves->'audit') AS a(audit_type text, action text, created_at timestamptz) CROSS JOIN (VALUES ('hour'), ('day'), ('total')) AS g(grain) GROUP BY 2, 3, 4, 5
    ON CONFLICT (tenant_id, grain, bucket, audit_type, action) DO UPDATE SET entries = c.entries + excluded.entries;
  END IF;
  IF moves ? 'answers' THEN
    UPDATE idempotency_keys i SET response = a.response, lease_token = NULL
    FROM jsonb_to_recordset(moves->'answers') AS a(actor_id text, key text, response jsonb) WHERE i.tenant_id = tenant AND i.actor_id = a.actor_id AND i.key = a.key;
  END IF;

  -- An upload has one audit entry. Any other audited change may have changed a quota.
  IF crossed OR moves ? 'deletions' OR jsonb_array_length(moves->'audit') > coalesce(jsonb_array_length(moves->'uploads'), 0)
    OR moves ?| '{uploads, audit}' AND ledger_threshold(head.bytes, quota) <> head.quota_level THEN
    moves := ledger_thresholds(tenant, moves, head.bytes, quota, head.quota_level);
    head.quota_level := ledger_threshold(head.bytes, quota);
  END IF;
  IF jsonb_array_length(moves->'events') > 0 THEN
    head := journal_append(head, moves->'events');
  END IF;
  IF moves ?| '{uploads, deletions, audit, events}' THEN
    UPDATE tenant_heads SET files = head.files, bytes = head.bytes, journal_length = head.journal_length, journal_frontier = head.journal_frontier,
      journal_at = head.journal_at, quota_level = head.quota_level WHERE tenant_id = tenant;
  END IF;
  RETURN refusals;
END $$;

-- One replica at a time leads for a tenant. The others wait for this lock, which ends for all of them with the leader's transaction; the row
-- lock of the tenant would pass from one to the next. It only saves time: the row in tenant_heads is the guard.
CREATE OR REPLACE FUNCTION ledger_leads(tenant text) RETURNS boolean LANGUAGE sql AS $$ SELECT pg_try_advisory_xact_lock(hashtextextended(tenant, 4207005)) $$;

-- Writes the group of this replica, and after it the groups that other replicas have pending, as one group. If that fails, each pending group
-- is returned to its replica, so that the error is reported to the right caller.
CREATE OR REPLACE FUNCTION ledger_move_all(tenant text, own jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  own_entries int := (own->>'entries')::int; ids bigint[]; firsts int[]; total int; merged jsonb; refusals jsonb;
BEGIN
  PERFORM FROM pending_moves WHERE tenant_id = tenant AND answer IS NULL LIMIT 1;
  IF NOT FOUND THEN
    RETURN jsonb_build_object('refusals', ledger_move(tenant, own), 'others', 0);
  END IF;
  WITH pending AS (SELECT pending_id, (moves->>'entries')::int AS entries FROM pending_moves
    WHERE tenant_id = tenant AND answer IS NULL AND created_at > clock_timestamp() - interval '15 s' ORDER BY pending_id LIMIT 32 FOR UPDATE SKIP LOCKED),
  placed AS (SELECT pending_id, entries, own_entries + sum(entries) OVER (ORDER BY pending_id) - entries AS first FROM pending)
  SELECT array_agg(pending_id ORDER BY pending_id), array_agg(first ORDER BY pending_id), max(first + entries) INTO ids, firsts, total
  FROM placed WHERE first < 1024 OR pending_id = (SELECT min(pending_id) FROM placed);
  IF ids IS NULL THEN
    RETURN jsonb_build_object('refusals', ledger_move(tenant, own), 'others', 0);
  END IF;

  WITH groups AS (SELECT 0 AS first, own AS moves
    UNION ALL SELECT i.first, p.moves FROM unnest(ids, firsts) AS i(id, first) JOIN pending_moves p ON p.tenant_id = tenant AND p.pending_id = i.id),
  kinds AS (SELECT k.kind, jsonb_agg(CASE WHEN g.first = 0 THEN r ELSE r || jsonb_build_object('n', (r->>'n')::int + g.first) END ORDER BY g.first, place) AS rows
    FROM groups g, jsonb_each(g.moves - 'entries') AS k(kind, list), jsonb_array_elements(k.list) WITH ORDINALITY AS l(r, place) GROUP BY k.kind)
  SELECT jsonb_object_agg(kind, rows) || jsonb_build_object('entries', total) INTO merged FROM kinds;
  BEGIN
    refusals := ledger_move(tenant, merged);
  EXCEPTION WHEN OTHERS THEN
    UPDATE pending_moves SET answer = '{"again": true}' WHERE tenant_id = tenant AND pending_id = ANY (ids);
    RETURN jsonb_build_object('refusals', ledger_move(tenant, own), 'others', cardinality(ids));
  END;
  UPDATE pending_moves p SET answer = jsonb_build_object('others', cardinality(ids), 'refusals', coalesce((
      SELECT jsonb_agg(r || jsonb_build_object('n', (r->>'n')::int - i.first)) FROM jsonb_array_elements(refusals) r
      WHERE (r->>'n')::int >= i.first AND (r->>'n')::int < i.first + (p.moves->>'entries')::int), '[]'))
  FROM unnest(ids, firsts) AS i(id, first) WHERE p.tenant_id = tenant AND p.pending_id = i.id;
  RETURN jsonb_build_object('others', cardinality(ids), 'refusals',
    (SELECT coalesce(jsonb_agg(r), '[]') FROM jsonb_array_elements(refusals) r WHERE (r->>'n')::int < own_entries));
END $$;

-- The answer to a group that this replica left pending. If no other replica leads, this one leads and writes everything that is pending.
-- Null while another replica leads. With gives_up, the group is withdrawn, so that it is certainly not written.
CREATE OR REPLACE FUNCTION ledger_settled(tenant text, id bigint, gives_up boolean) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  mine pending_moves; leads boolean := false;
BEGIN
  SELECT * INTO mine FROM pending_moves p WHERE p.tenant_id = tenant AND p.pending_id = id;
  IF FOUND AND mine.answer IS NULL AND NOT gives_up THEN
    leads := ledger_leads(tenant);
    IF NOT leads THEN
      RETURN NULL;
    END IF;
    PERFORM FROM tenant_heads WHERE tenant_id = tenant FOR UPDATE;
  END IF;
  DELETE FROM pending_moves p WHERE p.tenant_id = tenant AND p.pending_id = id RETURNING * INTO mine;
  IF NOT FOUND THEN
    RAISE 'The pending group is missing, so its outcome is unknown.' USING ERRCODE = 'AS002';
  END IF;
  IF mine.answer IS NOT NULL THEN
    RETURN mine.answer;
  END IF;
  RETURN CASE WHEN leads THEN ledger_move_all(tenant, mine.moves) ELSE '{"left": true}' END;
END $$;

-- Writes the groups of several tenants, each in its own transaction with asynchronous commit, so that no lock of a tenant is held while
-- the disk or a standby is waited for. One commit at the end waits for all of them; nothing is answered before. The log becomes durable
-- in its order, so that nothing built on a move is durable before it. Returns for each group its rejections; "left" if another transaction
-- held the lock of the tenant longer than patience; or "again" if an error occurred: the ledger then retries the group alone to report it.
CREATE OR REPLACE PROCEDURE ledger_groups(groups jsonb, patience text, INOUT answers jsonb) LANGUAGE plpgsql AS $$
DECLARE
  tenant text; said jsonb; id bigint; gives_up boolean; faulty boolean;
BEGIN
  FOR i IN 0 .. jsonb_array_length(groups) - 1 LOOP
    PERFORM set_config('synchronous_commit', 'off', true), set_config('lock_timeout', patience, true);
    tenant := groups->i->>'tenant';
    said := NULL;
    id := NULL;
    faulty := false;
    -- A large group waits for the lock itself: storing, merging and reading it again would cost more than the wait.
    IF (groups->i->'moves'->>'entries')::int > 64 OR ledger_leads(tenant) THEN
      BEGIN
        PERFORM FROM tenant_heads WHERE tenant_id = tenant FOR UPDATE;
        said := ledger_move_all(tenant, groups->i->'moves');
      EXCEPTION
        WHEN lock_not_available THEN said := '{"left": true}';
        WHEN OTHERS THEN said := '{"again": true}';
      END;
    ELSE
      INSERT INTO pending_moves (tenant_id, moves) VALUES (tenant, groups->i->'moves') RETURNING pending_id INTO id;
    END IF;
    COMMIT;
    gives_up := false;
    FOR attempt IN 1 .. 1000 LOOP
      EXIT WHEN said IS NOT NULL;
      PERFORM set_config('synchronous_commit', 'off', true), set_config('lock_timeout', patience, true);
      -- Granted to all waiting replicas when the leader commits.
      BEGIN
        PERFORM pg_advisory_xact_lock_shared(hashtextextended(tenant, 4207005));
      EXCEPTION WHEN lock_not_available THEN
        gives_up := true;
      END;
      COMMIT;
      PERFORM set_config('synchronous_commit', 'off', true), set_config('lock_timeout', patience, true);
      BEGIN
        said := ledger_settled(tenant, id, gives_up);
      EXCEPTION
        WHEN lock_not_available THEN gives_up := true;
        WHEN SQLSTATE 'AS002' THEN RAISE;
        WHEN OTHERS THEN gives_up := true; faulty := true;
      END;
      COMMIT;
      -- Another replica leads, or is just checking.
      PERFORM pg_sleep(0.0005) WHERE said IS NULL;
    END LOOP;
    IF said IS NULL THEN
      RAISE 'The pending group could not be withdrawn.';
    END IF;
    answers := answers || (CASE WHEN faulty AND said ? 'left' THEN '{"again": true}' ELSE said END || jsonb_build_object('tenant', tenant));
  END LOOP;
  -- This commit is synchronous, and so waits for all commits above.
  PERFORM setval('wal_flush', 1);
END $$;

-- Stores the results of scans that the token still holds. The lock on tenant_heads prevents a report for a file that is being deleted.
-- Without again, there is one report for each version of the signatures. A file that was given up counts as failed, not as scanned; a later
-- successful scan with the same signatures may add its report. A restored file without a virus in its quarantine row was only waiting
-- for this scan, and leaves the quarantine. The planner settings make each connection use the indexes: a plan that was made while there were few
-- files would otherwise read all of them later.
CREATE OR REPLACE FUNCTION rescan_keep(tenant text, context text, holder text, results jsonb, again boolean) RETURNS bigint LANGUAGE plpgsql
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  kept bigint;
BEGIN
  PERFORM FROM tenant_heads WHERE tenant_id = tenant FOR KEY SHARE;
  WITH given AS (SELECT * FROM jsonb_to_recordset(results) AS r(file_id text, validated_at timestamptz, report jsonb, bytes bigint, failed boolean, failure text)),
  mine AS (DELETE FROM rescan_queue q USING given g WHERE q.tenant_id = tenant AND q.file_id = g.file_id AND q.lease_token = holder RETURNING g.*),
  reported AS (INSERT INTO validation_reports (tenant_id, file_id, validated_at, report)
    SELECT tenant, m.file_id, m.validated_at, m.report FROM mine m WHERE m.report IS NOT NULL
      AND EXISTS (SELECT FROM files f WHERE f.tenant_id = tenant AND f.file_id = m.file_id)
      AND (again OR NOT EXISTS (SELECT FROM validation_reports v WHERE v.tenant_id = tenant AND v.file_id = m.file_id
        AND v.report->'engine'->>'name' = m.report->'engine'->>'name' AND v.report->'engine'->>'signaturesVersion' = m.report->'engine'->>'signaturesVersion'
        AND (m.failed OR NOT v.report @> '{"checks": [{"evidence": {"scan_failed": true}}]}')))
    ON CONFLICT DO NOTHING RETURNING file_id, report),
  released AS (DELETE FROM quarantine q USING mine m WHERE q.tenant_id = tenant AND q.file_id = m.file_id AND q.viruses = '[]' AND NOT m.failed RETURNING q.file_id),
  -- One update for both changes: a statement can update a row only once.
  served AS (UPDATE files f SET quarantined_at = CASE WHEN l.file_id IS NULL THEN f.quarantined_at END, 
      traits = CASE WHEN r.file_id IS NULL THEN f.traits ELSE report_traits(r.report) END
    FROM mine m LEFT JOIN reported r USING (file_id) LEFT JOIN released l USING (file_id)
    WHERE f.tenant_id = tenant AND f.file_id = m.file_id AND (l.file_id IS NOT NULL OR r.file_id IS NOT NULL AND report_traits(r.report) IS DISTINCT FROM f.traits)),
  counted AS (SELECT count(*) AS passed, count(report) FILTER (WHERE NOT failed) AS scanned, coalesce(sum(bytes), 0) AS bytes,
    count(*) FILTER (WHERE failed) AS failed, max(failure) AS failure FROM mine),
  told AS (UPDATE rescans w SET passed = w.passed + c.passed, scanned = w.scanned + c.scanned, bytes = w.bytes + c.bytes, failed = w.failed + c.failed,
      failure = coalesce(c.failure, w.failure), paused_at = NULL
    FROM counted c WHERE w.tenant_id = tenant AND w.context_id = context)
  SELECT passed INTO kept FROM counted;
  RETURN kept;
END $$;

-- Quotas, bytes of files, and received bytes of unfinished uploads, of the tenant and of the upload's context. The context's values are null if it
-- does not exist any more.
CREATE OR REPLACE FUNCTION upload_room(tenant text, upload text) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
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

-- Reserves the bytes of a part for the request that holds the upload's lease. Returns the room before it, and whether it was `reserved`: false if a
-- quota is too small, null if the request does not hold it any more.
CREATE OR REPLACE FUNCTION reserve_upload_bytes(tenant text, upload text, token text, added bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
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
    WHERE tenant_id = tenant AND upload_id = upload AND lease_token = token AND decided_at IS NULL AND expires_at > now()
    RETURNING true INTO reserved;
  END IF;
  RETURN room || jsonb_build_object('reserved', reserved);
END $$;
