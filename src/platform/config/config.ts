import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseDatabaseUrl } from '../db/database-url.js'
import { parseStorageUrl } from '../storage/storage-url.js'
import { maxMegabytes } from '../units.js'
import { EnvReader, secretVariables } from './config-reader.js'
import { readIdentityConfig } from './identity-config.js'

const logLevels = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const

/** Parsed configuration. docs/configuration.md lists the variables. */
export type Config = Readonly<ReturnType<typeof readVariables>>

/** Contains all configuration errors, one sentence per error. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  constructor(readonly errors: string[]) {
    super(errors.join('\n'))
  }
}

const week = 7 * 24
const century = 36_500

/** Reads the configuration from environment variables, which no other module reads. Throws a `ConfigError` with all errors. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const reader = new EnvReader(env, secretVariables)
  const config = readVariables(reader)
  if (reader.errors.length > 0) throw new ConfigError(reader.errors)
  return config
}

function readVariables(reader: EnvReader) {
  const port = reader.readInteger('PORT', { min: 0, max: 65_535, fallback: 8080 })
  const processes = reader.readInteger('PROCESSES', { min: 1, max: 64, fallback: 1 })
  const database = readDatabaseLocation(reader)
  return {
    host:
      reader.readPattern('HOST', /^[A-Za-z0-9.:%_-]+$/, 'an address or a host name to listen on, such as 0.0.0.0') ?? '0.0.0.0',
    port,
    processes,
    publicUrl: reader.readBaseUrl('PUBLIC_URL') ?? `http://localhost:${port}`,
    ...database,
    databaseReadUrl: readReplicaUrl(reader, database.databaseUrl),
    databasePoolSize: reader.readInteger('DATABASE_POOL_SIZE', { min: 2, max: 1000, fallback: 10 }),
    ...readStorage(reader, database.dataDir),
    ...readUploadSettings(reader, processes),
    ...readIdentityConfig(reader, database.databaseUrl !== undefined || reader.hasError('DATABASE_URL')),
    ...readOperationSettings(reader),
    ...readRetention(reader),
    rateLimitPerMinute: reader.readInteger('RATE_LIMIT_PER_MINUTE', { min: 1, max: 1_000_000_000, fallback: 120_000 }),
    redisUrl: reader.readUrl('REDIS_URL', ['redis:', 'rediss:'], 'redis://host:6379'),
    /** Allowed origins, or `['*']`. If empty, CORS is disabled. */
    corsOrigins: reader.readOrigins('CORS_ORIGINS'),
    webhookAllowPrivate: reader.readFlag('WEBHOOK_ALLOW_PRIVATE'),
  }
}

function readStorage(reader: EnvReader, dataDir: string) {
  return {
    storageUrl: readStorageUrl(reader) ?? pathToFileURL(join(dataDir, 'blobs')).href,
    storageEmulatorHost: reader.readPattern(
      'STORAGE_EMULATOR_HOST',
      /^(https?:\/\/)?[^\s/]+\/?$/,
      'host:port or http://host:port',
    ),
    /** HMAC key that signs download URLs for a Google Cloud Storage bucket without calls to IAM. */
    storageHmac: readStorageHmac(reader),
    s3Credentials: readS3Credentials(reader),
    s3UnconditionalWrites: reader.readFlag('S3_UNCONDITIONAL_WRITES'),
    /** Timeout for one bucket call, including its retries. */
    storageDeadlineSeconds: reader.readInteger('STORAGE_DEADLINE_SECONDS', { min: 1, max: 600, fallback: 25 }),
  }
}

function readUploadSettings(reader: EnvReader, processes: number) {
  const rulesDir = reader.readText('RULES_DIR')
  return {
    /** If undefined, the service uses a local clamd if one is running, and otherwise `yara:`. */
    scannerUrl: readScannerUrl(reader),
    rulesDir: rulesDir === undefined ? undefined : resolve(rulesDir),
    maxUploadMb: reader.readInteger('MAX_UPLOAD_MB', { min: 1, max: maxMegabytes, fallback: 1024 }),
    maxUploadsAtOnce: reader.readInteger('MAX_UPLOADS_AT_ONCE', { min: 1, max: 100_000, fallback: 256 }),
    /** Seconds without data after which the service aborts an upload. */
    uploadIdleSeconds: reader.readInteger('UPLOAD_IDLE_SECONDS', { min: 1, max: 3600, fallback: 30 }),
    validationWorkers: readValidationWorkers(reader, processes),
  }
}

