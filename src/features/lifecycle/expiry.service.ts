import { setTimeout as sleep } from 'node:timers/promises'
import type { Entry, RemovedFile } from '../../ledger/entry.js'
import { removeFilesPermanently } from '../../ledger/removal.js'
import { createSystemActor } from '../../platform/actor.js'
import { listTenantIds } from '../../platform/db/queries.js'
import { reachFaultPoint } from '../../platform/fault-points.js'
import type { Components } from '../components.js'

// Number of files per batch. Batches are small, because uploads of the same tenant wait while a batch holds the tenant's lock.
const filesAtOnce = 100

export interface ExpiryResult {
  deleted: number
  purged: number
}

/**
 * Result of a batch: the number of removed files, and the file ID after which the next batch starts. The ID is undefined after
 * the last batch.
 */
interface Batch {
  count: number
  next: string | undefined
}

interface DueContext {
  tenantId: string
  contextId: string
  hasOldFiles: boolean
  hasOldTrash: boolean
}

/**
 * Deletes files whose retention period has expired, and purges files whose time in the trash has expired. Several replicas can
 * run at the same time, because each batch checks the current policy and all holds under the tenant's lock.
 */
export class ExpiryService {
  constructor(private readonly parts: Pick<Components, 'db' | 'ledger' | 'serviceEvents'>) {}

  /** Processes expired files while `shouldContinue` returns true. A failure in one context does not affect other contexts. */
  async expireFiles(options: {
    shouldContinue?: () => boolean
    onFailed: (context: string, error: unknown) => void
  }): Promise<ExpiryResult> {
    const { shouldContinue = () => true, onFailed } = options
    const total: ExpiryResult = { deleted: 0, purged: 0 }
    for await (const tenantId of listTenantIds(this.parts.db.pool)) {
      if (!shouldContinue()) break
      const statement = { name: 'contexts-to-expire', text: contextsToExpire, values: [tenantId] }
      for (const context of (await this.parts.db.pool.query<DueContext>(statement)).rows)
        try {
          if (context.hasOldTrash) total.purged += await this.#purgeExpiredFiles(context, shouldContinue)
          if (context.hasOldFiles) total.deleted += await this.#deleteExpiredFiles(context, shouldContinue)
        } catch (error) {
          onFailed(context.contextId, error)
        }
    }
    return total
  }

  #purgeExpiredFiles({ tenantId, contextId }: DueContext, shouldContinue: () => boolean): Promise<number> {
    return this.#runBatches(shouldContinue, async () => {
      const count = await this.parts.ledger.changeTenant(tenantId, async (tx) => {
        const actor = createSystemActor(tenantId)
        const audit = await removeFilesPermanently(tx, actor, { table: 'trash', where: isOldTrash, values: [contextId] })
        reachFaultPoint('expiry.purging')
        return { result: audit.length, entry: audit.length > 0 ? { audit } : [] }
      })
      reachFaultPoint('expiry.purged')
      return { count, next: count < filesAtOnce ? undefined : '' }
    })
  }

  /** Deletes expired files, oldest first, up to the first file that has not expired. */
  #deleteExpiredFiles({ tenantId, contextId }: DueContext, shouldContinue: () => boolean): Promise<number> {
    return this.#runBatches(shouldContinue, async (after) => {
      const batch = await this.parts.ledger.changeTenant(tenantId, async (tx) => {
        const rows = await tx.$queryRawUnsafe<ExpiredFile[]>(oldFiles, tenantId, contextId, after)
        const entry = rows.filter((row) => row.isDue && !row.isKept).map((row) => toDeletionEntry(tenantId, row))
        reachFaultPoint('expiry.deleting')
        const isOver = rows.length < filesAtOnce || !rows.at(-1)!.isDue
        return { result: { count: entry.length, next: isOver ? undefined : rows.at(-1)!.fileId }, entry }
      })
      reachFaultPoint('expiry.deleted')
      return batch
    })
  }

  /** Runs batches with pauses in between, so that other calls can proceed. Returns the number of removed files. */
  async #runBatches(shouldContinue: () => boolean, removeFiles: (after: string) => Promise<Batch>): Promise<number> {
    let removed = 0
    for (let after: string | undefined = ''; after !== undefined && shouldContinue(); ) {
      const startedAt = performance.now()
      const { count, next } = await removeFiles(after)
      if (count > 0) this.parts.serviceEvents.emit('blobsReleased')
      removed += count
      after = next
      await sleep(Math.min(1000, performance.now() - startedAt + 10))
    }
    return removed
  }
}

const contextsToExpire = `
SELECT d.* FROM (SELECT c.tenant_id AS "tenantId", c.context_id AS "contextId",
    coalesce((SELECT f.created_at <= now() - make_interval(days => c.retention_days) FROM files f WHERE f.tenant_id = $1 AND f.context_id = c.context_id
      AND c.retention_days IS NOT NULL ORDER BY f.file_id LIMIT 1), false) AS "hasOldFiles",
    coalesce((SELECT t.deleted_at <= now() - make_interval(days => c.trash_days) FROM trash t WHERE t.tenant_id = $1 AND t.context_id = c.context_id
      ORDER BY t.deleted_at LIMIT 1), false) AS "hasOldTrash"
  FROM file_contexts c WHERE c.tenant_id = $1) d
WHERE d."hasOldFiles" OR d."hasOldTrash"`

// Selects files whose time in the trash has expired, according to the current policy and the database clock at the start of the
// transaction.
const isOldTrash = `t.file_id IN (SELECT d.file_id FROM trash d JOIN file_contexts p ON p.tenant_id = $1 AND p.context_id = d.context_id
  WHERE d.tenant_id = $1 AND d.context_id = $3 AND d.deleted_at <= now() - make_interval(days => p.trash_days)
    AND NOT EXISTS (SELECT FROM holds h WHERE h.tenant_id = $1 AND h.file_id = d.file_id)
  ORDER BY d.deleted_at LIMIT ${filesAtOnce})`

interface ExpiredFile extends Omit<RemovedFile, 'sizeBytes'> {
  sizeBytes: bigint
  retentionDays: number
  isDue: boolean
  isKept: boolean
}

// Sorting by ID sorts by age, because IDs are ordered by time. Quarantined files never expire, because admins decide whether to
// release or purge them.
const oldFiles = `
SELECT f.file_id AS "fileId", f.context_id AS "contextId", c.context_key AS "contextKey", f.original_filename AS "originalFilename", f.size_bytes AS "sizeBytes",
  c.retention_days AS "retentionDays", f.created_at <= now() - make_interval(days => c.retention_days) AS "isDue",
  f.quarantined_at IS NOT NULL OR EXISTS (SELECT FROM holds h WHERE h.tenant_id = $1 AND h.file_id = f.file_id) AS "isKept"
FROM files f JOIN file_contexts c ON c.tenant_id = $1 AND c.context_id = f.context_id
WHERE f.tenant_id = $1 AND f.context_id = $2 AND f.file_id > $3 AND c.retention_days IS NOT NULL ORDER BY f.file_id LIMIT ${filesAtOnce}`

const toDeletionEntry = (tenantId: string, { sizeBytes, retentionDays, ...file }: ExpiredFile): Entry => ({
  deletion: {
    actor: createSystemActor(tenantId),
    file: { ...file, sizeBytes: Number(sizeBytes) },
    details: { retention_days: retentionDays },
  },
})
