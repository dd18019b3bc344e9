import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { databaseUrlOf } from '../db/database-url.js'
import { mostMegabytes } from '../units.js'
import { EnvReader } from './config-reader.js'
import { type IdentityConfig, readIdentity } from './identity-config.js'
import { secretVariables } from './secret-files.js'

export type LogLevel = (typeof logLevels)[number]
const logLevels = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const

/** Everything that the operator decides, parsed and frozen. Contract §7 lists the variables. */
export interface Config extends IdentityConfig {
  readonly host: string
  readonly port: number
  /** How many serve HTTP behind the port. */
  readonly processes: number
  readonly publicUrl: string
  readonly dataDir: string
  /** Unset: the embedded PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | undefined
  /** PostgreSQL itself, where `databaseUrl` is a pooler in transaction mode. */
  readonly databaseDirectUrl: string | undefined
  /** A streaming replica of it. */
  readonly databaseReadUrl: string | undefined
  readonly databasePoolSize: number
  /** `gs://bucket` or `file:///directory`. */
  readonly storageUrl: string
  readonly storageEmulatorHost: string | undefined
  /** Signs a bucket's download URLs without a call to IAM. */
  readonly storageHmac: { accessId: string; secret: string } | undefined
  /** Time-out of one call to a bucket, including its retries. */
  readonly storageDeadlineSeconds: number
  /** Unset: a running local clamd, else `yara:`. */
  readonly scannerUrl: string | undefined
  readonly rulesDir: string | undefined
  readonly maxUploadMb: number
  readonly maxUploadsAtOnce: number
  /** How long a client may stop sending before it is dropped. */
  readonly uploadIdleSeconds: number
  readonly validationWorkers: number
  readonly production: boolean
  readonly graphqlExplorer: boolean
  /** Whether `/` is the dashboard. */
  readonly dashboard: boolean
  readonly logLevel: LogLevel
  /** After SIGTERM the service is not ready, and serves on for so long. */
  readonly shutdownDelaySeconds: number
  /** Calls under way finish for so long at most. */
  readonly shutdownGraceSeconds: number
  /** Unset: the metrics are open to all who reach the port. */
  readonly metricsToken: string | undefined
  /** Unset: on the port of everything else. */
  readonly metricsPort: number | undefined
  /** Of a collector that speaks OTLP over HTTP; unset: no traces, and nothing of them is loaded. */
  readonly otlpEndpoint: string | undefined
  /** As express's 'trust proxy' takes it. */
  readonly trustProxy: false | number | string[]
  /** Undefined: for ever. */
  readonly callLogRetentionDays: number | undefined
  readonly auditLogRetentionDays: number | undefined
  /** 0: never. */
  readonly reconcileIntervalHours: number
  /** How fast each replica scans kept files again. */
  readonly rescanMbPerSecond: number
  readonly rateLimitPerMinute: number
  readonly redisUrl: string | undefined
  /** Origins, or `['*']`. Empty: closed. */
  readonly corsOrigins: string[]
  /** Webhooks may lead to private addresses, and use http. */
  readonly webhookAllowPrivate: boolean
}

