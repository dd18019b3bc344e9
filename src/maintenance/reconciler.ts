import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { systemActor } from '../auth/actor.js'
import type { Database } from '../db/client.js'
import type { Ledger } from '../ledger/ledger.js'
import type { Finding, StorageHealth } from './storage-health.js'

/** Paths a second: slow enough that nobody notices. */
const rate = 200
/** The share of blobs that is read again and compared with its SHA-256. */
const sample = 0.01
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
  #stopped = false

  constructor(parts: { database: Database; ledger: Ledger; storageHealth: StorageHealth; logger: Logger }) {
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
      if (state.finishedAt && Date.now() - Date.parse(state.startedAt) < intervalHours * 3_600_000) return
      const begun: State = state.finishedAt ? { after: '', startedAt: new Date().toISOString(), finishedAt: null } : state
      if (begun.after === '')
        await this.#database.prisma.storageFinding.deleteMany({ where: { foundAt: { lt: new Date(begun.startedAt) } } })
      await this.#pass(begun, Date.now() + forMs)
    } finally {
      await client.end()
    }
  }

  async #pass(state: State, until: number): Promise<void> {
    let paths = 0
    let last = state.after
    const stop = new Error('enough for this turn')
    try {
      const onPath = async (path: string) => {
        if (this.#stopped || Date.now() > until) throw stop
        last = path
        if (++paths % rate === 0) {
          await this.#save({ ...state, after: last })
          await sleep(1000)
        }
      }
      for await (const finding of this.#health.findings({ after: state.after, sample, onPath })) await this.#keep(finding)
      await this.#save({ ...state, after: '', finishedAt: new Date().toISOString() })
    } catch (error) {
      // Not the path at which it stopped, which is still to be looked at, but all before it.
      if (error !== stop) throw error
      await this.#save({ ...state, after: last })
    }
  }

  async #keep(finding: Finding): Promise<void> {
    this.#logger.error(finding, 'The reconciler found a disagreement between rows and blobs.')
    const { blobPath, kind, tenantId, fileId } = finding
    const known = await this.#database.prisma.storageFinding.findUnique({ where: { blobPath_kind: { blobPath, kind } } })
    await this.#database.prisma.storageFinding.upsert({
      where: { blobPath_kind: { blobPath, kind } },
      create: { blobPath, kind, tenantId, fileId, foundAt: new Date() },
      update: { foundAt: new Date() },
    })
    if (known || !tenantId || !fileId) return
    const audit = {
      actor: systemActor(tenantId),
      tenantId,
      auditType: 'file' as const,
      action: 'updated' as const,
      entityType: 'file',
      entityId: fileId,
      entityName: fileId,
      details: { finding: kind },
    }
    await this.#ledger.commit({ audit: [audit] })
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
