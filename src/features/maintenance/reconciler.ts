import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { createAuditRow } from '../../ledger/entry.js'
import { createSystemActor } from '../../platform/actor.js'
import { getCurrentTime, now } from '../../platform/clock.js'
import { loadState, saveState, withDedicatedClient } from '../../platform/db/queries.js'
import { isId } from '../../platform/ids.js'
import { isBlobPath } from '../../platform/storage/blob-path.js'
import type { Components } from '../components.js'
import type { Finding, StorageHealth } from './storage-health.service.js'

/** Limits on the load that comparisons cause. */
export interface Pace {
  pathsPerSecond: number
  /** Fraction of blobs whose content is compared with the stored SHA-256 checksum. */
  readFraction: number
}

const usualPace: Pace = { pathsPerSecond: 200, readFraction: 0.01 }
const stateKey = 'reconcile'
const lock = 4_207_003

interface Dependencies extends Pick<Components, 'db' | 'ledger'> {
  storageHealth: StorageHealth
  logger: Logger
  pace?: Pace
}

interface State {
  after: string
  startedAt: string
  finishedAt: string | null
}

/**
 * Compares database rows with blobs in both directions, at a limited rate and on one replica at a time. Findings are only
 * reported and never repaired automatically, because a faulty comparison could delete data.
 */
export class Reconciler {
  readonly #pace: Pace
  #stopped = false

  constructor(private readonly parts: Dependencies) {
    this.#pace = parts.pace ?? usualPace
  }

  stop(): void {
    this.#stopped = true
  }

  /**
   * Continues an unfinished comparison or starts a due one, for at most `maxDurationMs`, unless another replica is running it.
   */
  async continueComparison(intervalHours: number, maxDurationMs = 60_000): Promise<void> {
    await withDedicatedClient(this.parts.db, 'assay reconciler', async (client) => {
      const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [lock])
      if (!rows[0]?.locked) return
      const state = await loadState<State>(this.parts.db.pool, stateKey)
      if (state?.finishedAt && now() - Date.parse(state.startedAt) < intervalHours * 3_600_000) return
      const isUnfinished = state && !state.finishedAt
      const begun = isUnfinished ? state : { after: '', startedAt: getCurrentTime().toISOString(), finishedAt: null }
      await this.#compareUntil(begun, performance.now() + maxDurationMs)
    })
  }

  async #compareUntil(state: State, until: number): Promise<void> {
    const { pathsPerSecond, readFraction } = this.#pace
    const began = performance.now()
    let paths = 0
    // Compare at least one path before checking the time limit, so that each run makes progress.
    for await (const { path, finding } of this.parts.storageHealth.comparePaths({ after: state.after, readFraction })) {
      if (finding) await this.#saveFinding(finding)
      if (this.#stopped || performance.now() > until) return this.#saveState({ ...state, after: path })
      if (++paths % pathsPerSecond !== 0) continue
      await this.#saveState({ ...state, after: path })
      await sleep(Math.max(0, began + (paths / pathsPerSecond) * 1000 - performance.now()))
    }
    // Delete findings that did not recur in this comparison, because their causes no longer exist.
    const old = { foundAt: { lt: new Date(state.startedAt) } }
    const { storageFinding } = this.parts.db.prisma
    const tenants = await storageFinding.findMany({ where: old, distinct: 'tenantId', select: { tenantId: true } })
    for (const { tenantId } of tenants) await storageFinding.deleteMany({ where: { tenantId, ...old } })
    await this.#saveState({ ...state, after: '', finishedAt: getCurrentTime().toISOString() })
  }

  async #saveFinding(finding: Finding): Promise<void> {
    this.parts.logger.error(finding, 'The reconciler found a mismatch between database rows and blobs.')
    const { kind, fileId } = finding
    const blobPath = toIndexablePath(finding.blobPath)
    const tenantId = finding.tenantId ?? (await this.#findBlobTenant(blobPath))
    const place = { tenantId: tenantId ?? '', blobPath, kind }
    const known = await this.parts.db.prisma.storageFinding.findUnique({ where: { tenantId_blobPath_kind: place } })
    await this.parts.db.prisma.storageFinding.upsert({
      where: { tenantId_blobPath_kind: place },
      create: { ...place, fileId, foundAt: new Date() },
      update: { foundAt: new Date() },
    })
    if (known || !tenantId) return
    const entity = { type: 'file', id: fileId ?? blobPath.split('/').at(-1)!, name: fileId ?? blobPath }
    const audit = createAuditRow(createSystemActor(tenantId), 'updated', entity, { finding: kind })
    await this.parts.ledger.commit({ audit: [audit] })
  }

  /**
   * Returns the tenant of a blob that has no database row, or null if the tenant is unknown. Blob paths begin with the tenant ID.
   */
  async #findBlobTenant(blobPath: string): Promise<string | null> {
    const tenantId = blobPath.split('/')[0]!
    const tenant = isId('ten', tenantId) ? await this.parts.db.prisma.tenant.findUnique({ where: { tenantId } }) : null
    return tenant?.tenantId ?? null
  }

  #saveState(state: State): Promise<void> {
    return saveState(this.parts.db.pool, stateKey, state)
  }
}

/** Shortens paths of other programs' files, which can be longer than a PostgreSQL index entry. Blob paths are always short. */
const toIndexablePath = (path: string): string => (isBlobPath(path) ? path : path.slice(0, 500).toWellFormed())

/**
 * Returns the number of findings. Uses plain SQL, because the readiness check calls this function and must not load Prisma's
 * engine.
 */
export async function countStorageFindings(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>('SELECT count(*)::int AS count FROM storage_findings')
  return rows[0]!.count
}
