import { createHash, timingSafeEqual } from 'node:crypto'
import express, { type Express, type RequestHandler } from 'express'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { VirusScanner } from '../../inspection/scanners/virus-scanner.js'
import type { Entry } from '../../ledger/entry.js'
import { unauthenticated } from '../../platform/errors/errors.js'
import type { Siblings } from '../../platform/processes/siblings.js'
import type { BlobStorage } from '../../platform/storage/blob-storage.js'
import { withSpan } from '../../platform/telemetry/tracing.js'

/** Functions that return metric values on each scrape. */
interface MetricSources {
  poolSize: () => { total: number; idle: number; waiting: number }
  ledgerWaiting: () => number
  uploadsInProgress: () => number
  storageFindings: () => Promise<number>
  rescans: () => Promise<{ contextsInProgress: number; filesQuarantined: number }>
  /** Number of reads that the replica and the primary served. Undefined if no read replica is configured. */
  replicaReads?: { replica: number; primary: number } | undefined
  /** Other processes behind the same port. If set, the response includes the metrics of all processes. */
  siblings?: Pick<Siblings, 'registry' | 'collectMetrics'> | undefined
}

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** Creates the metrics that other components update. */
function createMeters(registry: Registry) {
  const registers = [registry]
  const createCounter = <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers })
  const createHistogram = <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
    new Histogram({ name, help, labelNames, buckets: seconds, registers })
  return {
    calls: createCounter(
      'assay_calls_total',
      'Number of calls made with API keys, by operation, status and error code.',
      'operation',
      'status',
      'reason',
    ),
    blocked: createCounter('assay_files_blocked_total', 'Number of rejected files, by reason.', 'reason'),
    requests: createHistogram('assay_request_duration_seconds', 'Duration of HTTP requests in seconds.', 'edge', 'status'),
    refusedCredentials: createCounter(
      'assay_refused_credentials_total',
      'Number of requests with a rejected credential, by reason.',
      'reason',
    ),
    downloads: createCounter(
      'assay_url_downloads_total',
      "Number of requests to the local store's download URLs, by outcome: served, refused, cut_off.",
      'outcome',
    ),
    securityEvents: createCounter(
      'assay_security_events_total',
      'Number of rejected requests from identified users and API keys, by reason: sign_in_failed, second_factor_locked, credential_refused, scope_refused, limit_reached.',
      'reason',
    ),
    webhookAttempts: createCounter(
      'assay_webhook_attempts_total',
      'Number of webhook delivery attempts, by outcome: delivered, pending (to be retried), failed.',
      'outcome',
    ),
    bytesIn: createCounter('assay_upload_bytes_total', 'Total size of stored uploads in bytes.'),
    bytesOut: createCounter(
      'assay_download_bytes_total',
      'Total size in bytes of the files for which download URLs were created.',
    ),
    scan: createHistogram('assay_scan_duration_seconds', 'Duration of virus scans in seconds.'),
    store: createHistogram('assay_store_duration_seconds', 'Duration of blob store operations in seconds.', 'operation'),
    rescannedFiles: createCounter(
      'assay_rescanned_files_total',
      'Number of stored files that this replica rescanned, by outcome: clean, infected, failed.',
      'outcome',
    ),
    rescannedBytes: createCounter('assay_rescanned_bytes_total', 'Total size of rescanned files in bytes.'),
  }
}

export type Metrics = ReturnType<typeof createMetrics>

/**
 * Creates the metrics that `GET /metrics` returns. Each call uses a separate registry, so that two services in one process do not
 * share values.
 */
export function createMetrics(sources: MetricSources) {
  const { siblings } = sources
  const registry = siblings?.registry ?? new Registry()
  collectDefaultMetrics({ register: registry })
  const meters = createMeters(registry)
  addConnectionMetrics([registry], sources)
  addGauges([registry], sources)
  return {
    ...meters,
    registry,
    render: (): Promise<string> => siblings?.collectMetrics() ?? registry.metrics(),
    recordEntry({ call, blocked, upload, download }: Entry): void {
      if (call) meters.calls.inc({ operation: call.operation, status: call.status, reason: call.errorCode ?? '' })
      if (blocked) meters.blocked.inc({ reason: blocked.reason })
      if (upload && call?.status !== 'failure') meters.bytesIn.inc(upload.file.sizeBytes)
      if (download && call?.status !== 'failure') meters.bytesOut.inc(download.sizeBytes)
    },
  }
}

