import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Ledger } from '../../ledger/ledger.js'
import { systemActor } from '../../platform/actor.js'
import { currentTime, now } from '../../platform/clock.js'
import type { Database } from '../../platform/db/client.js'
import { isId } from '../../platform/ids.js'
import type { Finding, StorageHealth } from './storage-health.service.js'

/** How much a reconciler may ask of the database and the store. */
export interface Pace {
  pathsPerSecond: number
  /** The share of blobs that is read again and compared with its SHA-256. */
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
 * Compares rows with blobs, both ways, all the time but slowly, on one replica: how far it has come is in the database, so that
 * any replica goes on where another stopped. What it finds is kept, shown in the metrics and written to the audit trail; nothing
 * is mended by itself, since a reconciler that deletes is the most dangerous program there is.
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

  /** Goes on for at most `forMs`, where a pass is due or under way and no other replica is at it. */
  async turn(intervalHours: number, forMs = 60_000): Promise<void> {
    const client = await this.#database.dedicated('assay reconciler')
    try {
      const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [lock])
      if (!rows[0]?.locked) return
      const state = await this.#state()
      if (state.finishedAt && now() - Date.parse(state.startedAt) < intervalHours * 3_600_000) return
      const begun: State = state.finishedAt ? { after: '', startedAt: currentTime().toISOString(), finishedAt: null } : state
      await this.#pass(begun, performance.now() + forMs)
    } finally {
      await client.end()
    }
  }

  async #pass(state: State, until: number): Promise<void> {
    const { pathsPerSecond, sample } = this.#pace
    let paths = 0
    const began = performance.now()
    // The last path that has been looked at to its end: where this turn, or a replica after it, goes on.
    let done = state.after
    let current = state.after
    const enough = new Error('enough for this turn')
    const onPath = async (path: string) => {
      done = current
      // One at least, however little time there is: a turn without progress would be repeated for ever.
      if (this.#stopped || (paths > 0 && performance.now() > until)) throw enough
      current = path
      if (++paths % pathsPerSecond !== 0) return
      await this.#save({ ...state, after: done })
      await sleep(Math.max(0, began + (paths / pathsPerSecond) * 1000 - performance.now()))
    }
    try {
      for await (const finding of this.#health.findings({ after: state.after, sample, onPath })) await this.#keep(finding)
    } catch (error) {
      if (error !== enough) throw error
      return this.#save({ ...state, after: done })
    }
    // What this pass did not find again has been mended.
    await this.#database.prisma.storageFinding.deleteMany({ where: { foundAt: { lt: new Date(state.startedAt) } } })
    await this.#save({ ...state, after: '', finishedAt: currentTime().toISOString() })
  }

  async #keep(finding: Finding): Promise<void> {
    this.#logger.error(finding, 'The reconciler found a disagreement between rows and blobs.')
    const { blobPath, kind } = finding
    const { fileId } = finding
    const tenantId = finding.tenantId ?? (await this.#ownerOf(blobPath))
    const place = { tenantId: tenantId ?? '', blobPath, kind }
    const known = await this.#database.prisma.storageFinding.findUnique({ where: { tenantId_blobPath_kind: place } })
    await this.#database.prisma.storageFinding.upsert({
      where: { tenantId_blobPath_kind: place },
      create: { ...place, fileId, foundAt: new Date() },
      update: { foundAt: new Date() },
    })
    if (known || !tenantId) return
    const audit = {
      actor: systemActor(tenantId),
      tenantId,
      auditType: 'file' as const,
      action: 'updated' as const,
      entityType: 'file',
      entityId: fileId ?? blobPath.split('/').at(-1)!,
      entityName: fileId ?? blobPath,
      details: { finding: kind },
    }
    await this.#ledger.commit({ audit: [audit] })
  }

  /** Of a blob without a row: paths of ours begin with a tenant's id. */
  async #ownerOf(blobPath: string): Promise<string | null> {
    const tenantId = blobPath.split('/')[0]!
    const tenant = isId('ten', tenantId) ? await this.#database.prisma.tenant.findUnique({ where: { tenantId } }) : null
    return tenant?.tenantId ?? null
  }

  async #state(): Promise<State> {
    const row = await this.#database.prisma.serviceState.findUnique({ where: { key: stateKey } })
    return (
      (row?.value as unknown as State | undefined) ?? {
        after: '',
        startedAt: new Date(0).toISOString(),
        finishedAt: new Date(0).toISOString(),
      }
    )
  }

  async #save(state: State): Promise<void> {
    const value = { ...state }
    await this.#database.prisma.serviceState.upsert({
      where: { key: stateKey },
      create: { key: stateKey, value, updatedAt: new Date() },
      update: { value, updatedAt: new Date() },
    })
  }
}
