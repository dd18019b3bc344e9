import type { Pool, PoolClient } from 'pg'
import type { ValidationReport } from '../validation/checks/check.js'
import { isExact, isVersioned, signaturesIn } from './signatures.js'

const leaseSeconds = 30
const mostAtOnce = 64
const lookedAtOnce = 256
const mostAttempts = 3

/** A file to scan again. */
export interface DueFile {
  fileId: string
  originalFilename: string
  sizeBytes: number
  checksum: string
  blobPath: string
  report: ValidationReport
}

/** Files of one context that are the token's until its lease ends. */
export interface Batch {
  tenantId: string
  contextId: string
  token: string
  files: DueFile[]
}

/** What came of one: a report, or none where it could not be read or is no longer to be scanned. */
export interface Result {
  fileId: string
  report: ValidationReport | null
  bytes: number
  failed: boolean
}

interface Place {
  tenant_id: string
  context_id: string
}

/**
 * Which files are scanned again, and by which replica. Where each context has come to is a row, and so is each file in hand, leased by
 * the database's clock: replicas take turns at both, and what one that died had in hand another takes when its lease is over.
 */
export class RescanQueue {
  readonly #pool: Pool

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** Files that no other replica has; undefined where there are none. */
  async take(signatures: string, token: string): Promise<Batch | undefined> {
    return (await this.#takeDue(signatures, token)) ?? (await this.#takeNext(signatures, token))
  }

  /** Writes what came of files, unless another replica has them by now; gives how many were still the token's. */
  async keep({ tenantId, contextId, token }: Batch, signatures: string, results: readonly Result[]): Promise<number> {
    const rows = results.map(({ fileId, report, bytes, failed }) => ({
      file_id: fileId,
      validated_at: report?.validatedAt ?? null,
      report,
      bytes,
      failed,
    }))
    const { rows: kept } = await this.#pool.query<{ kept: number }>('SELECT rescan_keep_1($1, $2, $3, $4::jsonb, $5) AS kept', [
      tenantId,
      contextId,
      token,
      JSON.stringify(rows),
      !isVersioned(signatures),
    ])
    return Number(kept[0]!.kept)
  }

  /** They stay the token's for another while. */
  async renew({ tenantId, token }: Batch): Promise<void> {
    await this.#pool.query(
      'UPDATE rescan_queue SET leased_until = now() + make_interval(secs => $3) WHERE tenant_id = $1 AND token = $2',
      [tenantId, token, leaseSeconds],
    )
  }

  /** Anyone may take them after `seconds`, and the attempt does not count: the files are not at fault. */
  async giveBack({ tenantId, contextId, token }: Batch, seconds: number): Promise<void> {
    await this.#pool.query(
      'UPDATE rescan_queue SET leased_until = now() + make_interval(secs => $3), token = NULL, attempts = attempts - 1 WHERE tenant_id = $1 AND token = $2',
      [tenantId, token, seconds],
    )
    await this.#pool.query('UPDATE rescans SET paused_at = coalesce(paused_at, now()) WHERE tenant_id = $1 AND context_id = $2', [
      tenantId,
      contextId,
    ])
  }

  /** The scanner is away: what is under way says so until it goes on. */
  async pauseAll(): Promise<void> {
    await this.#pool.query('UPDATE rescans SET paused_at = now() WHERE finished_at IS NULL AND paused_at IS NULL')
  }

  /** Ends the walks that are through, and has those looked at once more that began while uploads were still judged by the signatures before. */
  async finish(): Promise<void> {
    const { rows } = await this.#pool.query<Place>(
      `SELECT w.tenant_id, w.context_id FROM rescans w WHERE w.walked AND (w.finished_at IS NULL OR (NOT w.settled AND w.started_at < now() - interval '10 minutes'))
         AND NOT EXISTS (SELECT FROM rescan_queue q WHERE q.tenant_id = w.tenant_id AND q.context_id = w.context_id) LIMIT 1000`,
      [],
    )
    for (const { tenant_id, context_id } of rows) await this.finishOne(tenant_id, context_id)
  }

  async finishOne(tenantId: string, contextId: string): Promise<void> {
    await this.#pool.query(
      `UPDATE rescans w SET finished_at = now(), paused_at = NULL WHERE w.tenant_id = $1 AND w.context_id = $2 AND w.walked AND w.finished_at IS NULL
         AND NOT EXISTS (SELECT FROM rescan_queue q WHERE q.tenant_id = $1 AND q.context_id = $2)`,
      [tenantId, contextId],
    )
    await this.#pool.query(
      `UPDATE rescans SET walked = false, settled = true, before_id = NULL, until_id = top_id
       WHERE tenant_id = $1 AND context_id = $2 AND finished_at IS NOT NULL AND NOT settled AND started_at < now() - interval '10 minutes'`,
      [tenantId, contextId],
    )
  }

  /** What was left by a replica that died, or restored. */
  async #takeDue(signatures: string, token: string): Promise<Batch | undefined> {
    const { rows } = await this.#pool.query<Place>(
      `SELECT q.tenant_id, q.context_id FROM rescan_queue q LEFT JOIN rescans w ON w.tenant_id = q.tenant_id AND w.context_id = q.context_id
       WHERE q.leased_until <= now() AND coalesce(w.signatures, $1) = $1 ORDER BY q.leased_until LIMIT 1`,
      [signatures],
    )
    if (!rows[0]) return undefined
    const { tenant_id: tenantId, context_id: contextId } = rows[0]
    const { rows: taken } = await this.#pool.query<{ file_id: string; attempts: number }>(
      `UPDATE rescan_queue q SET leased_until = now() + make_interval(secs => $4), token = $3, attempts = q.attempts + 1
       WHERE q.tenant_id = $1 AND q.file_id IN (SELECT d.file_id FROM rescan_queue d
         WHERE d.tenant_id = $1 AND d.context_id = $2 AND d.leased_until <= now() ORDER BY d.file_id DESC LIMIT ${mostAtOnce} FOR UPDATE SKIP LOCKED)
       RETURNING q.file_id, q.attempts`,
      [tenantId, contextId, token, leaseSeconds],
    )
    const worn = taken.filter(({ attempts }) => attempts > mostAttempts).map(({ file_id }) => file_id)
    return this.#batchOf({ tenantId, contextId, token }, signatures, { ids: taken.map(({ file_id }) => file_id), worn })
  }

  /** The next ones of the context that had its last turn longest ago. */
  async #takeNext(signatures: string, token: string): Promise<Batch | undefined> {
    const { rows } = await this.#pool.query<Place>(
      'SELECT tenant_id, context_id FROM rescans WHERE NOT walked AND signatures = $1 ORDER BY taken_at LIMIT 8',
      [signatures],
    )
    for (const { tenant_id: tenantId, context_id: contextId } of rows) {
      const place = { tenantId, contextId, token }
      const ids = await this.#advance(place, signatures)
      if (ids) return this.#batchOf(place, signatures, { ids, worn: [] })
    }
    return undefined
  }

  /** Those that are deleted, scanned already or no longer to be scanned are done with, and so are the `worn`: three scans of them came to no end. */
  async #batchOf(
    place: Omit<Batch, 'files'>,
    signatures: string,
    { ids, worn }: { ids: string[]; worn: string[] },
  ): Promise<Batch> {
    const described = await this.#described(place, signatures, ids)
    const batch = { ...place, files: described.filter(({ fileId }) => !worn.includes(fileId)) }
    const done = ids.filter((id) => !batch.files.some(({ fileId }) => fileId === id))
    if (done.length > 0)
      await this.keep(
        batch,
        signatures,
        done.map((fileId) => ({ fileId, report: null, bytes: 0, failed: worn.includes(fileId) })),
      )
    return batch
  }

  /** Moves a context's place on, and leases what lies between and is to be scanned; undefined where another replica came to its end. */
  async #advance(place: Omit<Batch, 'files'>, signatures: string): Promise<string[] | undefined> {
    const client = await this.#pool.connect()
    try {
      await client.query('BEGIN')
      const ids = await this.#step(client, place, signatures)
      await client.query('COMMIT')
      return ids
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {})
      throw error
    } finally {
      client.release()
    }
  }

  async #step(
    client: PoolClient,
    { tenantId, contextId, token }: Omit<Batch, 'files'>,
    signatures: string,
  ): Promise<string[] | undefined> {
    const { rowCount } = await client.query(
      'SELECT FROM rescans WHERE tenant_id = $1 AND context_id = $2 AND signatures = $3 AND NOT walked FOR UPDATE',
      [tenantId, contextId, signatures],
    )
    if (!rowCount) return undefined
    const { rows: looked } = await client.query<{ file_id: string; done: boolean }>(
      `SELECT f.file_id, ${isDone(signatures, '$3')} AS done FROM rescans w JOIN files f ON f.tenant_id = w.tenant_id AND f.context_id = w.context_id
         AND f.file_id < coalesce(w.before_id, 'g') AND f.file_id > w.until_id
       WHERE w.tenant_id = $1 AND w.context_id = $2 ORDER BY f.file_id DESC LIMIT ${lookedAtOnce}`,
      [tenantId, contextId, signatures],
    )
    const ids: string[] = []
    let passed = 0
    for (const { file_id, done } of looked) {
      if (ids.length === mostAtOnce) break
      passed++
      if (!done) ids.push(file_id)
    }
    await client.query(
      `UPDATE rescans SET taken_at = clock_timestamp(), paused_at = NULL, top_id = greatest(top_id, $3), before_id = coalesce($4, before_id), walked = $5, passed = passed + $6
       WHERE tenant_id = $1 AND context_id = $2`,
      [
        tenantId,
        contextId,
        looked[0]?.file_id ?? '',
        looked[passed - 1]?.file_id ?? null,
        passed === looked.length && looked.length < lookedAtOnce,
        passed - ids.length,
      ],
    )
    const { rows: leased } = await client.query<{ file_id: string }>(
      `INSERT INTO rescan_queue (tenant_id, file_id, context_id, leased_until, token, attempts)
       SELECT $1, file_id, $2, now() + make_interval(secs => $5), $4, 1 FROM unnest($3::text[]) AS taken(file_id)
       ON CONFLICT (tenant_id, file_id) DO NOTHING RETURNING file_id`,
      [tenantId, contextId, ids, token, leaseSeconds],
    )
    return leased.map(({ file_id }) => file_id)
  }

  /** Newest first; without those that are gone or need no scan any more. */
  async #described(
    { tenantId, contextId }: Pick<Batch, 'tenantId' | 'contextId'>,
    signatures: string,
    fileIds: string[],
  ): Promise<DueFile[]> {
    if (fileIds.length === 0) return []
    const { rows } = await this.#pool.query<DueFile>(
      `SELECT f.file_id AS "fileId", f.original_filename AS "originalFilename", f.size_bytes AS "sizeBytes", f.checksum, f.blob_path AS "blobPath", r.report
       FROM files f JOIN file_contexts c ON c.tenant_id = f.tenant_id AND c.context_id = f.context_id AND c.scan_for_viruses
         LEFT JOIN rescans w ON w.tenant_id = f.tenant_id AND w.context_id = f.context_id
         JOIN LATERAL (SELECT report FROM validation_reports r WHERE r.tenant_id = f.tenant_id AND r.file_id = f.file_id ORDER BY validated_at DESC LIMIT 1) r ON true
       WHERE f.tenant_id = $1 AND f.context_id = $2 AND f.file_id = ANY ($3) AND NOT ${isDone(signatures, '$4')} ORDER BY f.file_id DESC`,
      [tenantId, contextId, fileIds, signatures],
    )
    return rows
  }
}

/**
 * Whether file `f` needs no scan in walk `w`: it has a report by these signatures. Where their version does not tell every change, a
 * walk that a person asked for scans again what it has not itself; but not what was found infected, and may have been released.
 */
function isDone(signatures: string, parameter: string): string {
  const same = `r.tenant_id = f.tenant_id AND r.file_id = f.file_id AND ${signaturesIn('r.report')} = ${parameter}`
  if (isExact(signatures)) return `EXISTS (SELECT FROM validation_reports r WHERE ${same})`
  return `EXISTS (SELECT FROM validation_reports r WHERE ${same} AND (w.asked IS NOT TRUE OR r.validated_at >= w.started_at OR r.report->>'outcome' = 'rejected'))`
}
