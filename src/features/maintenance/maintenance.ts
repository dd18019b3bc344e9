import type { Logger } from 'pino'
import type { IdempotencyService } from '../../ledger/idempotency.js'
import type { Ledger } from '../../ledger/ledger.js'
import { ensurePartitions } from '../../ledger/partitions.js'
import type { Config } from '../../platform/config/config.js'
import type { Database } from '../../platform/db/client.js'
import type { BlobStorage } from '../../platform/storage/blob-storage.js'
import type { ServiceEvents } from '../service-events.js'
import type { TenantService } from '../tenants/tenant.service.js'
import type { ExpiryService } from '../trash/expiry.service.js'
import type { ResumableUploadService } from '../uploads/resumable-upload.service.js'
import type { SignInService } from '../users/sign-in.service.js'
import type { WebhookDeliveryService } from '../webhooks/webhook-delivery.service.js'
import type { LogStartTimes } from './log-start-times.js'
import type { OrphanedUploads } from './orphaned-uploads.js'
import { Reconciler } from './reconciler.js'
import { deleteExpiredLogs, deleteOldHourlyCounters, deleteOldUploadLinks } from './retention.js'
import type { StorageHealth } from './storage-health.service.js'
import { isSweepPaused, Sweeper } from './sweeper.js'

const minute = 60_000
// Delay before a sweep. Deletions during this time share one sweep.
const sweepDelayMs = 100

interface Parts {
  database: Database
  storage: BlobStorage
  ledger: Ledger
  idempotency: IdempotencyService
  signIns: SignInService
  resumableUploads: ResumableUploadService
  tenants: TenantService
  webhookDeliveries: WebhookDeliveryService
  expiry: ExpiryService
  horizons: LogStartTimes
  storageHealth: StorageHealth
  orphanedUploads: OrphanedUploads
  serviceEvents: ServiceEvents
  quarantineMoves: { moveAll(): Promise<number> }
  config: Pick<Config, 'reconcileIntervalHours'>
  logger: Logger
}

/**
 * Runs periodic tasks on every replica. Each task can safely run on several replicas, and a failed task runs again at its next
 * interval.
 */
export class Maintenance {
  readonly #parts: Parts
  readonly #reconciler: Reconciler
  readonly #timers: NodeJS.Timeout[] = []
  readonly #running = { done: Promise.resolve() as Promise<unknown> }
  readonly #reconciling = { done: Promise.resolve() as Promise<unknown> }
  readonly #expiring = { done: Promise.resolve() as Promise<unknown> }
  readonly #sweeping = { done: Promise.resolve() as Promise<unknown> }
  #sweep: (() => Promise<unknown>) | undefined
  #soon: NodeJS.Timeout | undefined
  #closed = false

  constructor(parts: Parts) {
    this.#parts = parts
    this.#reconciler = new Reconciler(parts)
    parts.serviceEvents.on('blobsReleased', () => this.#scheduleSweep())
    parts.serviceEvents.on('committed', ({ deletion }) => deletion && this.#scheduleSweep())
  }

  start(): void {
    const {
      database,
      storage,
      tenants,
      idempotency,
      signIns,
      resumableUploads,
      horizons,
      orphanedUploads,
      quarantineMoves,
      config,
      logger,
    } = this.#parts
    const sweeper = new Sweeper(database.pool, storage, (blob, error) =>
      logger.warn({ err: error, blob }, 'A blob was not deleted. The service retries in a minute.'),
    )
    const goOn = async () => !this.#closed && !(await isSweepPaused(database.pool))
    this.#sweep = () => sweeper.sweep(goOn)
    this.#schedule(minute / 2, 'sweep', () => orphanedUploads.updateDueTimes().then(this.#sweep))
    this.#schedule(minute / 2, 'quarantine', async () => {
      if ((await quarantineMoves.moveAll()) > 0) await this.#sweep?.()
    })
    this.#schedule(60 * minute, 'unfinished uploads to the bucket', () => storage.abortUploads())
    this.#schedule(60 * minute, 'partitions', () => ensurePartitions(database.pool))
    this.#schedule(minute, 'tenant deletions', () => tenants.deletion.finishAllDeletions())
    this.#schedule(60 * minute, 'retention', () => deleteExpiredLogs(database.pool, horizons))
    this.#schedule(24 * 60 * minute, 'old hours', () => deleteOldHourlyCounters(database.pool))
    this.#schedule(60 * minute, 'upload links', () => deleteOldUploadLinks(database.pool))
    this.#schedule(10 * minute, 'idempotency keys', () => idempotency.deleteExpiredKeys(() => !this.#closed))
    this.#schedule(10 * minute, 'resumable uploads', () => resumableUploads.sweep(() => !this.#closed))
    this.#schedule(10 * minute, 'deliveries of webhooks', () => this.#parts.webhookDeliveries.sweep(() => !this.#closed))
    this.#schedule(60 * minute, 'sessions', () => signIns.sweep())
    this.#scheduleInQueue(this.#expiring, 5 * minute, 'expiry', () => this.#expireFiles())
    if (config.reconcileIntervalHours > 0)
      this.#scheduleInQueue(this.#reconciling, minute, 'reconcile', () =>
        this.#reconciler.continueComparison(config.reconcileIntervalHours),
      )
  }

  // Expiry may take a long time, so other tasks do not wait for it.
  #expireFiles(): Promise<unknown> {
    const { expiry, logger } = this.#parts
    return expiry.expire({
      goOn: () => !this.#closed,
      onFailed: (context, error) =>
        logger.warn({ err: error, context }, 'Expired files were not deleted. The service retries in five minutes.'),
    })
  }

  /** Starts a sweep within a second after a deletion, because signed URLs work until the blob is deleted. */
  #scheduleSweep(): void {
    if (!this.#sweep || this.#closed) return
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined
      this.#sweeping.done = this.#sweeping.done
        .then(() => (this.#closed ? undefined : this.#sweep?.()))
        .catch((error) => this.#parts.logger.warn({ err: error }, 'A sweep failed. The service retries within half a minute.'))
    }, sweepDelayMs).unref()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#soon)
    for (const timer of this.#timers) clearInterval(timer)
    this.#reconciler.stop()
    this.#parts.tenants.deletion.stop()
    await Promise.all([this.#running.done, this.#reconciling.done, this.#sweeping.done, this.#expiring.done])
    await this.#parts.orphanedUploads.updateDueTimes().catch(() => {})
  }

  // Periodic tasks run one after another and share one connection.
  #schedule(ms: number, what: string, task: () => Promise<unknown>): void {
    this.#scheduleInQueue(this.#running, ms, what, task)
  }

  #scheduleInQueue(queue: { done: Promise<unknown> }, ms: number, what: string, task: () => Promise<unknown>): void {
    let queued = false
    const turn = () => {
      if (queued) return
      queued = true
      queue.done = queue.done
        .then(() => (this.#closed ? undefined : task()))
        .catch((error) => this.#parts.logger.warn({ err: error, task: what }, 'Maintenance failed. The service retries.'))
        .finally(() => {
          queued = false
        })
    }
    this.#timers.push(setInterval(turn, ms).unref())
  }
}
