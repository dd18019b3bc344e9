import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { VirusScanner } from '../../inspection/scanners/virus-scanner.js'
import type { Entry } from '../../ledger/entry.js'
import type { BlobStorage } from '../../platform/storage/blob-storage.js'
import { traced } from '../../platform/telemetry/tracing.js'

interface Siblings {
  registry: Registry
  allMetrics(): Promise<string>
}

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** What `GET /metrics` shows. A registry of its own, so that two services in one process do not share figures. */
export class Metrics {
  readonly registry: Registry
  readonly calls: Counter<'operation' | 'status' | 'reason'>
  readonly blocked: Counter<'reason'>
  readonly requests: Histogram<'edge' | 'status'>
  readonly refusedCredentials: Counter<'reason'>
  readonly downloads: Counter<'outcome'>
  readonly securityEvents: Counter<'reason'>
  readonly webhookAttempts: Counter<'outcome'>
  readonly bytesIn: Counter
  readonly bytesOut: Counter
  readonly scan: Histogram
  readonly store: Histogram<'operation'>
  readonly rescannedFiles: Counter<'outcome'>
  readonly rescannedBytes: Counter
  readonly #siblings: Siblings | undefined

  constructor(sources: {
    poolSize: () => { total: number; idle: number; waiting: number }
    ledgerWaiting: () => number
    uploadsUnderWay: () => number
    storageFindings: () => Promise<number>
    rescans: () => Promise<{ contextsUnderWay: number; filesQuarantined: number }>
    /** Undefined if no read replica is configured. */
    replicaReads?: { replica: number; primary: number } | undefined
    /** The other processes behind the same port. Then the text contains the metrics of all. */
    siblings?: Siblings | undefined
  }) {
    this.#siblings = sources.siblings
    this.registry = sources.siblings?.registry ?? new Registry()
    const registers = [this.registry]
    collectDefaultMetrics({ register: this.registry })
    this.calls = new Counter({
      name: 'assay_calls_total',
      help: 'Calls by API key, by operation, status and error code.',
      labelNames: ['operation', 'status', 'reason'],
      registers,
    })
    this.blocked = new Counter({
      name: 'assay_files_blocked_total',
      help: 'Files that a check refused, by reason.',
      labelNames: ['reason'],
      registers,
    })
    this.requests = new Histogram({
      name: 'assay_request_duration_seconds',
      help: 'Time to answer a request.',
      labelNames: ['edge', 'status'],
      buckets: seconds,
      registers,
    })
    this.refusedCredentials = new Counter({
      name: 'assay_refused_credentials_total',
      help: 'Requests with a credential that was not accepted, by reason.',
      labelNames: ['reason'],
      registers,
    })
    this.downloads = new Counter({
      name: 'assay_url_downloads_total',
      help: 'Uses of download URLs of the local store, by outcome: served, refused, cut_off.',
      labelNames: ['outcome'],
      registers,
    })
    this.securityEvents = new Counter({
      name: 'assay_security_events_total',
      help: 'Rejections of a known caller, by reason: sign_in_failed, second_factor_locked, credential_refused, scope_refused, limit_reached.',
      labelNames: ['reason'],
      registers,
    })
    this.webhookAttempts = new Counter({
      name: 'assay_webhook_attempts_total',
      help: 'Requests to webhooks, by what came of them: delivered, pending (tried again), failed.',
      labelNames: ['outcome'],
      registers,
    })
    new Counter({
      name: 'assay_replica_reads_total',
      help: 'Statements for the read replica, by who served them: replica, primary.',
      labelNames: ['server'],
      registers,
      collect() {
        this.reset()
        for (const [server, count] of Object.entries(sources.replicaReads ?? {})) this.inc({ server }, count)
      },
    })
    this.bytesIn = new Counter({ name: 'assay_upload_bytes_total', help: 'Bytes of the files that were kept.', registers })
    this.bytesOut = new Counter({
      name: 'assay_download_bytes_total',
      help: 'Bytes of the files for which download URLs were made.',
      registers,
    })
    this.scan = new Histogram({
      name: 'assay_scan_duration_seconds',
      help: 'Time of one virus scan.',
      buckets: seconds,
      registers,
    })
    this.store = new Histogram({
      name: 'assay_store_duration_seconds',
      help: 'Time of one call to the blob store.',
      labelNames: ['operation'],
      buckets: seconds,
      registers,
    })
    this.rescannedFiles = new Counter({
      name: 'assay_rescanned_files_total',
      help: 'Kept files that this replica scanned again, by outcome: clean, infected, failed.',
      labelNames: ['outcome'],
      registers,
    })
    this.rescannedBytes = new Counter({ name: 'assay_rescanned_bytes_total', help: 'Bytes of these files.', registers })
    const underWay = new Gauge({
      name: 'assay_rescans_under_way',
      help: 'Contexts of which files are still to be scanned again, of all replicas.',
      registers,
    })
    new Gauge({
      name: 'assay_quarantined_files',
      help: 'Files in quarantine, of all replicas.',
      registers,
      async collect() {
        await sources.rescans().then(
          ({ contextsUnderWay, filesQuarantined }) => {
            underWay.set(contextsUnderWay)
            this.set(filesQuarantined)
          },
          () => {},
        )
      },
    })
    new Gauge({
      name: 'assay_database_connections',
      help: 'Connections of the pools of readers and of writers.',
      labelNames: ['state'],
      registers,
      collect() {
        for (const [state, count] of Object.entries(sources.poolSize())) this.set({ state }, count)
      },
    })
    new Gauge({
      name: 'assay_ledger_waiting',
      help: 'Entries that wait for their group.',
      registers,
      collect() {
        this.set(sources.ledgerWaiting())
      },
    })
    new Gauge({
      name: 'assay_uploads_under_way',
      help: 'Uploads whose body or verdict is not complete yet.',
      registers,
      collect() {
        this.set(sources.uploadsUnderWay())
      },
    })
    new Gauge({
      name: 'assay_storage_findings',
      help: 'What the reconciler found and is not mended yet.',
      registers,
      async collect() {
        // A database that is away must not take the metrics with it.
        await sources.storageFindings().then(
          (count) => this.set(count),
          () => {},
        )
      },
    })
  }

