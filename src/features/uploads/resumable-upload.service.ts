import type { Pool } from 'pg'
import { type Actor, getCredentialId } from '../../platform/actor.js'
import { getCurrentTime } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import { getLeaseEndSql } from '../../platform/db/lease.js'
import { processRowsByTenant } from '../../platform/db/queries.js'
import { notFound, type PublicError } from '../../platform/errors/errors.js'
import { isId } from '../../platform/ids.js'
import { megabyte } from '../../platform/units.js'
import { createUnfinishedUploadsLimitError, maxUnfinished, type UnfinishedUsage, type UploadQuotas } from './upload-limits.js'
import { isOwned, lockSeconds } from './upload-lock.js'

/** Time within which an upload must be completed. Its outcome is stored for the same duration. */
const lifeMs = 24 * 3_600_000
// Time for which parts are retained after their upload expires, so that a validation that started in time can still read them.
const partLifeMs = 3_600_000
const firstRetrySeconds = 5
const maxRetrySeconds = 300
const sweptAtOnce = 500

type StoredError = Pick<PublicError, 'code' | 'message' | 'details'>

/** Outcome of an upload: the file, as in the response of `POST /files/upload`, or the error. */
export type Outcome = { file: Record<string, unknown> } | { error: StoredError }

export interface ResumableUpload {
  tenantId: string
  uploadId: string
  contextKey: string
  filename: string
  metadata: Record<string, unknown>
  /** Original value of the `Upload-Metadata` header. */
  uploadMetadata: string
  idempotencyKey: string | null
  /** Total size of the upload. Null until the client sends it. */
  sizeBytes: number | null
  maxBytes: number
  offsetBytes: number
  outcome: Outcome | null
  /** Error from the last validation attempt, if that attempt produced no outcome. */
  decisionError: StoredError | null
  decisionAttempts: number
  /** Seconds until the next validation attempt. 0 or null if it can start now. */
  retryInSeconds: number | null
  createdAt: Date
  expiresAt: Date
}

export interface Part {
  start: number
  size: number
  path: string
}

type NewUpload = Pick<
  ResumableUpload,
  'uploadId' | 'contextKey' | 'filename' | 'metadata' | 'uploadMetadata' | 'idempotencyKey' | 'sizeBytes' | 'maxBytes'
>

const columns = `tenant_id AS "tenantId", upload_id AS "uploadId", context_key AS "contextKey", filename, metadata, upload_metadata AS "uploadMetadata",
  idempotency_key AS "idempotencyKey", size_bytes AS "sizeBytes", most_bytes AS "maxBytes", offset_bytes AS "offsetBytes", outcome,
  decision_error AS "decisionError", decision_attempts AS "decisionAttempts",
  ceil(greatest(0, extract(epoch FROM decision_retry_at - now())))::int AS "retryInSeconds", created_at AS "createdAt", expires_at AS "expiresAt"`

/** Stores the state of resumable uploads. Each statement that changes a row also checks its owner, expiry, lock and offset. */
export class ResumableUploadService {
  readonly #db: Pool
  readonly #maxBytes: number

  constructor({ db, maxUploadMb }: { db: Database; maxUploadMb: number }) {
    this.#db = db.pool
    this.#maxBytes = maxUnfinished.largestFiles * maxUploadMb * megabyte
  }

  /**
   * Creates an upload that is locked by this request. Throws 429 if the credential or its tenant has too many unfinished uploads.
   */
  async create(actor: Actor, upload: NewUpload, token: string): Promise<ResumableUpload> {
    const { rows } = await this.#db.query<ResumableUpload & UnfinishedUsage>(
      `WITH held AS (SELECT count(*) AS uploads, coalesce(sum(most_bytes), 0)::bigint AS bytes, count(*) FILTER (WHERE actor_id = $3) AS own,
          coalesce(sum(most_bytes) FILTER (WHERE actor_id = $3), 0)::bigint AS "ownBytes"
        FROM resumable_uploads WHERE tenant_id = $1 AND decided_at IS NULL AND expires_at > now()),
      made AS (INSERT INTO resumable_uploads (tenant_id, upload_id, actor_id, context_key, filename, metadata, upload_metadata, idempotency_key, size_bytes, most_bytes,
          lease_token, leased_until, created_at, expires_at)
        SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10::bigint, $11, ${getLeaseEndSql(lockSeconds)}, now(), now() + make_interval(secs => $12)
        FROM held WHERE own < $13 / 2 AND uploads < $13 AND "ownBytes" + $10 <= $14::bigint / 2 AND bytes + $10 <= $14::bigint RETURNING *)
      SELECT held.*, ${columns} FROM held LEFT JOIN made ON true`,
      [
        ...[actor.tenantId, upload.uploadId, getCredentialId(actor), upload.contextKey],
        ...[upload.filename, JSON.stringify(upload.metadata)],
        ...[upload.uploadMetadata, upload.idempotencyKey, upload.sizeBytes, upload.maxBytes, token],
        ...[lifeMs / 1000, maxUnfinished.uploads, this.#maxBytes],
      ],
    )
    const row = rows[0]!
    if (row.uploadId === null) throw createUnfinishedUploadsLimitError(row, upload.maxBytes, this.#maxBytes)
    return row
  }

  /** Returns an upload. Throws 404 if it does not exist, has expired, or belongs to another credential. */
  async find(actor: Actor, uploadId: string): Promise<ResumableUpload> {
    const upload = await this.findIfExists(actor, uploadId)
    if (!upload) throw notFound('upload', uploadId)
    return upload
  }

  async findIfExists(actor: Actor, uploadId: string): Promise<ResumableUpload | undefined> {
    if (!isId('upl', uploadId)) return undefined
    const key = [actor.tenantId, uploadId, getCredentialId(actor)]
    const { rows } = await this.#db.query<ResumableUpload>(`SELECT ${columns} FROM resumable_uploads WHERE ${isOwned}`, key)
    return rows[0]
  }

  /** Sets the size of an upload whose length was deferred. */
  async setSize(tenantId: string, uploadId: string, size: number): Promise<void> {
    await this.#db.query(
      'UPDATE resumable_uploads SET size_bytes = $3, most_bytes = $3 WHERE tenant_id = $1 AND upload_id = $2 AND size_bytes IS NULL AND decided_at IS NULL',
      [tenantId, uploadId, size],
    )
  }

