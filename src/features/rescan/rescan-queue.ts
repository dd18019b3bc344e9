import type { Pool, PoolClient } from 'pg'
import type { ValidationReport } from '../../inspection/report.js'
import { createSignaturesExpression, hasExactVersion, hasVersion } from '../../inspection/scanners/virus-scanner.js'
import {
  getLeaseEndSql,
  getLeaseReleaseSql,
  isLeaseFree,
  type Lease,
  renewLease,
  startLeaseRenewal,
} from '../../platform/db/lease.js'
import { withTransaction } from '../../platform/db/queries.js'

const leaseSeconds = 30
const maxBatchFiles = 64
const maxFilesExamined = 256

interface LeaseOwner {
  tenantId: string
  contextId: string
  token: string
}

interface LeasedFile {
  fileId: string
  /** Number of attempts, including the current one. */
  attempts: number
  /** Error from the last failed attempt. Null if no attempt recorded an error, for example because the service stopped. */
  failure: string | null
}

export interface DueFile extends LeasedFile {
  originalFilename: string
  sizeBytes: number
  checksum: string
  blobPath: string
  report: ValidationReport
}

/** Files of one context that are leased with the same token. */
export interface Batch extends LeaseOwner {
  files: DueFile[]
}

/** Result of rescanning one file. `report` is null if the content is missing or the file no longer needs to be scanned. */
export interface Result {
  fileId: string
  report: ValidationReport | null
  bytes: number
  failed: boolean
  /** Error that caused the file to be skipped. */
  failure?: string
}

/** Signatures of this replica's scanner. `isNewest` is true if no replica has seen newer signatures. */
interface ScannerSignatures {
  signatures: string
  isNewest: boolean
}

interface ContextRow {
  tenant_id: string
  context_id: string
}

/**
 * Distributes the files that need a rescan among the replicas, which lease them for a limited time. If a replica dies, another
 * one takes over its files when the leases expire.
 */
export class RescanQueue {
  constructor(private readonly pool: Pool) {}

