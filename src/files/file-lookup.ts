import DataLoader from 'dataloader'
import type { Queries } from '../db/client.js'
import type { File } from './file.type.js'
import { fileColumns, fileJoins } from './file-list.js'

export type StoredFile = File & { blobPath: string; quarantinedAt: Date | null }

interface Wanted {
  tenantId: string
  fileId: string
}

const mostTogether = 64

/**
 * Files by id. What concurrent calls ask for in one turn of the event loop is one statement for each tenant, since a round trip costs both sides more than the
 * rows. Nothing is kept for a later call.
 */
export class FileLookup {
  readonly #database: Queries
  readonly #loader: DataLoader<Wanted, StoredFile | null>

  constructor(database: Queries) {
    this.#database = database
    this.#loader = new DataLoader((wanted) => this.#load(wanted), {
      cache: false,
      maxBatchSize: mostTogether,
      batchScheduleFn: (begin) => setImmediate(begin),
    })
  }

  /** Null where the tenant has no such file. */
  find(tenantId: string, fileId: string): Promise<StoredFile | null> {
    return this.#loader.load({ tenantId, fileId })
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

  async #load(wanted: readonly Wanted[]): Promise<(StoredFile | Error | null)[]> {
    const byTenant = new Map<string, Set<string>>()
    for (const { tenantId, fileId } of wanted) {
      const ids = byTenant.get(tenantId)
      if (ids) ids.add(fileId)
      else byTenant.set(tenantId, new Set([fileId]))
    }
    const found = new Map<string, Map<string, StoredFile> | Error>()
    await Promise.all(
      [...byTenant].map(async ([tenantId, ids]) =>
        found.set(tenantId, await this.findAll(tenantId, [...ids]).catch((error: Error) => error)),
      ),
    )
    return wanted.map(({ tenantId, fileId }) => {
      const files = found.get(tenantId)!
      return files instanceof Error ? files : (files.get(fileId) ?? null)
    })
  }
}