  /** Returns the last `limit` parts of an upload, in order. */
  async getParts({ tenantId, uploadId }: ResumableUpload, limit: number | null = null): Promise<Part[]> {
    const { rows } = await this.#db.query<Part>(
      'SELECT start_byte AS start, size_bytes AS size, blob_path AS path FROM upload_parts WHERE tenant_id = $1 AND upload_id = $2 ORDER BY start_byte DESC LIMIT $3',
      [tenantId, uploadId, limit],
    )
    return rows.reverse()
  }

  /** Returns the quotas that apply to an upload, with the storage that counts against each of them. */
  async getQuotas({ tenantId, uploadId }: ResumableUpload): Promise<UploadQuotas> {
    const { rows } = await this.#db.query<{ quotas: UploadQuotas }>('SELECT upload_room($1, $2) AS quotas', [tenantId, uploadId])
    return assertTenantExists(rows[0]!.quotas, uploadId)
  }

  /**
   * Reserves `addedBytes` against the quotas before the bytes are stored. The reservation ends when `addPart` is called or the
   * lock ends. `reserved` is false if a quota would be exceeded, and null if another request holds the lock.
   */
  async reserveBytes(
    { tenantId, uploadId }: ResumableUpload,
    addedBytes: number,
    token: string,
  ): Promise<UploadQuotas & { reserved: boolean | null }> {
    const { rows } = await this.#db.query<{ quotas: UploadQuotas & { reserved: boolean | null } }>(
      'SELECT reserve_upload_bytes($1, $2, $3, $4) AS quotas',
      [tenantId, uploadId, token, addedBytes],
    )
    return assertTenantExists(rows[0]!.quotas, uploadId)
  }

  /**
   * Adds a part that ends at the new offset and replaces all parts that begin at or after its start. `superseded` means that the
   * offset changed, the lock was lost or the upload expired. `swept` means that the sweep has removed the part's path from the
   * garbage journal.
   */
  async addPart(
    { tenantId, uploadId, offsetBytes, expiresAt }: ResumableUpload,
    part: Part,
    token: string,
  ): Promise<'added' | 'superseded' | 'swept'> {
    const added = part.start + part.size - offsetBytes
    const { rows } = await this.#db.query<{ leased: boolean; added: boolean }>(
      `WITH leased AS (UPDATE blob_garbage SET due_at = $9 WHERE tenant_id = $1 AND blob_path = $6 AND NOT taken RETURNING blob_path),
        held AS (UPDATE resumable_uploads SET offset_bytes = $3::bigint + $8::bigint, incoming_bytes = 0
          WHERE tenant_id = $1 AND upload_id = $2 AND offset_bytes = $3 AND lease_token = $7 AND incoming_bytes = $8 AND decided_at IS NULL AND expires_at > $10::timestamptz
          AND EXISTS (SELECT 1 FROM leased) RETURNING tenant_id),
        freed AS (UPDATE blob_garbage SET due_at = now() WHERE tenant_id = $1
          AND blob_path IN (SELECT p.blob_path FROM upload_parts p, held WHERE p.tenant_id = $1 AND p.upload_id = $2 AND p.start_byte >= $4)),
        merged AS (DELETE FROM upload_parts WHERE tenant_id = $1 AND upload_id = $2 AND start_byte > $4 AND EXISTS (SELECT 1 FROM held)),
        added AS (INSERT INTO upload_parts (tenant_id, upload_id, start_byte, size_bytes, blob_path) SELECT $1, $2, $4, $5, $6 FROM held
          ON CONFLICT (tenant_id, upload_id, start_byte) DO UPDATE SET size_bytes = excluded.size_bytes, blob_path = excluded.blob_path RETURNING 1)
      SELECT EXISTS (SELECT 1 FROM leased) AS leased, EXISTS (SELECT 1 FROM added) AS added`,
      [
        ...[tenantId, uploadId, offsetBytes, part.start, part.size, part.path, token, added],
        ...[new Date(expiresAt.getTime() + partLifeMs), getCurrentTime()],
      ],
    )
    if (rows[0]!.added) return 'added'
    // Add the path to the garbage journal again, because the sweep may have removed it before the blob was written.
    await this.#db.query(
      'INSERT INTO blob_garbage (tenant_id, blob_path, due_at) VALUES ($1, $2, now()) ON CONFLICT (tenant_id, blob_path) DO UPDATE SET due_at = excluded.due_at',
      [tenantId, part.path],
    )
    return rows[0]!.leased ? 'superseded' : 'swept'
  }

  /**
   * Schedules another validation attempt. The delay doubles after each attempt that has read the bytes (`hasReadBytes`), up to
   * five minutes.
   */
  async postponeValidation(
    { tenantId, uploadId, decisionAttempts }: ResumableUpload,
    { code, message, details }: PublicError,
    { hasReadBytes }: { hasReadBytes: boolean },
  ): Promise<void> {
    const seconds = hasReadBytes ? Math.min(maxRetrySeconds, firstRetrySeconds * 2 ** decisionAttempts) : firstRetrySeconds
    await this.#db.query(
      `UPDATE resumable_uploads SET decision_error = $3, decision_attempts = $4, decision_retry_at = now() + make_interval(secs => $5)
       WHERE tenant_id = $1 AND upload_id = $2 AND decided_at IS NULL`,
      [tenantId, uploadId, JSON.stringify({ code, message, details }), decisionAttempts + (hasReadBytes ? 1 : 0), seconds],
    )
  }

  /** Stores the outcome of an upload for 24 hours and deletes its parts. An existing outcome is not replaced. */
  async saveOutcome({ tenantId, uploadId }: ResumableUpload, outcome: Outcome): Promise<void> {
    await this.#db.query(
      `WITH decided AS (UPDATE resumable_uploads SET outcome = $3, decided_at = now(), expires_at = now() + make_interval(secs => $4)
          WHERE tenant_id = $1 AND upload_id = $2 AND decided_at IS NULL RETURNING upload_id),
        ${buildReleaseSql('decided')}`,
      [tenantId, uploadId, JSON.stringify(outcome), lifeMs / 1000],
    )
  }

  async remove({ tenantId, uploadId }: ResumableUpload): Promise<void> {
    await this.#db.query(
      `WITH gone AS (DELETE FROM resumable_uploads WHERE tenant_id = $1 AND upload_id = $2 RETURNING upload_id), ${buildReleaseSql('gone')}`,
      [tenantId, uploadId],
    )
  }

  /** Removes expired uploads in batches. Returns the number of removed uploads. */
  async removeExpiredUploads(shouldContinue: () => boolean = () => true): Promise<number> {
    for (let swept = 0; ; ) {
      const { rows } = await this.#db.query<{ tenant_id: string; upload_id: string }>(
        `SELECT tenant_id, upload_id FROM resumable_uploads WHERE expires_at <= now() ORDER BY expires_at LIMIT ${sweptAtOnce}`,
      )
      const gone = await processRowsByTenant(rows, async (tenantId, own) => {
        const answer = await this.#db.query<{ upload_id: string }>(
          `WITH gone AS (DELETE FROM resumable_uploads WHERE tenant_id = $1 AND upload_id IN (SELECT upload_id FROM resumable_uploads
              WHERE tenant_id = $1 AND upload_id = ANY ($2) AND expires_at <= now() FOR UPDATE SKIP LOCKED) RETURNING upload_id),
            ${buildDeletePartsSql('gone')},
            freed AS (${dueNow})
          SELECT upload_id FROM gone`,
          [tenantId, own.map((row) => row.upload_id)],
        )
        return answer.rows
      })
      const count = gone.length
      swept += count
      if (count < sweptAtOnce || !shouldContinue()) return swept
    }
  }
}

const buildDeletePartsSql = (uploads: string) =>
  `parts AS (DELETE FROM upload_parts p USING ${uploads} u WHERE p.tenant_id = $1 AND p.upload_id = u.upload_id RETURNING p.blob_path)`
const dueNow = 'UPDATE blob_garbage SET due_at = now() WHERE tenant_id = $1 AND blob_path IN (SELECT blob_path FROM parts)'
const buildReleaseSql = (uploads: string) => `${buildDeletePartsSql(uploads)} ${dueNow}`

/** Throws 404 if the tenant of the upload was deleted in the meantime. */
function assertTenantExists<Quotas extends UploadQuotas>(quotas: Quotas, uploadId: string): Quotas {
  if (!quotas.tenant) throw notFound('upload', uploadId)
  return quotas
}