function readOperationSettings(reader: EnvReader) {
  const production = reader.readText('NODE_ENV') === 'production'
  return {
    production,
    graphqlExplorer: (reader.readChoice('GRAPHQL_EXPLORER', ['on', 'off']) ?? (production ? 'off' : 'on')) === 'on',
    dashboard: reader.readChoice('DASHBOARD', ['on', 'off']) !== 'off',
    logLevel: reader.readChoice('LOG_LEVEL', logLevels) ?? 'info',
    /** Seconds for which the service continues to respond after SIGTERM, while its readiness check fails. */
    shutdownDelaySeconds: reader.readInteger('SHUTDOWN_DELAY_SECONDS', { min: 0, max: 300, fallback: production ? 5 : 0 }),
    shutdownGraceSeconds: reader.readInteger('SHUTDOWN_GRACE_SECONDS', { min: 1, max: 3600, fallback: 30 }),
    /** Token for the metrics endpoint. If undefined, the endpoint needs no credential. */
    metricsToken: reader.readPattern(
      'METRICS_TOKEN',
      /^[\x21-\x7e]{16,200}$/,
      '16 to 200 visible ASCII characters without spaces',
    ),
    /** Separate port for the metrics endpoint. If undefined, the endpoint uses the main port. */
    metricsPort: reader.readOptionalInteger('METRICS_PORT', { min: 1, max: 65_535 }),
    /** Base URL of an OTLP/HTTP collector. If undefined, the service sends no traces. */
    otlpEndpoint: reader.readBaseUrl('OTEL_EXPORTER_OTLP_ENDPOINT'),
    trustProxy: reader.readProxies('TRUST_PROXY'),
  }
}

// If a retention period is undefined, the log is retained forever.
function readRetention(reader: EnvReader) {
  return {
    callLogRetentionDays: reader.readOptionalInteger('CALL_LOG_RETENTION_DAYS', { min: 1, max: century }),
    auditLogRetentionDays: reader.readOptionalInteger('AUDIT_LOG_RETENTION_DAYS', { min: 1, max: century }),
    /** Hours between runs of the reconciler. 0 disables it. */
    reconcileIntervalHours: reader.readInteger('RECONCILE_INTERVAL_HOURS', { min: 0, max: 52 * week, fallback: 24 }),
    /** Maximum rate at which each replica reads stored files for rescans. */
    rescanMbPerSecond: reader.readInteger('RESCAN_MB_PER_SECOND', { min: 1, max: 10_000, fallback: 20 }),
  }
}

// All processes share these workers, so there must be at least one worker per process.
function readValidationWorkers(reader: EnvReader, processes: number): number {
  const fallback = Math.max(2, processes, Math.min(availableParallelism(), 4))
  const workers = reader.readInteger('VALIDATION_WORKERS', { min: 1, max: 64, fallback })
  if (workers < processes && !reader.hasError('VALIDATION_WORKERS') && !reader.hasError('PROCESSES'))
    reader.addError('VALIDATION_WORKERS', String(workers), `at least ${processes}, the value of PROCESSES`)
  return workers
}

/** Returns the name of the variable that sets a secret: `<name>_FILE` if it is set, and otherwise `<name>`. */
export const getSecretSource = (name: (typeof secretVariables)[number], env: NodeJS.ProcessEnv = process.env): string =>
  env[`${name}_FILE`]?.trim() ? `${name}_FILE` : name

/** Reads only the variables that a migration needs. */
export function readDatabaseConfig(env: NodeJS.ProcessEnv = process.env) {
  const reader = new EnvReader(env, ['DATABASE_URL', 'DATABASE_DIRECT_URL'])
  const location = readDatabaseLocation(reader)
  if (reader.errors.length > 0) throw new ConfigError(reader.errors)
  return location
}

