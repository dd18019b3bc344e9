import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { databaseUrlOf } from '../db/database-url.js'
import { mostMegabytes } from '../units.js'
import { EnvReader } from './config-reader.js'
import { secretVariables } from './secret-files.js'

export type LogLevel = (typeof logLevels)[number]
const logLevels = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const

/** An outside identity provider, and the names of the claims that carry what we need to know. */
export interface JwtConfig {
  issuer: string
  audience: string
  jwksUrl: string
  claims: { tenant: string; scopes: string; email: string; name: string }
}

/** Everything that the operator decides, parsed and frozen. Contract §7 lists the variables. */
export interface Config {
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
  /** Unset: a running local clamd, else `yara:`. */
  /** How long a bucket may take over one call, with all its repetitions. */
  readonly storageDeadlineSeconds: number
  readonly scannerUrl: string | undefined
  readonly rulesDir: string | undefined
  readonly maxUploadMb: number
  readonly maxUploadsAtOnce: number
  /** How long a client may stop sending before it is dropped. */
  readonly uploadIdleSeconds: number
  readonly validationWorkers: number
  readonly bootstrap: {
    readonly apiKey: string | undefined
    readonly adminEmail: string
    readonly adminPassword: string | undefined
  }
  readonly jwt: JwtConfig | undefined
  /** 32 bytes; never unset with an outside database. */
  readonly masterKey: Buffer | undefined
  /** Keys that MASTER_KEY had before and that stored secrets may still be encrypted under. */
  readonly previousMasterKeys: Buffer[]
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
  const { dataDir, databaseUrl, databaseDirectUrl } = readPlace(read)
  const production = read.text('NODE_ENV') === 'production'
  const rulesDir = read.text('RULES_DIR')

  const config: Config = {
    host: read.matching('HOST', /^[A-Za-z0-9.:%_-]+$/, 'an address or a host name to listen on, such as 0.0.0.0') ?? '0.0.0.0',
    port,
    processes,
    publicUrl: read.baseUrl('PUBLIC_URL') ?? `http://localhost:${port}`,
    dataDir,
    databaseUrl,
    databaseDirectUrl,
    databaseReadUrl: readReadUrl(read, databaseUrl),
    databasePoolSize: read.integer('DATABASE_POOL_SIZE', { from: 2, to: 1000, fallback: 10 }),
    storageUrl: readStorageUrl(read) ?? pathToFileURL(join(dataDir, 'blobs')).href,
    storageEmulatorHost: read.matching('STORAGE_EMULATOR_HOST', /^(https?:\/\/)?[^\s/]+\/?$/, 'host:port or http://host:port'),
    storageHmac: readHmac(read),
    storageDeadlineSeconds: read.integer('STORAGE_DEADLINE_SECONDS', { from: 1, to: 600, fallback: 25 }),
    scannerUrl: readScannerUrl(read),
    rulesDir: rulesDir === undefined ? undefined : resolve(rulesDir),
    maxUploadMb: read.integer('MAX_UPLOAD_MB', { from: 1, to: mostMegabytes, fallback: 1024 }),
    maxUploadsAtOnce: read.integer('MAX_UPLOADS_AT_ONCE', { from: 1, to: 100_000, fallback: 256 }),
    uploadIdleSeconds: read.integer('UPLOAD_IDLE_SECONDS', { from: 1, to: 3600, fallback: 30 }),
    validationWorkers: readValidationWorkers(read, processes),
    bootstrap: readBootstrap(read),
    jwt: readJwt(read),
    masterKey: readMasterKey(read, databaseUrl !== undefined || read.hasFault('DATABASE_URL')),
    previousMasterKeys: readPreviousMasterKeys(read),
    production,
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
    callLogRetentionDays: read.optionalInteger('CALL_LOG_RETENTION_DAYS', { from: 1, to: century }),
    auditLogRetentionDays: read.optionalInteger('AUDIT_LOG_RETENTION_DAYS', { from: 1, to: century }),
    reconcileIntervalHours: read.integer('RECONCILE_INTERVAL_HOURS', { from: 0, to: 52 * week, fallback: 24 }),
    rescanMbPerSecond: read.integer('RESCAN_MB_PER_SECOND', { from: 1, to: 10_000, fallback: 20 }),
    rateLimitPerMinute: read.integer('RATE_LIMIT_PER_MINUTE', { from: 1, to: 1_000_000_000, fallback: 120_000 }),
    redisUrl: read.url('REDIS_URL', ['redis:', 'rediss:'], { example: 'redis://host:6379', secret: true }),
    corsOrigins: read.origins('CORS_ORIGINS'),
    webhookAllowPrivate: read.oneOf('WEBHOOK_ALLOW_PRIVATE', ['true', 'false']) === 'true',
  }
  if (read.faults.length > 0) throw new ConfigError(read.faults)
  return deepFreeze(config)
}

