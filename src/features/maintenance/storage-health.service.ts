import { createHash } from 'node:crypto'
import type { ClientBase } from 'pg'
import type { Database } from '../../platform/db/client.js'
import { AssayError } from '../../platform/errors/errors.js'
import { isBlobPath } from '../../platform/storage/blob-path.js'
import type { BlobStorage, StoredBlob } from '../../platform/storage/blob-storage.js'
import { countCounterErrors } from './counter-drift.js'
import { type Repair, repairCounters } from './counter-repair.js'
import { countJournalErrors } from './journal-drift.js'
import type { LogStartTimes } from './log-start-times.js'

/** Number of inconsistencies of each kind. All numbers are 0 if the storage is healthy. */
export interface HealthCounts {
  countersDrift: number
  filesWithoutBlob: number
  blobsWithoutFile: number
  corrupted: number
  journalDrift: number
}

export interface Finding {
  kind: 'file_without_blob' | 'blob_without_file' | 'corrupted'
  blobPath: string
  fileId: string | null
  tenantId: string | null
}

interface FileRow {
  blob_path: string
  file_id: string
  tenant_id: string
  size_bytes: number
  checksum: string
}

const rowsAtOnce = 1000

/** Compares counters, database rows and blobs with each other, in constant memory. */
export class StorageHealth {
  readonly #database: Database
  readonly #storage: BlobStorage
  readonly #horizons: Pick<LogStartTimes, 'calls' | 'audits'>

  constructor(parts: { database: Database; storage: BlobStorage; horizons: Pick<LogStartTimes, 'calls' | 'audits'> }) {
    this.#database = parts.database
    this.#storage = parts.storage
    this.#horizons = parts.horizons
  }

