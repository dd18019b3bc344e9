// This import must come first, because type-graphql's decorators depend on it.
import 'reflect-metadata'
import { EventEmitter } from 'node:events'
import type { Server } from 'node:http'
import type { Logger } from 'pino'
import { UploadSlots } from './access/concurrency.js'
import { createMetrics, createMetricsApp, instrumentScanner, instrumentStorage, type Metrics } from './api/http/metrics.js'
import { createHttpServer } from './api/http/server.js'
import type { ServiceEvents } from './features/components.js'
import { SelfTest } from './features/files/self-test.js'
import { DownloadAborter } from './features/files/signed-downloads.js'
import { UploadService } from './features/files/upload.service.js'
import { openHandlers } from './features/handlers.js'
import { Maintenance } from './features/maintenance/maintenance.js'
import { countStorageFindings } from './features/maintenance/reconciler.js'
import { OrphanedUploads } from './features/maintenance/sweeper.js'
import { PreviewService } from './features/previews/preview.service.js'
import { RescanQueue } from './features/rescan/rescan-queue.js'
import { Rescanner } from './features/rescan/rescanner.js'
import { StoredContents } from './features/rescan/stored-contents.js'
import { openServices, type Services } from './features/services.js'
import { bootstrap } from './features/tenants/bootstrap.js'
import { createInspector, type Inspector } from './inspection/engine/inspect.js'
import { createSpoolFolder, openConfiguredScanner, openWorkers, type Workers } from './inspection/open-inspection.js'
import { PreviewRenderer } from './inspection/previews/preview-renderer.js'
import type { VirusScanner } from './inspection/scanners/virus-scanner.js'
import { ensurePartitions } from './ledger/partitions.js'
import type { Config } from './platform/config/config.js'
import type { AppDependencies, Application } from './platform/processes/application.js'
import { getProcessShare, singleProcess } from './platform/processes/process-number.js'
import { Spool } from './platform/spool/spool.js'
import type { BlobStorage } from './platform/storage/blob-storage.js'
import { UnsafeBucketError } from './platform/storage/bucket/bucket-storage.js'
import type { Tracing } from './platform/telemetry/tracing.js'
import { megabyte } from './platform/units.js'

// Total memory in bytes for the uploads of all processes. Once it is exhausted, further uploads are written to temporary files.
const uploadMemoryBytes = 32 * megabyte

/** Application that also exposes the components that tests access directly. */
export interface App extends Application {
  services: Services
  slots: UploadSlots
  scanner: VirusScanner
  rescanner: Rescanner
}

/** Composition root, which creates all components in dependency order. `close` closes them in reverse order. */
export async function createApp(dependencies: AppDependencies): Promise<App> {
  const { config, database, logger } = dependencies
  const spoolFolder = await createSpoolFolder(config.dataDir)
  const workers = openWorkers(dependencies, spoolFolder)
  // Open the scanner in parallel with the database queries, because it takes time to start a worker and compile the rules.
  const scannerOpening = openConfiguredScanner(dependencies, { pool: workers.uploads, directory: spoolFolder })
  scannerOpening.catch(() => {})
  await ensurePartitions(database.pool)
  const serviceEvents: ServiceEvents = new EventEmitter()
  const services = await openServices({ ...dependencies, serviceEvents, scanner: scannerOpening.then(({ scanner }) => scanner) })
  const processNumber = dependencies.siblings?.self ?? singleProcess
  const slots = new UploadSlots(getProcessShare(config.maxUploadsAtOnce, processNumber))
  const metrics = openMetrics(dependencies, services, slots)
  const spool = await Spool.open({ directory: spoolFolder, memoryBudget: getProcessShare(uploadMemoryBytes, processNumber) })
  const { url, scanner: configured } = await scannerOpening
  const scanner = Object.assign(instrumentScanner(configured, metrics), { url })
  const inspector = createInspector({ scanner, pool: workers.uploads })
  const orphanedUploads = openOrphanedUploads(dependencies, serviceEvents)
  const uploadStorage = instrumentStorage(services.storage, metrics, (path) => orphanedUploads.scheduleDeletion(path))
  const uploads = new UploadService({ ...services, inspector, storage: uploadStorage, getTenantQuota: services.tenants.getQuota })
  const maintenance = new Maintenance({ ...services, orphanedUploads, logger, config })
  const rescanner = createRescanner(dependencies, { services, inspector, scanner, spool })
  const downloadCuts = new DownloadAborter(database.pool)
  const tracing = await openTracing(config)
  const selfTest = new SelfTest(database.writes, (error) => logger.error({ err: error }, 'The database self-test failed.'))
  const components = { selfTest, tracing, services, uploads, uploadStorage, metrics, spool, slots, scanner, downloadCuts }
  const previews = createPreviewService(services, spool, workers)
  const handlers = await openHandlers({ ...dependencies, ...components, previews })
  const firstRun = await bootstrap(config, database, services)
  const server = createHttpServer(handlers.listener, handlers.app)
  handlers.attach(server)
  return {
    httpServer: server,
    metricsServer: config.metricsPort === undefined ? undefined : createMetricsServer(metrics, config.metricsToken),
    firstRun,
    descriptions: { storage: await describeStorage(services.storage, logger), scanner: await describeScanner(scanner) },
    services,
    slots,
    scanner,
    rescanner,
    startMaintenance: () => {
      // Run the self-test now, so that a failure is logged before the first readiness request.
      void selfTest.findFailure().catch(() => {})
      maintenance.start()
      rescanner.start()
      services.fold.start()
      services.webhookSender.start()
    },
    warm: handlers.warm,
    announceStop: handlers.announceStop,
    endStreams: handlers.endStreams,
    close: () => closeInOrder([rescanner, maintenance, handlers, inspector, scanner, workers, services, spool, tracing]),
  }
}