  /** What `GET /metrics` gives. */
  text(): Promise<string> {
    return this.#siblings?.allMetrics() ?? this.registry.metrics()
  }

  recorded({ call, blocked, upload, download }: Entry): void {
    if (call) this.calls.inc({ operation: call.operation, status: call.status, reason: call.errorCode ?? '' })
    if (blocked) this.blocked.inc({ reason: blocked.reason })
    if (upload && call?.status !== 'failure') this.bytesIn.inc(upload.file.sizeBytes)
    if (download && call?.status !== 'failure') this.bytesOut.inc(download.sizeBytes)
  }
}

/** The scanner, with its times in the metrics. */
export const measuredScanner = (scanner: VirusScanner, metrics: Metrics): VirusScanner => ({
  scan: (content, options) =>
    timed(
      metrics.scan.startTimer(),
      traced('scan', () => scanner.scan(content, options)),
    ),
  identity: () => scanner.identity(),
  passesOver: (kinds, options) => scanner.passesOver(kinds, options),
  prove: () => scanner.prove(),
  close: () => scanner.close(),
  isSandboxed: scanner.isSandboxed ?? false,
  inVisit: scanner.inVisit && { ...scanner.inVisit, took: (ms) => metrics.scan.observe(ms / 1000) },
})

/** What an upload needs of the store, with its times in the metrics. */
export const measuredStorage = (storage: BlobStorage, metrics: Metrics): Pick<BlobStorage, 'put' | 'remove'> => ({
  remove: (path) => timed(metrics.store.startTimer({ operation: 'remove' }), storage.remove(path)),
  put: (path, content, options) =>
    timed(
      metrics.store.startTimer({ operation: 'put' }),
      traced('store', () => storage.put(path, content, options)),
    ),
})

const timed = <T>(stop: () => number, work: Promise<T>): Promise<T> => work.finally(stop)