function readDatabaseLocation(reader: EnvReader) {
  const databaseUrl = readDatabaseUrl(reader, 'DATABASE_URL')
  const databaseDirectUrl = readDatabaseUrl(reader, 'DATABASE_DIRECT_URL')
  if (databaseDirectUrl && !databaseUrl && !reader.hasError('DATABASE_URL'))
    reader.addError('DATABASE_URL', undefined, "the pooler's URL if DATABASE_DIRECT_URL is set")
  return {
    dataDir: resolve(reader.readText('DATA_DIR') ?? '.data'),
    /** If undefined, the service starts the embedded PostgreSQL in `dataDir`. */
    databaseUrl,
    /** URL of PostgreSQL itself, if `databaseUrl` points to a pooler in transaction mode. */
    databaseDirectUrl,
  }
}

function readReplicaUrl(reader: EnvReader, databaseUrl: string | undefined): string | undefined {
  const url = readDatabaseUrl(reader, 'DATABASE_READ_URL')
  if (url && !databaseUrl && !reader.hasError('DATABASE_URL'))
    reader.addError('DATABASE_URL', undefined, "the primary's URL if DATABASE_READ_URL is set")
  return url
}

function readDatabaseUrl(reader: EnvReader, name: string): string | undefined {
  const value = reader.readText(name)
  if (value === undefined) return undefined
  return parseDatabaseUrl(value) ?? reader.addError(name, value, 'a URL such as postgresql://user:password@host:5432/assay')
}

function readStorageUrl(reader: EnvReader): string | undefined {
  const value = reader.readText('STORAGE_URL')
  const location = value === undefined ? undefined : parseStorageUrl(value)
  return typeof location === 'string' ? reader.addError('STORAGE_URL', value, location) : value
}

function readStorageHmac(reader: EnvReader) {
  const accessId = reader.readPattern('STORAGE_HMAC_ACCESS_ID', /^[A-Z0-9]{24,61}$/, "an HMAC key's access id, such as GOOG1E…")
  const secret = reader.readPattern('STORAGE_HMAC_SECRET', /^[A-Za-z0-9+/=]{40}$/, "an HMAC key's secret of 40 characters")
  if (accessId && secret) return { accessId, secret }
  requireBothOrNeither(reader, 'STORAGE_HMAC_ACCESS_ID', 'STORAGE_HMAC_SECRET')
  return undefined
}

/** If undefined, the AWS SDK finds credentials in its environment variables, files, or the machine's metadata service. */
function readS3Credentials(reader: EnvReader) {
  const accessKeyId = reader.readText('S3_ACCESS_KEY_ID')
  const secretAccessKey = reader.readText('S3_SECRET_ACCESS_KEY')
  const sessionToken = reader.readText('S3_SESSION_TOKEN')
  if (accessKeyId && secretAccessKey) return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) }
  requireBothOrNeither(reader, 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY')
  if (sessionToken && !accessKeyId) reader.addError('S3_SESSION_TOKEN', sessionToken, 'unset if S3_ACCESS_KEY_ID is not set')
  return undefined
}

/** Adds an error if only one of two interdependent variables is set. */
function requireBothOrNeither(reader: EnvReader, firstName: string, secondName: string): void {
  for (const [name, other] of [
    [firstName, secondName],
    [secondName, firstName],
  ] as const)
    if (reader.readText(name) === undefined && reader.readText(other) !== undefined && !reader.hasError(name))
      reader.addError(name, undefined, `set if ${other} is set`)
}

function readScannerUrl(reader: EnvReader): string | undefined {
  const urls = reader.readList('SCANNER_URL')
  if (urls.length === 0) return undefined
  const isSupportedUrl = (url: string) =>
    url === 'yara:' ||
    url === 'none:' ||
    /^clamscan:(\?\S+)?$/.test(url) ||
    /^clamd:\/\/(\/\S+|[^\s/:]+(:\d{1,5})?|\[[0-9a-fA-F:]+\](:\d{1,5})?)$/.test(url)
  if (urls.every(isSupportedUrl) && (urls.length === 1 || urls.every((url) => url.startsWith('clamd:')))) return urls.join(',')
  return reader.addError(
    'SCANNER_URL',
    urls.join(','),
    'one or more comma-separated clamd URLs (clamd://host:3310 or clamd:///path/to.sock), or clamscan:, yara: or none:',
  )
}