  /** Leases files that no other replica has leased. Returns undefined if none exist. */
  async leaseBatch(scanner: ScannerSignatures, token: string): Promise<Batch | undefined> {
    return (await this.#leaseDueBatch(scanner, token)) ?? (await this.#leaseNextBatch(scanner.signatures, token))
  }

  /** Saves the results of a batch. Results for files whose lease was lost are ignored. */
  async saveResults({ tenantId, contextId, token }: Batch, signatures: string, results: readonly Result[]): Promise<void> {
    const rows = results.map(({ fileId, report, failure = null, ...counts }) => ({
      file_id: fileId,
      validated_at: report?.validatedAt ?? null,
      report,
      failure,
      ...counts,
    }))
    const values = [tenantId, contextId, token, JSON.stringify(rows), !hasVersion(signatures)]
    await this.pool.query('SELECT rescan_keep($1, $2, $3, $4::jsonb, $5)', values)
  }

  /** Renews the leases on the files in a batch until the timer is cleared. */
  startRenewingLeases({ tenantId, token }: Batch): NodeJS.Timeout {
    const lease: Lease = { table: 'rescan_queue', key: { tenant_id: tenantId }, token, seconds: leaseSeconds }
    return startLeaseRenewal(lease, () => renewLease(this.pool, lease))
  }

  /**
   * Releases a batch and schedules its next attempt after `delaySeconds` seconds. The current attempt counts only for files that
   * may have crashed the scanner (`suspectIds`).
   */
  async releaseBatch({ tenantId, contextId, token }: Batch, delaySeconds: number, suspectIds: readonly string[]): Promise<void> {
    await this.pool.query(
      `UPDATE rescan_queue SET ${getLeaseReleaseSql('$3')}, attempts = attempts - CASE WHEN file_id = ANY ($4) THEN 0 ELSE 1 END
       WHERE tenant_id = $1 AND lease_token = $2`,
      [tenantId, token, delaySeconds, suspectIds],
    )
    await this.#pauseRescan(tenantId, contextId)
  }

  /** Releases one file of a batch and schedules its next attempt. */
  async scheduleRetry(
    { tenantId, contextId, token }: Batch,
    fileId: string,
    { seconds, attempts, failure }: { seconds: number; attempts: number; failure: string },
  ): Promise<void> {
    await this.pool.query(
      `UPDATE rescan_queue SET ${getLeaseReleaseSql('$4')}, attempts = $5, failure = $6 WHERE tenant_id = $1 AND file_id = $2 AND lease_token = $3`,
      [tenantId, fileId, token, seconds, attempts, failure],
    )
    await this.#pauseRescan(tenantId, contextId)
  }

  /**
   * Returns the current blob path of a file, which changes if a quarantined object is moved. Returns undefined if the file was
   * deleted.
   */
  async getBlobPath({ tenantId }: Batch, fileId: string): Promise<string | undefined> {
    const { rows } = await this.pool.query<{ path: string }>(
      'SELECT blob_path AS path FROM files WHERE tenant_id = $1 AND file_id = $2',
      [tenantId, fileId],
    )
    return rows[0]?.path
  }

  /** Marks all rescans in progress as paused, because the scanner is unavailable. */
  async pauseAllRescans(): Promise<void> {
    const running = 'finished_at IS NULL AND paused_at IS NULL'
    const { rows } = await this.pool.query<{ tenant_id: string }>(`SELECT DISTINCT tenant_id FROM rescans WHERE ${running}`)
    for (const { tenant_id: tenantId } of rows)
      await this.pool.query(`UPDATE rescans SET paused_at = now() WHERE tenant_id = $1 AND ${running}`, [tenantId])
  }

  /**
   * Finishes rescans that have no remaining files. Ten minutes after the start of a rescan, schedules another check of the newest
   * files, because uploads that were in progress at the start may have used the previous signatures.
   */
  async finishRescans(): Promise<void> {
    const { rows } = await this.pool.query<ContextRow>(
      `SELECT w.tenant_id, w.context_id FROM rescans w WHERE w.walked AND (w.finished_at IS NULL OR (NOT w.settled AND w.started_at < now() - interval '10 minutes'))
         AND NOT EXISTS (SELECT FROM rescan_queue q WHERE q.tenant_id = w.tenant_id AND q.context_id = w.context_id) LIMIT 1000`,
      [],
    )
    for (const { tenant_id, context_id } of rows) await this.finishRescan(tenant_id, context_id)
  }

  async finishRescan(tenantId: string, contextId: string): Promise<void> {
    await this.pool.query(
      `UPDATE rescans w SET finished_at = now(), paused_at = NULL WHERE w.tenant_id = $1 AND w.context_id = $2 AND w.walked AND w.finished_at IS NULL
         AND NOT EXISTS (SELECT FROM rescan_queue q WHERE q.tenant_id = $1 AND q.context_id = $2)`,
      [tenantId, contextId],
    )
    await this.pool.query(
      `UPDATE rescans SET walked = false, settled = true, before_id = NULL, until_id = top_id
       WHERE tenant_id = $1 AND context_id = $2 AND finished_at IS NOT NULL AND NOT settled AND started_at < now() - interval '10 minutes'`,
      [tenantId, contextId],
    )
  }

  /**
   * Leases files that were restored, files whose scan failed, and files that a crashed replica had leased. Files of the last two
   * kinds are leased one at a time, because they may crash the scanner. A scanner with older signatures gets no files that are
   * waiting for newer ones.
   */
  async #leaseDueBatch({ signatures, isNewest }: ScannerSignatures, token: string): Promise<Batch | undefined> {
    const { rows } = await this.pool.query<ContextRow & { is_retry: boolean }>(
      `SELECT q.tenant_id, q.context_id, q.attempts > 0 AS is_retry FROM rescan_queue q LEFT JOIN rescans w ON w.tenant_id = q.tenant_id AND w.context_id = q.context_id
       WHERE q.${isLeaseFree} ${isNewest ? '' : `AND coalesce(w.signatures, $1) = $1 AND NOT ${buildWaitingFileCondition('q', '$1')}`} ORDER BY q.leased_until LIMIT 1`,
      isNewest ? [] : [signatures],
    )
    if (!rows[0]) return undefined
    const { tenant_id: tenantId, context_id: contextId, is_retry: isRetry } = rows[0]
    const { rows: taken } = await this.pool.query<LeasedFile>(
      `UPDATE rescan_queue q SET leased_until = ${getLeaseEndSql('$4')}, lease_token = $3, attempts = q.attempts + 1
       WHERE q.tenant_id = $1 AND q.file_id IN (SELECT d.file_id FROM rescan_queue d
         WHERE d.tenant_id = $1 AND d.context_id = $2 AND d.${isLeaseFree} AND (d.attempts > 0) = $5
           ${isNewest ? '' : `AND NOT ${buildWaitingFileCondition('d', '$6', '$1')}`}
         ORDER BY d.file_id DESC LIMIT ${isRetry ? 1 : maxBatchFiles} FOR UPDATE SKIP LOCKED)
       RETURNING q.file_id AS "fileId", q.attempts, q.failure`,
      [tenantId, contextId, token, leaseSeconds, isRetry, ...(isNewest ? [] : [signatures])],
    )
    return this.#loadBatch({ tenantId, contextId, token }, signatures, taken)
  }