/** Every fault of the environment, one sentence each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  constructor(readonly faults: string[]) {
    super(faults.join('\n'))
  }
}

const week = 7 * 24
const century = 36_500

/** The only reader of the environment. Throws a `ConfigError` that names all faults at once; an empty variable is an unset one. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const read = new EnvReader(env, secretVariables)
  const port = read.integer('PORT', { from: 0, to: 65_535, fallback: 8080 })
  const processes = read.integer('PROCESSES', { from: 1, to: 64, fallback: 1 })
  const place = readPlace(read)
  const production = read.text('NODE_ENV') === 'production'
  const config: Config = {
    host: read.matching('HOST', /^[A-Za-z0-9.:%_-]+$/, 'an address or a host name to listen on, such as 0.0.0.0') ?? '0.0.0.0',
    port,
    processes,
    publicUrl: read.baseUrl('PUBLIC_URL') ?? `http://localhost:${port}`,
    ...place,
    databaseReadUrl: readReadUrl(read, place.databaseUrl),
    databasePoolSize: read.integer('DATABASE_POOL_SIZE', { from: 2, to: 1000, fallback: 10 }),
    ...readStorage(read, place.dataDir),
    ...readUploads(read, processes),
    ...readIdentity(read, place.databaseUrl !== undefined || read.hasFault('DATABASE_URL')),
    production,
    ...readOperation(read, production),
    ...readRetention(read),
    rateLimitPerMinute: read.integer('RATE_LIMIT_PER_MINUTE', { from: 1, to: 1_000_000_000, fallback: 120_000 }),
    redisUrl: read.url('REDIS_URL', ['redis:', 'rediss:'], { example: 'redis://host:6379', secret: true }),
    corsOrigins: read.origins('CORS_ORIGINS'),
    webhookAllowPrivate: read.oneOf('WEBHOOK_ALLOW_PRIVATE', ['true', 'false']) === 'true',
  }
  if (read.faults.length > 0) throw new ConfigError(read.faults)
  return deepFreeze(config)
}

function readStorage(read: EnvReader, dataDir: string) {
  return {
    storageUrl: readStorageUrl(read) ?? pathToFileURL(join(dataDir, 'blobs')).href,
    storageEmulatorHost: read.matching('STORAGE_EMULATOR_HOST', /^(https?:\/\/)?[^\s/]+\/?$/, 'host:port or http://host:port'),
    storageHmac: readHmac(read),
    storageDeadlineSeconds: read.integer('STORAGE_DEADLINE_SECONDS', { from: 1, to: 600, fallback: 25 }),
  }
}

function readUploads(read: EnvReader, processes: number) {
  const rulesDir = read.text('RULES_DIR')
  return {
    scannerUrl: readScannerUrl(read),
    rulesDir: rulesDir === undefined ? undefined : resolve(rulesDir),
    maxUploadMb: read.integer('MAX_UPLOAD_MB', { from: 1, to: mostMegabytes, fallback: 1024 }),
    maxUploadsAtOnce: read.integer('MAX_UPLOADS_AT_ONCE', { from: 1, to: 100_000, fallback: 256 }),
    uploadIdleSeconds: read.integer('UPLOAD_IDLE_SECONDS', { from: 1, to: 3600, fallback: 30 }),
    validationWorkers: readValidationWorkers(read, processes),
  }
}

function readOperation(read: EnvReader, production: boolean) {
  return {
    graphqlExplorer: (read.oneOf('GRAPHQL_EXPLORER', ['on', 'off']) ?? (production ? 'off' : 'on')) === 'on',
    dashboard: read.oneOf('DASHBOARD', ['on', 'off']) !== 'off',
    logLevel: read.oneOf('LOG_LEVEL', logLevels) ?? 'info',
    shutdownDelaySeconds: read.integer('SHUTDOWN_DELAY_SECONDS', { from: 0, to: 300, fallback: production ? 5 : 0 }),
    shutdownGraceSeconds: read.integer('SHUTDOWN_GRACE_SECONDS', { from: 1, to: 3600, fallback: 30 }),
    metricsToken: read.matching(
      'METRICS_TOKEN',
      /^[\x21-\x7e]{16,200}$/,
      '16 to 200 visible ASCII characters without spaces',
      'secret',
    ),
    otlpEndpoint: read.baseUrl('OTEL_EXPORTER_OTLP_ENDPOINT'),
    metricsPort: read.optionalInteger('METRICS_PORT', { from: 1, to: 65_535 }),
    trustProxy: read.proxies('TRUST_PROXY'),
  }
}

function readRetention(read: EnvReader) {
  return {
    callLogRetentionDays: read.optionalInteger('CALL_LOG_RETENTION_DAYS', { from: 1, to: century }),
    auditLogRetentionDays: read.optionalInteger('AUDIT_LOG_RETENTION_DAYS', { from: 1, to: century }),
    reconcileIntervalHours: read.integer('RECONCILE_INTERVAL_HOURS', { from: 0, to: 52 * week, fallback: 24 }),
    rescanMbPerSecond: read.integer('RESCAN_MB_PER_SECOND', { from: 1, to: 10_000, fallback: 20 }),
  }
}

// All processes together have so many, and none can do without.
function readValidationWorkers(read: EnvReader, processes: number): number {
  const fallback = Math.max(2, processes, Math.min(availableParallelism(), 4))
  const workers = read.integer('VALIDATION_WORKERS', { from: 1, to: 64, fallback })
  if (workers < processes && !read.hasFault('VALIDATION_WORKERS') && !read.hasFault('PROCESSES'))
    read.fault('VALIDATION_WORKERS', String(workers), `at least ${processes}, the value of PROCESSES`)
  return workers
}

type Place = Pick<Config, 'dataDir' | 'databaseUrl' | 'databaseDirectUrl'>

/** The variable that gives a secret: `name`, or `name_FILE` if that is set. */
export const secretSource = (name: (typeof secretVariables)[number], env: NodeJS.ProcessEnv = process.env): string =>
  env[`${name}_FILE`]?.trim() ? `${name}_FILE` : name

