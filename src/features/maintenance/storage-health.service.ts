import { createHash } from 'node:crypto'
import { withDedicatedClient } from '../../platform/db/queries.js'
import { AssayError } from '../../platform/errors/errors.js'
import { isBlobPath } from '../../platform/storage/blob-path.js'
import type { StoredBlob } from '../../platform/storage/blob-storage.js'
import type { Components } from '../components.js'
import { countCounterErrors, type Horizons, type Repair, repairCounters } from './counter-drift.js'
import { countJournalErrors } from './journal-drift.js'
import type { LogStartTimes } from './retention.js'
import type { StorageHealthType } from './storage-health.types.js'

export interface Finding {
  kind: 'file_without_blob' | 'blob_without_file' | 'corrupted'
  blobPath: string
  fileId: string | null
  tenantId: string | null
}

interface ComparedPath {
  path: string
  finding: Finding | undefined
}

interface FileRow {
  blob_path: string
  file_id: string
  tenant_id: string
  size_bytes: number
  checksum: string
}

const rowsAtOnce = 1000

const findingCounts = {
  file_without_blob: 'filesWithoutBlob',
  blob_without_file: 'blobsWithoutFile',
  corrupted: 'corrupted',
} as const satisfies Record<Finding['kind'], keyof StorageHealthType>

interface Dependencies extends Pick<Components, 'db' | 'storage'> {
  horizons: Pick<LogStartTimes, 'calls' | 'audits'>
}

/** Compares counters, database rows and blobs with each other, in constant memory. */
export class StorageHealth {
  constructor(private readonly parts: Dependencies) {}