  /** Leases the next files of the context that was processed least recently. */
  async #leaseNextBatch(signatures: string, token: string): Promise<Batch | undefined> {
    const { rows } = await this.pool.query<ContextRow>(
      'SELECT tenant_id, context_id FROM rescans WHERE NOT walked AND signatures = $1 ORDER BY taken_at LIMIT 8',
      [signatures],
    )
    for (const { tenant_id: tenantId, context_id: contextId } of rows) {
      const context = { tenantId, contextId, token }
      const leases = await withTransaction(this.pool, (client) => leaseNextFiles(client, context, signatures))
      if (leases) return this.#loadBatch(context, signatures, leases)
    }
    return undefined
  }

  /** Returns the leased files that still need a scan, and counts the others as processed. */
  async #loadBatch(context: LeaseOwner, signatures: string, leases: readonly LeasedFile[]): Promise<Batch> {
    const byId = new Map(leases.map((lease) => [lease.fileId, lease]))
    const due = await this.#findDueFiles(context, signatures, [...byId.keys()])
    const batch = { ...context, files: due.map((file) => ({ ...file, ...byId.get(file.fileId)! })) }
    for (const { fileId } of due) byId.delete(fileId)
    const unneeded = [...byId.keys()].map((fileId) => ({ fileId, report: null, bytes: 0, failed: false }))
    if (unneeded.length > 0) await this.saveResults(batch, signatures, unneeded)
    return batch
  }

  /** Marks a rescan as paused until the next file of its context is scanned. */
  async #pauseRescan(tenantId: string, contextId: string): Promise<void> {
    const statement = 'UPDATE rescans SET paused_at = now() WHERE tenant_id = $1 AND context_id = $2 AND paused_at IS NULL'
    await this.pool.query(statement, [tenantId, contextId])
  }

  async #findDueFiles(
    { tenantId, contextId }: Pick<Batch, 'tenantId' | 'contextId'>,
    signatures: string,
    fileIds: string[],
  ): Promise<Omit<DueFile, 'attempts' | 'failure'>[]> {
    if (fileIds.length === 0) return []
    const { rows } = await this.pool.query<Omit<DueFile, 'attempts' | 'failure'>>(
      `SELECT f.file_id AS "fileId", f.original_filename AS "originalFilename", f.size_bytes AS "sizeBytes", f.checksum, f.blob_path AS "blobPath", r.report
       FROM files f JOIN file_contexts c ON c.tenant_id = f.tenant_id AND c.context_id = f.context_id AND c.scan_for_viruses
         LEFT JOIN rescans w ON w.tenant_id = $1 AND w.context_id = f.context_id
         JOIN LATERAL (SELECT report FROM validation_reports r WHERE r.tenant_id = $1 AND r.file_id = f.file_id ORDER BY validated_at DESC LIMIT 1) r ON true
       WHERE f.tenant_id = $1 AND f.context_id = $2 AND f.file_id = ANY ($3) AND NOT ${buildScanDoneCondition(signatures, '$4')} ORDER BY f.file_id DESC`,
      [tenantId, contextId, fileIds, signatures],
    )
    return rows
  }
}