function addConnectionMetrics(registries: Registry[], { replicaReads, poolSize }: MetricSources): void {
  new Counter({
    name: 'assay_replica_reads_total',
    help: 'Number of statements intended for the read replica, by the server that executed them: replica, primary.',
    labelNames: ['server'],
    registers: registries,
    collect() {
      this.reset()
      for (const [server, count] of Object.entries(replicaReads ?? {})) this.inc({ server }, count)
    },
  })
  new Gauge({
    name: 'assay_database_connections',
    help: 'Number of database connections in both pools, by state.',
    labelNames: ['state'],
    registers: registries,
    collect() {
      for (const [state, count] of Object.entries(poolSize())) this.set({ state }, count)
    },
  })
}

/**
 * Adds gauges that are read on each scrape. If a gauge cannot be read, it retains its last value, and other metrics stay
 * available.
 */
function addGauges(registries: Registry[], { rescans, ledgerWaiting, uploadsInProgress, storageFindings }: MetricSources): void {
  const createGauge = (name: string, help: string, read?: () => number | Promise<number>) =>
    new Gauge({
      name,
      help,
      registers: registries,
      ...(read && {
        async collect() {
          await Promise.resolve(read()).then(
            (value) => this.set(value),
            () => {},
          )
        },
      }),
    })
  const underWay = createGauge('assay_rescans_under_way', 'Number of contexts with a rescan in progress, across all replicas.')
  createGauge('assay_quarantined_files', 'Number of files in quarantine, across all replicas.', async () => {
    const { contextsInProgress, filesQuarantined } = await rescans()
    underWay.set(contextsInProgress)
    return filesQuarantined
  })
  createGauge('assay_ledger_waiting', 'Number of ledger entries waiting for the next group commit.', ledgerWaiting)
  createGauge(
    'assay_uploads_under_way',
    'Number of uploads in progress, including uploads that are waiting for a verdict.',
    uploadsInProgress,
  )
  createGauge('assay_storage_findings', 'Number of unrepaired inconsistencies found by the reconciler.', storageFindings)
}

export const instrumentScanner = (scanner: VirusScanner, metrics: Metrics): VirusScanner => ({
  scan: (content, options) =>
    stopTimerAfter(
      metrics.scan.startTimer(),
      withSpan('scan', () => scanner.scan(content, options)),
    ),
  getIdentity: () => scanner.getIdentity(),
  verifyDetection: () => scanner.verifyDetection(),
  close: () => scanner.close(),
  isSandboxed: scanner.isSandboxed ?? false,
  scanInWorker: scanner.scanInWorker && { ...scanner.scanInWorker, took: (ms) => metrics.scan.observe(ms / 1000) },
})

/**
 * Wraps a store to measure its operations. After a failed `put`, calls `onFailedPut` with the path, because the blob may still
 * exist.
 */
export const instrumentStorage = (
  storage: BlobStorage,
  metrics: Metrics,
  onFailedPut: (path: string) => void,
): Pick<BlobStorage, 'put' | 'remove'> => ({
  remove: (path) => stopTimerAfter(metrics.store.startTimer({ operation: 'remove' }), storage.remove(path)),
  put: (path, content, options) =>
    stopTimerAfter(
      metrics.store.startTimer({ operation: 'put' }),
      withSpan('store', () => storage.put(path, content, options)),
    ).catch((error) => {
      onFailedPut(path)
      throw error
    }),
})

const stopTimerAfter = <T>(stop: () => number, work: Promise<T>): Promise<T> => work.finally(stop)

/** Serves `GET /metrics`. Requires METRICS_TOKEN if it is set. */
export function createMetricsEndpoint(metrics: Metrics, token: string | undefined): RequestHandler {
  return async (request, response) => {
    if (token !== undefined && !matchesToken(request.headers.authorization, token))
      throw unauthenticated('The metrics endpoint requires a token. Send `Authorization: Bearer <METRICS_TOKEN>`.')
    response
      .set('Cache-Control', 'no-store')
      .type(metrics.registry.contentType)
      .send(await metrics.render())
  }
}

export function createMetricsApp(metrics: Metrics, token: string | undefined): Express {
  const app = express()
  app.disable('x-powered-by')
  app.enable('case sensitive routing')
  app.enable('strict routing')
  app.get('/metrics', createMetricsEndpoint(metrics, token))
  app.use((_error: unknown, _request: express.Request, response: express.Response, _next: express.NextFunction) => {
    response.status(401).set('WWW-Authenticate', 'Bearer').end()
  })
  return app
}

const hashText = (text: string) => createHash('sha256').update(text).digest()
const matchesToken = (header: string | undefined, token: string): boolean =>
  timingSafeEqual(hashText(header?.replace(/^bearer +/i, '') ?? ''), hashText(token))