// All processes together have so many, and none can do without.
function readValidationWorkers(read: EnvReader, processes: number): number {
  const fallback = Math.max(2, processes, Math.min(availableParallelism(), 4))
  const workers = read.integer('VALIDATION_WORKERS', { from: 1, to: 64, fallback })
  if (workers < processes && !read.hasFault('VALIDATION_WORKERS') && !read.hasFault('PROCESSES'))
    read.fault('VALIDATION_WORKERS', String(workers), `at least ${processes}, one for each of PROCESSES`)
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
    read.fault('DATABASE_URL', undefined, "the pooler's URL, where DATABASE_DIRECT_URL names the PostgreSQL behind it")
  return { dataDir: resolve(read.text('DATA_DIR') ?? '.data'), databaseUrl, databaseDirectUrl }
}

function readReadUrl(read: EnvReader, databaseUrl: string | undefined): string | undefined {
  const url = readDatabaseUrl(read, 'DATABASE_READ_URL')
  if (url && !databaseUrl && !read.hasFault('DATABASE_URL'))
    read.fault('DATABASE_URL', undefined, "the primary's URL, where DATABASE_READ_URL names a replica of it")
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
      read.fault(name, undefined, `set where ${other} is`)
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
    'clamd://host:3310, clamd:///path/to.sock (several with commas between), clamscan:, yara: or none:',
  )
}

function readBootstrap(read: EnvReader): Config['bootstrap'] {
  return {
    apiKey: read.matching(
      'BOOTSTRAP_API_KEY',
      // What a Bearer credential may contain (RFC 6750, section 2.1), without the dot, which marks a token.
      /^(?=.{32,200}$)[A-Za-z0-9_~+/-]+=*$/,
      "32 to 200 characters: letters, digits, '-', '_', '~', '+' and '/', and '=' at the end",
      'secret',
    ),
    adminEmail:
      read.matching('BOOTSTRAP_ADMIN_EMAIL', /^[^\s@]{1,64}@[^\s@]{1,190}$/, 'an e-mail address such as admin@example.com') ??
      'admin@localhost',
    adminPassword: read.matching('BOOTSTRAP_ADMIN_PASSWORD', /^[^\0]{8,1024}$/s, 'a password of 8 to 1024 characters', 'secret'),
  }
}

function readJwt(read: EnvReader): JwtConfig | undefined {
  const claims = {
    tenant: read.text('JWT_TENANT_CLAIM') ?? 'tenant_id',
    scopes: read.text('JWT_SCOPES_CLAIM') ?? 'scope',
    email: read.text('JWT_EMAIL_CLAIM') ?? 'email',
    name: read.text('JWT_NAME_CLAIM') ?? 'name',
  }
  const issuer = read.text('JWT_ISSUER')
  const audience = read.text('JWT_AUDIENCE')
  const jwksUrl = read.url('JWT_JWKS_URL', ['https:', 'http:'], { example: 'https://id.example.com/.well-known/jwks.json' })
  if (!issuer && !audience && !jwksUrl && !read.hasFault('JWT_JWKS_URL')) return undefined
  const missing = Object.entries({ JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWT_JWKS_URL: read.text('JWT_JWKS_URL') }).filter(
    ([, value]) => !value,
  )
  for (const [name] of missing)
    read.fault(name, undefined, 'set, since an identity provider needs JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL together')
  return issuer && audience && jwksUrl ? { issuer, audience, jwksUrl, claims } : undefined
}

function readMasterKey(read: EnvReader, required: boolean): Buffer | undefined {
  const right = '32 bytes in base64 (44 characters), as from: node -p "crypto.randomBytes(32).toString(\'base64\')"'
  const value = read.matching('MASTER_KEY', /^[A-Za-z0-9+/]{43}=$/, right, 'secret')
  if (value !== undefined) return Buffer.from(value, 'base64')
  if (required && !read.hasFault('MASTER_KEY'))
    read.fault('MASTER_KEY', undefined, `${right}, when DATABASE_URL names an outside database`)
  return undefined
}

function readPreviousMasterKeys(read: EnvReader): Buffer[] {
  const keys = read.list('MASTER_KEY_PREVIOUS')
  if (keys.every((key) => /^[A-Za-z0-9+/]{43}=$/.test(key))) return keys.map((key) => Buffer.from(key, 'base64'))
  read.fault('MASTER_KEY_PREVIOUS', keys.join(','), 'former MASTER_KEYs, each 32 bytes in base64, with commas between', 'secret')
  return []
}

function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(value)) {
    // A Buffer cannot be frozen: typed arrays with elements refuse it.
    if (part && typeof part === 'object' && !Buffer.isBuffer(part)) deepFreeze(part)
  }
  return Object.freeze(value)
}
