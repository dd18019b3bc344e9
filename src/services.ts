import type { Logger } from 'pino'
import { SecurityTrail } from './admission/security-trail.js'
import { loadApiKey, rehashApiKey, writeKeyUses } from './api-keys/api-key.lookup.js'
import { ApiKeyService } from './api-keys/api-key.service.js'
import { AuditLogService } from './audit-logs/audit-log.service.js'
import { Identity } from './auth/identity.js'
import { openMasterKey } from './auth/master-key.js'
import { Passwords } from './auth/passwords.js'
import { openRateLimits } from './auth/rate-limits.js'
import { CallLogService } from './call-logs/call-log.service.js'
import { keepTime, learnTime } from './clock.js'
import type { Config } from './config/config.js'
import type { Database } from './db/client.js'
import { FileContextService } from './file-contexts/file-context.service.js'
import { FileService } from './files/file.service.js'
import { SignedDownloads } from './files/signed-downloads.js'
import { Fold } from './ledger/fold.js'
import { IdempotencyService } from './ledger/idempotency.js'
import { Ledger } from './ledger/ledger.js'
import { PathLeases } from './ledger/path-leases.js'
import { LogHorizons } from './maintenance/log-horizons.js'
import { StorageHealth } from './maintenance/storage-health.js'
import { Charts } from './stats/charts.js'
import { StatsService } from './stats/stats.service.js'
import { openStorage } from './storage/index.js'
import { TenantService } from './tenants/tenant.service.js'
import { SecondFactorService } from './users/second-factor.service.js'
import { SessionService } from './users/session.service.js'
import { SignInService } from './users/sign-in.service.js'
import { loadSession, userOnFirstSight } from './users/user.lookup.js'
import { UserService } from './users/user.service.js'

export type Services = Awaited<ReturnType<typeof openServices>>

/** The rooms' services, wired: for the service itself and for the operator's command line, which has no HTTP. */
export async function openServices({
  config,
  database,
  databaseUrl,
  logger,
}: {
  config: Config
  database: Database
  databaseUrl: string
  logger: Logger
}) {
  const { pool } = database
  await learnTime(pool)
  const stopTime = keepTime(pool)
  const onError = (error: Error) => logger.warn({ err: error }, 'Something in the background failed; it is tried again.')
  const fold = new Fold(database.writes, (error) => onError(error as Error))
  const ledger = new Ledger(database, { fold })
  const paths = new PathLeases(database.writes)
  const masterKey = await openMasterKey({
    masterKey: config.masterKey,
    previous: [...config.previousMasterKeys],
    dataDir: config.dataDir,
  })
  const { jwt } = config
  const identity = new Identity({
    pool,
    connection: { connectionString: databaseUrl },
    masterKey,
    loadApiKey: loadApiKey(pool),
    rehashApiKey: rehashApiKey(pool),
    writeKeyUses: writeKeyUses(pool),
    loadSession: loadSession(pool),
    outside: jwt && {
      issuer: jwt.issuer,
      audience: jwt.audience,
      jwksUrl: new URL(jwt.jwksUrl),
      claims: jwt.claims,
      userOnFirstSight: userOnFirstSight(pool, ledger),
    },
    onError,
  })
  await identity.start()
  const limits = await openRateLimits({
    pool,
    redisUrl: config.redisUrl,
    perMinute: config.rateLimitPerMinute,
    onError,
  })
  const storage = await openStorage(config.storageUrl, {
    publicUrl: config.publicUrl,
    signingSecrets: identity.signing.download_url,
    deadlineMs: config.storageDeadlineSeconds * 1000,
    ...(config.storageEmulatorHost && { emulatorHost: config.storageEmulatorHost }),
  })
  const horizons = await LogHorizons.open(pool, { calls: config.callLogRetentionDays, audits: config.auditLogRetentionDays })
  const tenants = new TenantService({ db: database, ledger, forget: (id) => identity.forget('tenant', id) })
  const contexts = new FileContextService({ db: database, ledger, maxUploadMb: config.maxUploadMb })
  const apiKeys = new ApiKeyService({
    db: database,
    ledger,
    contexts,
    forget: (id) => identity.forget('api_key', id),
    lastUse: (id) => identity.lastUsed.latest(id),
  })
  const passwords = new Passwords()
  const users = new UserService({ db: database, ledger, passwords, forget: (id) => identity.forget('user', id) })
  const forgetUser = (id: string) => identity.forget('user', id)
  const secondFactors = new SecondFactorService({ db: database, ledger, masterKey, passwords, limits, forget: forgetUser })
  const security = new SecurityTrail((entry) => ledger.commit(entry))
  const signIns = new SignInService({
    db: database,
    ledger,
    passwords,
    sessions: identity.sessions,
    limits,
    users,
    secondFactors,
    security,
    forget: (id) => identity.forget('session', id),
  })
  return {
    ledger,
    fold,
    paths,
    identity,
    masterKey,
    limits,
    storage,
    tenants,
    contexts,
    apiKeys,
    users,
    signIns,
    security,
    secondFactors,
    sessions: new SessionService({ db: database, ledger, forget: forgetUser }),
    downloads: new SignedDownloads(pool),
    files: new FileService({ db: database, ledger, storage, contexts }),
    callLogs: new CallLogService({ db: database, horizon: horizons.calls }),
    auditLogs: new AuditLogService({ db: database, horizon: horizons.audits }),
    stats: new StatsService(database),
    charts: new Charts(database),
    idempotency: new IdempotencyService(pool),
    horizons,
    storageHealth: new StorageHealth({ database, storage, horizons }),
    close: async () => {
      stopTime()
      await ledger.drain()
      await paths.close()
      await fold.close()
      await limits.close()
      await identity.close()
      await storage.close()
    },
  }
}