/** SQL condition that is true if the restored file is waiting for a scan with signatures other than `signaturesParameter`. */
const buildWaitingFileCondition = (queueAlias: string, signaturesParameter: string, tenant = `${queueAlias}.tenant_id`): string =>
  `EXISTS (SELECT FROM quarantine a WHERE a.tenant_id = ${tenant} AND a.file_id = ${queueAlias}.file_id AND a.viruses = '[]'
     AND a.signatures NOT IN (${signaturesParameter}, 'unknown'))`

/** Leases a context's next files and advances its position. Returns undefined if another replica has finished the context. */
async function leaseNextFiles(
  client: PoolClient,
  { tenantId, contextId, token }: LeaseOwner,
  signatures: string,
): Promise<LeasedFile[] | undefined> {
  const { rowCount } = await client.query(
    'SELECT FROM rescans WHERE tenant_id = $1 AND context_id = $2 AND signatures = $3 AND NOT walked FOR UPDATE',
    [tenantId, contextId, signatures],
  )
  if (!rowCount) return undefined
  const { rows: examined } = await client.query<{ file_id: string; done: boolean }>(
    `SELECT f.file_id, ${buildScanDoneCondition(signatures, '$3')} AS done FROM rescans w JOIN files f ON f.tenant_id = $1 AND f.context_id = w.context_id
       AND f.file_id < coalesce(w.before_id, 'g') AND f.file_id > w.until_id
     WHERE w.tenant_id = $1 AND w.context_id = $2 ORDER BY f.file_id DESC LIMIT ${maxFilesExamined}`,
    [tenantId, contextId, signatures],
  )
  const due = examined.filter(({ done }) => !done).slice(0, maxBatchFiles)
  const passed = due.length < maxBatchFiles ? examined.length : examined.indexOf(due.at(-1)!) + 1
  await client.query(
    `UPDATE rescans SET taken_at = now(), paused_at = NULL, top_id = greatest(top_id, $3), before_id = coalesce($4, before_id), walked = $5, passed = passed + $6
     WHERE tenant_id = $1 AND context_id = $2`,
    [
      tenantId,
      contextId,
      examined[0]?.file_id ?? '',
      examined[passed - 1]?.file_id ?? null,
      passed === examined.length && examined.length < maxFilesExamined,
      passed - due.length,
    ],
  )
  const { rows: leased } = await client.query<LeasedFile>(
    `INSERT INTO rescan_queue (tenant_id, file_id, context_id, leased_until, lease_token, attempts)
     SELECT $1, file_id, $2, ${getLeaseEndSql('$5')}, $4, 1 FROM unnest($3::text[]) AS taken(file_id)
     ON CONFLICT (tenant_id, file_id) DO NOTHING RETURNING file_id AS "fileId", attempts, failure`,
    [tenantId, contextId, due.map(({ file_id }) => file_id), token, leaseSeconds],
  )
  return leased
}

/**
 * Returns an SQL condition that is true if file `f` needs no scan in rescan `w`, because it has a report with these signatures. A
 * rescan that an admin requested repeats failed scans. If the signature version does not reflect every change, it repeats all
 * scans except those that found a virus, because an admin may have released the file.
 */
function buildScanDoneCondition(signatures: string, signaturesParameter: string): string {
  const isFinal = hasExactVersion(signatures)
    ? `NOT r.report @> '{"checks": [{"evidence": {"scan_failed": true}}]}'`
    : `r.report->>'outcome' = 'rejected'`
  return `EXISTS (SELECT FROM validation_reports r WHERE r.tenant_id = $1 AND r.file_id = f.file_id AND ${createSignaturesExpression('r.report')} = ${signaturesParameter}
    AND (w.asked IS NOT TRUE OR r.validated_at >= w.started_at OR ${isFinal}))`
}
