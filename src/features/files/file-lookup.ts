import type { Queries } from '../../platform/db/queries.js'
import { TenantBatches } from '../../platform/db/tenant-batches.js'
import type { File } from './file.types.js'
import { buildFileJoinsSql, contextJoin, fileColumns, immutableColumns } from './file-list.js'

interface StoredColumns {
  blobPath: string
  quarantinedAt: Date | null
}

/** Fields of a file that downloads and deletions need. */
export type StoredFile = StoredColumns &
  Pick<File, 'fileId' | 'tenantId' | 'contextId' | 'contextKey' | 'originalFilename' | 'contentType' | 'sizeBytes' | 'uploadedBy'>

/** Finds files by ID. */
export class FileLookup<Found extends StoredFile> {
  readonly #statement: { name: string; text: string }
  readonly #batches: TenantBatches<{ tenantId: string; fileId: string }, Found>

  private constructor(
    private readonly database: Queries,
    { name, columns, joins }: { name: string; columns: string; joins: string },
  ) {
    const source = `SELECT ${columns}, f.blob_path AS "blobPath" FROM files f ${joins}`
    this.#statement = { name, text: `${source} WHERE f.tenant_id = $1 AND f.file_id = ANY($2::text[])` }
    this.#batches = new TenantBatches(async (tenantId, items) => {
      const found = await this.findByIds(tenantId, [...new Set(items.map(({ fileId }) => fileId))])
      return items.map(({ fileId }) => found.get(fileId) ?? null)
    })
  }

  /** Finds files with all their metadata, which takes PostgreSQL 1.5 times as long as `basic`. */
  static complete = (database: Queries) =>
    new FileLookup<File & StoredColumns>(database, {
      name: 'complete-files-by-id',
      columns: fileColumns,
      joins: buildFileJoinsSql('$1'),
    })

  /** Finds files with only the fields that downloads and deletions need. */
  static basic = (database: Queries) =>
    new FileLookup<StoredFile>(database, {
      name: 'basic-files-by-id',
      columns: `${immutableColumns}, f.quarantined_at AS "quarantinedAt"`,
      joins: contextJoin,
    })

  /** Returns a file, or null if the tenant has no such file. Concurrent calls share one SQL statement. */
  findById(tenantId: string, fileId: string): Promise<Found | null> {
    return this.#batches.find({ tenantId, fileId })
  }

  /** Returns files by ID. Unknown IDs are missing from the map. */
  async findByIds(tenantId: string, fileIds: readonly string[]): Promise<Map<string, Found>> {
    const { rows } = await this.database.query<Found>({ ...this.#statement, values: [tenantId, fileIds] })
    return new Map(rows.map((file) => [file.fileId, file]))
  }
}