  /** Counts inconsistencies. `deep` reads every blob, and `whole` recomputes the journals from their first entry. */
  async verify({
    tenantId,
    deep = false,
    whole = false,
  }: {
    tenantId?: string
    deep?: boolean
    whole?: boolean
  } = {}): Promise<HealthCounts> {
    const counts: HealthCounts = {
      countersDrift: await this.#countCounterErrors(tenantId ?? null),
      filesWithoutBlob: 0,
      blobsWithoutFile: 0,
      corrupted: 0,
      journalDrift: await this.#runWithDedicatedConnection((client) =>
        countJournalErrors(client, { tenantId: tenantId ?? null, whole }),
      ),
    }
    for await (const { kind } of this.listFindings({ ...(tenantId && { prefix: `${tenantId}/` }), deep })) {
      if (kind === 'file_without_blob') counts.filesWithoutBlob++
      else if (kind === 'blob_without_file') counts.blobsWithoutFile++
      else counts.corrupted++
    }
    return counts
  }

  /**
   * Compares the sorted lists of rows and blobs. Each difference is checked again, because uploads and deletions continue in the
   * meantime.
   */
  async *listFindings({
    prefix = '',
    after,
    deep = false,
    sample = 0,
    onPath,
  }: {
    prefix?: string
    after?: string
    deep?: boolean
    sample?: number
    onPath?: (path: string) => void | Promise<void>
  } = {}): AsyncGenerator<Finding> {
    const start = after ?? prefix
    const rows = this.#listRows(start, prefix)[Symbol.asyncIterator]()
    const blobs = this.#listBlobs(start, prefix)[Symbol.asyncIterator]()
    let row = await rows.next()
    let blob = await blobs.next()
    while (!row.done || !blob.done) {
      const order = row.done ? 1 : blob.done ? -1 : Buffer.compare(Buffer.from(row.value.blob_path), Buffer.from(blob.value.path))
      await onPath?.(order <= 0 ? (row.value as FileRow).blob_path : (blob.value as StoredBlob).path)
      if (order < 0) {
        const found = await this.#findMissingBlob(row.value as FileRow)
        if (found) yield found
        row = await rows.next()
      } else if (order > 0) {
        const found = await this.#findOrphanedBlob(blob.value as StoredBlob)
        if (found) yield found
        blob = await blobs.next()
      } else {
        const found = await this.#findChangedBlob(
          row.value as FileRow,
          (blob.value as StoredBlob).size,
          deep || Math.random() < sample,
        )
        if (found) yield found
        row = await rows.next()
        blob = await blobs.next()
      }
    }
  }

  /** Corrects counters that differ from the rows that they count. Returns the corrected counters. */
  repairCounters(): Promise<Repair[]> {
    return this.#runWithDedicatedConnection((client) => repairCounters(client, this.#getLogStartTimes()))
  }

  #countCounterErrors(tenantId: string | null): Promise<number> {
    return this.#runWithDedicatedConnection((client) => countCounterErrors(client, { tenantId, ...this.#getLogStartTimes() }))
  }

  #getLogStartTimes(): { callsSince: Date | null; auditsSince: Date | null } {
    return { callsSince: this.#horizons.calls(), auditsSince: this.#horizons.audits() }
  }

  /** Runs `work` on a dedicated connection, because a recount takes a long time. */
  async #runWithDedicatedConnection<T>(work: (client: ClientBase) => Promise<T>): Promise<T> {
    const client = await this.#database.connectDedicated('assay verify')
    try {
      return await work(client)
    } finally {
      await client.end()
    }
  }

  async *#listRows(start: string, prefix: string): AsyncGenerator<FileRow> {
    for (let after = start; ; ) {
      const { rows } = await this.#database.pool.query<FileRow>(
        `SELECT * FROM (${buildRowsSql('files')} UNION ALL ${buildRowsSql('trash')}) held ORDER BY tenant_id, blob_path LIMIT $3`,
        [getTenantId(after), after, rowsAtOnce],
      )
      for (const row of rows) {
        if (!row.blob_path.startsWith(prefix)) return
        yield row
      }
      if (rows.length < rowsAtOnce) return
      after = rows.at(-1)!.blob_path
    }
  }

  async *#listBlobs(start: string, prefix: string): AsyncGenerator<StoredBlob> {
    for await (const blob of this.#storage.list(start)) {
      if (!blob.path.startsWith(prefix)) return
      yield blob
    }
  }

  async #findMissingBlob(row: FileRow): Promise<Finding | undefined> {
    if (!(await this.#isReferenced(row.blob_path)) || (await this.#storage.getSize(row.blob_path)) !== null) return undefined
    return (await this.#isReferenced(row.blob_path)) ? toFinding('file_without_blob', row) : undefined
  }

  async #findOrphanedBlob(blob: StoredBlob): Promise<Finding | undefined> {
    const finding = { kind: 'blob_without_file' as const, blobPath: blob.path, fileId: null, tenantId: null }
    // Another program stored this object.
    if (!isBlobPath(blob.path)) return finding
    const { rows } = await this.#database.pool.query(
      `${referenceStatement} UNION ALL SELECT 1 FROM blob_garbage WHERE tenant_id = $1 AND blob_path = $2`,
      [getTenantId(blob.path), blob.path],
    )
    if (rows.length > 0 || (await this.#storage.getSize(blob.path)) === null) return undefined
    return finding
  }

  async #findChangedBlob(row: FileRow, size: number, read: boolean): Promise<Finding | undefined> {
    const digest = size === row.size_bytes && read ? await this.#computeDigest(row.blob_path) : row.checksum
    if (digest === undefined) return this.#findUnreadableBlob(row)
    const sound = size === row.size_bytes && digest === row.checksum
    return sound || !(await this.#isReferenced(row.blob_path)) ? undefined : toFinding('corrupted', row)
  }

  /** Handles a listed blob that cannot be read, because it was deleted in the meantime or the store is damaged. */
  async #findUnreadableBlob(row: FileRow): Promise<Finding | undefined> {
    if ((await this.#storage.getSize(row.blob_path)) === null) return this.#findMissingBlob(row)
    return (await this.#isReferenced(row.blob_path)) ? toFinding('corrupted', row) : undefined
  }

  async #computeDigest(path: string): Promise<string | undefined> {
    const hash = createHash('sha256')
    try {
      for await (const chunk of await this.#storage.open(path)) hash.update(chunk as Buffer)
    } catch (error) {
      if (error instanceof AssayError && error.code === 'not_found') return undefined
      throw error
    }
    return hash.digest('hex')
  }

  async #isReferenced(blobPath: string): Promise<boolean> {
    const values = [getTenantId(blobPath), blobPath]
    const { rowCount } = await this.#database.pool.query(referenceStatement, values)
    return (rowCount ?? 0) > 0
  }
}

/** Returns SQL for the rows that have a blob, which include trashed files. */
const buildRowsSql = (table: 'files' | 'trash') =>
  `(SELECT blob_path, file_id, tenant_id, size_bytes, checksum FROM ${table} WHERE (tenant_id, blob_path) > ($1, $2) ORDER BY tenant_id, blob_path LIMIT $3)`
const referenceStatement =
  'SELECT 1 FROM files WHERE tenant_id = $1 AND blob_path = $2 UNION ALL SELECT 1 FROM trash WHERE tenant_id = $1 AND blob_path = $2'

/**
 * Returns the tenant ID, with which every blob path begins. Sorting by path is therefore the same as sorting by tenant and path.
 */
const getTenantId = (path: string): string => path.split('/')[0]!

const toFinding = (kind: Finding['kind'], row: FileRow): Finding => ({
  kind,
  blobPath: row.blob_path,
  fileId: row.file_id,
  tenantId: row.tenant_id,
})
