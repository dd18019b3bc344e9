import type { Logger } from 'pino'
import type { IdempotencyService } from '../../ledger/idempotency.js'
import { ensurePartitions } from '../../ledger/partitions.js'
import type { Config } from '../../platform/config/config.js'
import type { Components } from '../components.js'
import type { ExpiryService } from '../lifecycle/expiry.service.js'
import type { TenantService } from '../tenants/tenant.service.js'
import type { ResumableUploadService } from '../uploads/resumable-upload.service.js'
import type { SignInService } from '../users/sign-in.service.js'
import type { WebhookDeliveryService } from '../webhooks/webhook-delivery.service.js'
import { Reconciler } from './reconciler.js'
import type { LogStartTimes } from './retention.js'
import { deleteExpiredLogs, deleteOldHourlyCounters, deleteOldUploadLinks } from './retention.js'
import type { StorageHealth } from './storage-health.service.js'
import type { OrphanedUploads } from './sweeper.js'
import { isSweepPaused, Sweeper } from './sweeper.js'

const minute = 60_000
// Delay between a deletion and the sweep. All deletions during this time share a single sweep.
const sweepDelayMs = 100

interface Dependencies extends Pick<Components, 'db' | 'storage' | 'ledger' | 'serviceEvents'> {
  idempotency: IdempotencyService
  signIns: SignInService
  resumableUploads: ResumableUploadService
  tenants: TenantService
  webhookDeliveries: WebhookDeliveryService
  expiry: ExpiryService
  horizons: LogStartTimes
  storageHealth: StorageHealth
  orphanedUploads: OrphanedUploads
  quarantineMoves: { completeDueMoves(): Promise<number> }
  config: Pick<Config, 'reconcileIntervalHours'>
  logger: Logger
}

type Task = [name: string, intervalMs: number, run: () => Promise<unknown>]

/** Runs periodic tasks on every replica. A failed task runs again at its next interval. */
export class Maintenance {
  readonly #reconciler: Reconciler
  readonly #timers: NodeJS.Timeout[] = []
  readonly #queues: { last: Promise<unknown> }[] = []
  #sweepSoon: (() => void) | undefined
  #soon: NodeJS.Timeout | undefined
  #closed = false

  constructor(private readonly parts: Dependencies) {
    this.#reconciler = new Reconciler(parts)
    parts.serviceEvents.on('blobsReleased', () => this.#scheduleSweep())
    parts.serviceEvents.on('committed', ({ deletion }) => deletion && this.#scheduleSweep())
  }

  start(): void {
    const { db, storage, tenants, horizons, orphanedUploads, config, logger } = this.parts
    const { pool } = db
    const shouldContinue = () => !this.#closed
    const sweeper = new Sweeper(pool, storage, (blob, error) =>
      logger.warn({ err: error, blob }, 'A blob could not be deleted. The service will retry in a minute.'),
    )
    const sweepBlobs = () => sweeper.sweep(async () => shouldContinue() && !(await isSweepPaused(pool)))
    const addSweepToQueue = this.#createSequentialRunner()
    this.#sweepSoon = () => void addSweepToQueue('sweep', sweepBlobs)
    // These tasks run one after another, so that they do not occupy several database connections at the same time.
    this.#scheduleTasks([
      ['sweep', minute / 2, () => orphanedUploads.updateDueTimes().then(sweepBlobs)],
      ['quarantine', minute / 2, async () => (await this.parts.quarantineMoves.completeDueMoves()) > 0 && sweepBlobs()],
      ['unfinished uploads to the bucket', 60 * minute, () => storage.abortUploads()],
      ['partitions', 60 * minute, () => ensurePartitions(pool)],
      ['tenant deletions', minute, () => tenants.deletion.finishAllDeletions()],
      ['retention', 60 * minute, () => deleteExpiredLogs(pool, horizons)],
      ['old hours', 24 * 60 * minute, () => deleteOldHourlyCounters(pool)],
      ['upload links', 60 * minute, () => deleteOldUploadLinks(pool)],
      ['idempotency keys', 10 * minute, () => this.parts.idempotency.deleteExpiredKeys(shouldContinue)],
      ['resumable uploads', 10 * minute, () => this.parts.resumableUploads.removeExpiredUploads(shouldContinue)],
      ['deliveries of webhooks', 10 * minute, () => this.parts.webhookDeliveries.deleteOldDeliveries(shouldContinue)],
      ['sessions', 60 * minute, () => this.parts.signIns.deleteExpiredSessions()],
    ])
    // These tasks may take a long time, so they have queues of their own and do not delay the tasks above.
    this.#scheduleTasks([['expiry', 5 * minute, () => this.#expireFiles()]])
    const hours = config.reconcileIntervalHours
    if (hours > 0) this.#scheduleTasks([['reconcile', minute, () => this.#reconciler.continueComparison(hours)]])
  }

  #expireFiles(): Promise<unknown> {
    return this.parts.expiry.expireFiles({
      shouldContinue: () => !this.#closed,
      onFailed: (context, error) =>
        this.parts.logger.warn(
          { err: error, context },
          'Expired files could not be deleted. The service will retry in five minutes.',
        ),
    })
  }

  /** Schedules a sweep shortly after a deletion, because signed URLs continue to work until the blob is deleted. */
  #scheduleSweep(): void {
    if (!this.#sweepSoon || this.#closed) return
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined
      this.#sweepSoon?.()
    }, sweepDelayMs).unref()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#soon)
    for (const timer of this.#timers) clearInterval(timer)
    this.#reconciler.stop()
    this.parts.tenants.deletion.stop()
    for (const queue of this.#queues) await queue.last
    await this.parts.orphanedUploads.updateDueTimes().catch(() => {})
  }

  /** Runs each task at its own interval, but never two tasks from the list at the same time. */
  #scheduleTasks(tasks: readonly Task[]): void {
    const addToQueue = this.#createSequentialRunner()
    for (const [name, intervalMs, run] of tasks) {
      let isQueued = false
      const runRepeatedly = async () => {
        if (isQueued) return
        isQueued = true
        await addToQueue(name, run)
        isQueued = false
      }
      this.#timers.push(setInterval(() => void runRepeatedly(), intervalMs).unref())
    }
  }

  /** Returns a function that adds a task to a new queue. The queue runs its tasks one after another. */
  #createSequentialRunner(): (name: string, run: () => Promise<unknown>) => Promise<unknown> {
    const queue = { last: Promise.resolve<unknown>(undefined) }
    this.#queues.push(queue)
    return (name, run) => {
      queue.last = queue.last
        .then(() => (this.#closed ? undefined : run()))
        .catch((error) =>
          this.parts.logger.warn({ err: error, task: name }, 'A maintenance task failed. The service will retry it.'),
        )
      return queue.last
    }
  }
}
