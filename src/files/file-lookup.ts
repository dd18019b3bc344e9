import type { Queries } from '../db/client.js'
import { TenantBatches } from '../db/tenant-batches.js'
import type { File } from './file.type.js'
import { fileColumns, fileJoins } from './file-list.js'

export type StoredFile = File & { blobPath: string; quarantinedAt: Date | null }

/** Files by id, with where their content lies. */
export class FileLookup {
  readonly #database: Queries
  readonly #batches: TenantBatches<{ tenantId: string; fileId: string }, StoredFile>

  constructor(database: Queries) {
    this.#database = database
    this.#batches = new TenantBatches(async (tenantId, asked) => {
      const found = await this.findAll(tenantId, [...new Set(asked.map(({ fileId }) => fileId))])
      return asked.map(({ fileId }) => found.get(fileId) ?? null)
    })
  }

  /** Null where the tenant has no such file. */
  find(tenantId: string, fileId: string): Promise<StoredFile | null> {
    return this.#batches.find({ tenantId, fileId })
  }

  /** Several at once; one that is not there is missing. */
  async findAll(tenantId: string, fileIds: readonly string[]): Promise<Map<string, StoredFile>> {
    const { rows } = await this.#database.query<StoredFile>({
      name: 'stored-files-by-id',
      text: `SELECT ${fileColumns}, f.blob_path AS "blobPath", f.quarantined_at AS "quarantinedAt" FROM files f ${fileJoins} WHERE f.tenant_id = $1 AND f.file_id = ANY($2)`,
      values: [tenantId, fileIds],
    })
    return new Map(rows.map((file) => [file.fileId, file]))
  }
}