/** Where the database is: all that a migration needs to know. */
export function readDatabasePlace(env: NodeJS.ProcessEnv = process.env): Place {
  const read = new EnvReader(env, ['DATABASE_URL', 'DATABASE_DIRECT_URL'])
  const place = readPlace(read)
  if (read.faults.length > 0) throw new ConfigError(read.faults)
  return place
}

function readPlace(read: EnvReader): Place {
  const databaseUrl = readDatabaseUrl(read, 'DATABASE_URL')
  const databaseDirectUrl = readDatabaseUrl(read, 'DATABASE_DIRECT_URL')
  if (databaseDirectUrl && !databaseUrl && !read.hasFault('DATABASE_URL'))
    read.fault('DATABASE_URL', undefined, 'the URL of the pooler if DATABASE_DIRECT_URL is set')
  return { dataDir: resolve(read.text('DATA_DIR') ?? '.data'), databaseUrl, databaseDirectUrl }
}

function readReadUrl(read: EnvReader, databaseUrl: string | undefined): string | undefined {
  const url = readDatabaseUrl(read, 'DATABASE_READ_URL')
  if (url && !databaseUrl && !read.hasFault('DATABASE_URL'))
    read.fault('DATABASE_URL', undefined, 'the URL of the primary if DATABASE_READ_URL is set')
  return url
}

function readDatabaseUrl(read: EnvReader, name: string): string | undefined {
  const value = read.text(name)
  if (value === undefined) return undefined
  return databaseUrlOf(value) ?? read.fault(name, value, 'a URL such as postgresql://user:password@host:5432/assay', 'secret')
}

function readStorageUrl(read: EnvReader): string | undefined {
  const value = read.text('STORAGE_URL')
  if (value === undefined) return undefined
  if (/^gs:\/\/[a-z0-9][a-z0-9._-]{1,220}[a-z0-9](\/[^?#]*)?$/.test(value)) return value
  if (/^file:\/\/\/./.test(value) && URL.canParse(value)) return value
  return read.fault('STORAGE_URL', value, 'gs://bucket or file:///directory')
}

function readHmac(read: EnvReader): Config['storageHmac'] {
  const accessId = read.matching('STORAGE_HMAC_ACCESS_ID', /^[A-Z0-9]{24,61}$/, "an HMAC key's access id, such as GOOG1E…")
  const secret = read.matching('STORAGE_HMAC_SECRET', /^[A-Za-z0-9+/=]{40}$/, "an HMAC key's secret of 40 characters", 'secret')
  if (accessId && secret) return { accessId, secret }
  for (const [name, other] of [
    ['STORAGE_HMAC_ACCESS_ID', 'STORAGE_HMAC_SECRET'],
    ['STORAGE_HMAC_SECRET', 'STORAGE_HMAC_ACCESS_ID'],
  ] as const)
    if (read.text(name) === undefined && read.text(other) !== undefined && !read.hasFault(name))
      read.fault(name, undefined, `set if ${other} is set`)
  return undefined
}

function readScannerUrl(read: EnvReader): string | undefined {
  const urls = read.list('SCANNER_URL')
  if (urls.length === 0) return undefined
  const known = (url: string) =>
    url === 'yara:' ||
    url === 'none:' ||
    /^clamscan:(\?\S+)?$/.test(url) ||
    /^clamd:\/\/(\/\S+|[^\s/:]+(:\d{1,5})?|\[[0-9a-fA-F:]+\](:\d{1,5})?)$/.test(url)
  if (urls.every(known) && (urls.length === 1 || urls.every((url) => url.startsWith('clamd:')))) return urls.join(',')
  return read.fault(
    'SCANNER_URL',
    urls.join(','),
    'clamd://host:3310, clamd:///path/to.sock (several, separated by commas), clamscan:, yara: or none:',
  )
}

function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(value)) {
    // A Buffer cannot be frozen: typed arrays with elements refuse it.
    if (part && typeof part === 'object' && !Buffer.isBuffer(part)) deepFreeze(part)
  }
  return Object.freeze(value)
}