  /**
   * Counts inconsistencies. `readBlobs` reads every blob, and `recomputeHashes` recomputes each journal's hashes from its first
   * entry.
   */
  async verify(options: { tenantId?: string; readBlobs?: boolean; recomputeHashes?: boolean } = {}): Promise<StorageHealthType> {
    const { tenantId = null, readBlobs = false, recomputeHashes = false } = options
    const counts = await withDedicatedClient(this.parts.db, 'assay verify', async (client) => ({
      countersDrift: await countCounterErrors(client, { tenantId, ...this.#getLogStartTimes() }),
      filesWithoutBlob: 0,
      blobsWithoutFile: 0,
      corrupted: 0,
      journalDrift: await countJournalErrors(client, { tenantId, recomputeHashes }),
    }))
    for await (const { finding } of this.comparePaths({
      prefix: tenantId ? `${tenantId}/` : '',
      readFraction: readBlobs ? 1 : 0,
    }))
      if (finding) counts[findingCounts[finding.kind]]++
    return counts
  }

  /**
   * Compares the sorted lists of rows and blobs. Checks each difference again before reporting it, because uploads and deletions
   * continue in the meantime. `readFraction` is the fraction of blobs whose content is read.
   */
  async *comparePaths(options: { prefix?: string; after?: string; readFraction: number }): AsyncGenerator<ComparedPath> {
    const { prefix = '', after = prefix, readFraction } = options
    const rows = this.#listRows(after, prefix)
    const blobs = this.#listBlobs(after, prefix)
    let row = (await rows.next()).value
    let blob = (await blobs.next()).value
    while (row || blob) {
      const order = row && blob ? Buffer.compare(Buffer.from(row.blob_path), Buffer.from(blob.path)) : row ? -1 : 1
      if (row && blob && order === 0) {
        yield { path: blob.path, finding: await this.#findChangedBlob(row, blob.size, Math.random() < readFraction) }
        row = (await rows.next()).value
        blob = (await blobs.next()).value
      } else if (row && order < 0) {
        yield { path: row.blob_path, finding: await this.#findMissingBlob(row) }
        row = (await rows.next()).value
      } else if (blob) {
        yield { path: blob.path, finding: await this.#findOrphanedBlob(blob) }
        blob = (await blobs.next()).value
      }
    }
  }

  repairCounters(): Promise<Repair[]> {
    return withDedicatedClient(this.parts.db, 'assay verify', (client) => repairCounters(client, this.#getLogStartTimes()))
  }

  #getLogStartTimes(): Horizons {
    return { callsSince: this.parts.horizons.calls(), auditsSince: this.parts.horizons.audits() }
  }

  async *#listRows(start: string, prefix: string): AsyncGenerator<FileRow, undefined> {
    for (let after = start; ; ) {
      const { rows } = await this.parts.db.pool.query<FileRow>(
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

  async *#listBlobs(start: string, prefix: string): AsyncGenerator<StoredBlob, undefined> {
    for await (const blob of this.parts.storage.list(start)) {
      if (!blob.path.startsWith(prefix)) return
      yield blob
    }
  }

  async #findMissingBlob(row: FileRow): Promise<Finding | undefined> {
    if (!(await this.#isReferenced(row.blob_path)) || (await this.parts.storage.getSize(row.blob_path)) !== null) return undefined
    return (await this.#isReferenced(row.blob_path)) ? toFinding('file_without_blob', row) : undefined
  }

  async #findOrphanedBlob(blob: StoredBlob): Promise<Finding | undefined> {
    const finding = { kind: 'blob_without_file' as const, blobPath: blob.path, fileId: null, tenantId: null }
    // The service never creates such a path, so another program must have stored this object.
    if (!isBlobPath(blob.path)) return finding
    const { rows } = await this.parts.db.pool.query(
      `${referenceStatement} UNION ALL SELECT 1 FROM blob_garbage WHERE tenant_id = $1 AND blob_path = $2`,
      [getTenantId(blob.path), blob.path],
    )
    if (rows.length > 0 || (await this.parts.storage.getSize(blob.path)) === null) return undefined
    return finding
  }

  async #findChangedBlob(row: FileRow, size: number, readContent: boolean): Promise<Finding | undefined> {
    const digest = size === row.size_bytes && readContent ? await this.#computeDigest(row.blob_path) : row.checksum
    if (digest === undefined) return this.#findUnreadableBlob(row)
    const sound = size === row.size_bytes && digest === row.checksum
    return sound || !(await this.#isReferenced(row.blob_path)) ? undefined : toFinding('corrupted', row)
  }

  /**
   * Returns the finding, if any, for a listed blob that cannot be read: either it was deleted in the meantime, or the store is
   * damaged.
   */
  async #findUnreadableBlob(row: FileRow): Promise<Finding | undefined> {
    if ((await this.parts.storage.getSize(row.blob_path)) === null) return this.#findMissingBlob(row)
    return (await this.#isReferenced(row.blob_path)) ? toFinding('corrupted', row) : undefined
  }

  async #computeDigest(path: string): Promise<string | undefined> {
    const hash = createHash('sha256')
    try {
      for await (const chunk of await this.parts.storage.open(path)) hash.update(chunk as Buffer)
    } catch (error) {
      if (error instanceof AssayError && error.code === 'not_found') return undefined
      throw error
    }
    return hash.digest('hex')
  }

  async #isReferenced(blobPath: string): Promise<boolean> {
    const { rows } = await this.parts.db.pool.query(referenceStatement, [getTenantId(blobPath), blobPath])
    return rows.length > 0
  }
}

const buildRowsSql = (table: 'files' | 'trash') =>
  `(SELECT blob_path, file_id, tenant_id, size_bytes, checksum FROM ${table} WHERE (tenant_id, blob_path) > ($1, $2) ORDER BY tenant_id, blob_path LIMIT $3)`
const referenceStatement =
  'SELECT 1 FROM files WHERE tenant_id = $1 AND blob_path = $2 UNION ALL SELECT 1 FROM trash WHERE tenant_id = $1 AND blob_path = $2'

/** Returns the tenant ID at the start of a blob path. Because of this prefix, sorting by path also sorts by tenant. */
const getTenantId = (path: string): string => path.split('/')[0]!

const toFinding = (kind: Finding['kind'], row: FileRow): Finding => ({
  kind,
  blobPath: row.blob_path,
  fileId: row.file_id,
  tenantId: row.tenant_id,
})
