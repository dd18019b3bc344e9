import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { createAuditRow } from '../../ledger/entry.js'
import type { Ledger } from '../../ledger/ledger.js'
import { createSystemActor } from '../../platform/actor.js'
import { getCurrentTime, now } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import { isId } from '../../platform/ids.js'
import type { Finding, StorageHealth } from './storage-health.service.js'

/** Limits for the load that the reconciler causes. */
export interface Pace {
  pathsPerSecond: number
  /** Fraction of blobs whose content is compared with the stored SHA-256 checksum. */
  sample: number
}

const usualPace: Pace = { pathsPerSecond: 200, sample: 0.01 }
const stateKey = 'reconcile'
const lock = 4_207_003

interface State {
  after: string
  startedAt: string
  finishedAt: string | null
}

/**
 * Compares database rows with blobs in both directions, at a limited rate and on one replica at a time. The position is stored in
 * the database, so that another replica can continue. Findings are stored, counted in the metrics and written to the audit log.
 * The reconciler repairs nothing, because a faulty comparison could delete data.
 */
export class Reconciler {
  readonly #database: Database
  readonly #ledger: Ledger
  readonly #health: StorageHealth
  readonly #logger: Logger
  readonly #pace: Pace
  #stopped = false

  constructor(parts: { database: Database; ledger: Ledger; storageHealth: StorageHealth; logger: Logger; pace?: Pace }) {
    this.#pace = parts.pace ?? usualPace
    this.#database = parts.database
    this.#ledger = parts.ledger
    this.#health = parts.storageHealth
    this.#logger = parts.logger
  }

  stop(): void {
    this.#stopped = true
  }

  /** Continues a due or unfinished comparison for at most `maxDurationMs`, unless another replica is working on it. */
  async continueComparison(intervalHours: number, maxDurationMs = 60_000): Promise<void> {
    const client = await this.#database.connectDedicated('assay reconciler')
    try {
      const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [lock])
      if (!rows[0]?.locked) return
      const state = await this.#loadState()
      if (state.finishedAt && now() - Date.parse(state.startedAt) < intervalHours * 3_600_000) return
      const begun: State = state.finishedAt ? { after: '', startedAt: getCurrentTime().toISOString(), finishedAt: null } : state
      await this.#compareUntil(begun, performance.now() + maxDurationMs)
    } finally {
      await client.end()
    }
  }

  async #compareUntil(state: State, until: number): Promise<void> {
    const { pathsPerSecond, sample } = this.#pace
    let paths = 0
    const began = performance.now()
    // Path up to which the comparison is complete. The next turn continues there.
    let done = state.after
    let current = state.after
    const enough = new Error('enough for this turn')
    const onPath = async (path: string) => {
      done = current
      // Each turn compares at least one path, so that it makes progress.
      if (this.#stopped || (paths > 0 && performance.now() > until)) throw enough
      current = path
      if (++paths % pathsPerSecond !== 0) return
      await this.#saveState({ ...state, after: done })
      await sleep(Math.max(0, began + (paths / pathsPerSecond) * 1000 - performance.now()))
    }
    try {
      for await (const finding of this.#health.listFindings({ after: state.after, sample, onPath }))
        await this.#saveFinding(finding)
    } catch (error) {
      if (error !== enough) throw error
      return this.#saveState({ ...state, after: done })
    }
    // Older findings did not occur again in this comparison, so they were repaired.
    const old = { foundAt: { lt: new Date(state.startedAt) } }
    const { storageFinding } = this.#database.prisma
    const tenants = await storageFinding.findMany({ where: old, distinct: 'tenantId', select: { tenantId: true } })
    for (const { tenantId } of tenants) await storageFinding.deleteMany({ where: { tenantId, ...old } })
    await this.#saveState({ ...state, after: '', finishedAt: getCurrentTime().toISOString() })
  }

  async #saveFinding(finding: Finding): Promise<void> {
    this.#logger.error(finding, 'The reconciler found a difference between database rows and blobs.')
    const { blobPath, kind, fileId } = finding
    const tenantId = finding.tenantId ?? (await this.#findTenantOfBlob(blobPath))
    const place = { tenantId: tenantId ?? '', blobPath, kind }
    const known = await this.#database.prisma.storageFinding.findUnique({ where: { tenantId_blobPath_kind: place } })
    await this.#database.prisma.storageFinding.upsert({
      where: { tenantId_blobPath_kind: place },
      create: { ...place, fileId, foundAt: new Date() },
      update: { foundAt: new Date() },
    })
    if (known || !tenantId) return
    const entity = { type: 'file', id: fileId ?? blobPath.split('/').at(-1)!, name: fileId ?? blobPath }
    const audit = createAuditRow(createSystemActor(tenantId), 'updated', entity, { finding: kind })
    await this.#ledger.commit({ audit: [audit] })
  }

  /** Returns the tenant of a blob without a row. Blob paths begin with the tenant ID. */
  async #findTenantOfBlob(blobPath: string): Promise<string | null> {
    const tenantId = blobPath.split('/')[0]!
    const tenant = isId('ten', tenantId) ? await this.#database.prisma.tenant.findUnique({ where: { tenantId } }) : null
    return tenant?.tenantId ?? null
  }

  async #loadState(): Promise<State> {
    const row = await this.#database.prisma.serviceState.findUnique({ where: { key: stateKey } })
    return (
      (row?.value as unknown as State | undefined) ?? {
        after: '',
        startedAt: new Date(0).toISOString(),
        finishedAt: new Date(0).toISOString(),
      }
    )
  }

  async #saveState(state: State): Promise<void> {
    const value = { ...state }
    await this.#database.prisma.serviceState.upsert({
      where: { key: stateKey },
      create: { key: stateKey, value, updatedAt: new Date() },
      update: { value, updatedAt: new Date() },
    })
  }
}

/**
 * Returns the number of stored findings. The readiness check calls this function, which therefore avoids loading the Prisma
 * engine.
 */
export async function countStorageFindings(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>('SELECT count(*)::int AS count FROM storage_findings')
  return rows[0]!.count
}