// Loads the tracing modules only if a collector is configured. Otherwise, tracing stays disabled.
async function openTracing({ otlpEndpoint }: Config): Promise<Tracing | undefined> {
  return otlpEndpoint === undefined ? undefined : (await import('./platform/telemetry/otlp.js')).openOtlp(otlpEndpoint)
}

async function closeInOrder(components: readonly ({ close(): unknown } | undefined)[]): Promise<void> {
  for (const component of components) await component?.close()
}

function openOrphanedUploads({ config, database }: AppDependencies, serviceEvents: ServiceEvents): OrphanedUploads {
  // Writing a blob to a bucket takes at most twice the timeout, and the bucket may need another minute to complete the upload. An
  // orphaned blob must not be deleted until then.
  const orphanedUploads = new OrphanedUploads(database.pool, config.storageDeadlineSeconds * 2000 + 60_000)
  serviceEvents.on('failed', ({ upload }) => upload && orphanedUploads.scheduleDeletion(upload.file.blobPath))
  return orphanedUploads
}

function createMetricsServer(metrics: Metrics, token: string | undefined): Server {
  const app = createMetricsApp(metrics, token)
  return createHttpServer(app, app)
}

function openMetrics(
  { database, siblings }: AppDependencies,
  { ledger, rescans, serviceEvents }: Services,
  slots: UploadSlots,
): Metrics {
  const { pool, writes } = database
  const metrics = createMetrics({
    poolSize: () => ({
      total: pool.totalCount + writes.totalCount,
      idle: pool.idleCount + writes.idleCount,
      waiting: pool.waitingCount + writes.waitingCount,
    }),
    ledgerWaiting: () => ledger.waitingCount,
    uploadsInProgress: () => slots.inUse,
    storageFindings: () => countStorageFindings(pool),
    rescans: () => rescans.getCounts(),
    replicaReads: database.replica?.served,
    siblings,
  })
  serviceEvents.on('committed', (entry) => metrics.recordEntry(entry))
  serviceEvents.on('webhookAttempted', (outcome) => metrics.webhookAttempts.inc({ outcome }))
  serviceEvents.on('securityEvent', (reason) => metrics.securityEvents.inc({ reason }))
  serviceEvents.on('rescanned', ({ outcome, bytes }) => {
    metrics.rescannedFiles.inc({ outcome })
    metrics.rescannedBytes.inc(bytes)
  })
  return metrics
}

function createPreviewService({ files, storage }: Services, spool: Spool, workers: Workers): PreviewService {
  const contents = new StoredContents({ storage, spool, inSpool: true })
  return new PreviewService({ files, storage, contents, renderer: new PreviewRenderer(workers.previews) })
}

function createRescanner(
  { config, database, logger, siblings }: AppDependencies,
  dependencies: { services: Services; inspector: Inspector; scanner: VirusScanner; spool: Spool },
): Rescanner {
  const { services, inspector, scanner } = dependencies
  return new Rescanner({
    inspector,
    scanner,
    queue: new RescanQueue(database.pool),
    rescans: services.rescans,
    quarantine: services.quarantine,
    contents: new StoredContents({ ...dependencies, storage: services.storage, inSpool: scanner.isSandboxed ?? false }),
    megabytesPerSecond: config.rescanMbPerSecond / (siblings?.self ?? singleProcess).count,
    serviceEvents: services.serviceEvents,
    logger,
  })
}

const yaraNote =
  'a few built-in rules for common evasion techniques. This is not a virus scanner. To use one, run ClamAV and set SCANNER_URL=clamd://…'

/** Describes the store for the startup banner. Throws if the store could lose files, but not if it is unavailable. */
async function describeStorage(storage: BlobStorage, logger: Logger): Promise<string> {
  const fault = await storage.assertReady().then(
    () => undefined,
    (error: Error) => error,
  )
  if (fault === undefined) return storage.description
  if (fault instanceof UnsafeBucketError) throw fault
  logger.error({ err: fault }, 'The blob store is unavailable or misconfigured. Check STORAGE_URL.')
  return `${storage.description} (unavailable: ${fault.message})`
}

async function describeScanner(scanner: VirusScanner & { url: string }): Promise<string> {
  const engine = await scanner.getIdentity().catch(() => null)
  const name = engine ? `${engine.name} ${engine.version} (${scanner.url})` : `${scanner.url} (no response yet)`
  return scanner.url === 'yara:' ? `${name}\n${yaraNote}` : name
}
