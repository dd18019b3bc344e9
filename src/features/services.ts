import type { Logger } from 'pino'
import { Identity } from '../access/identity.js'
import { type MasterKey, openMasterKey } from '../access/master-key.js'
import { Passwords } from '../access/passwords.js'
import { openRateLimits } from '../access/rate-limits.js'
import { SecurityTrail } from '../access/security-trail.js'
import type { VirusScanner } from '../inspection/scanners/virus-scanner.js'
import { Fold } from '../ledger/fold.js'
import { IdempotencyService } from '../ledger/idempotency.js'
import { JournalService } from '../ledger/journal.service.js'
import { Ledger } from '../ledger/ledger.js'
import { ReservedPaths } from '../ledger/reserved-paths.js'
import { startClockSync, synchronizeClock } from '../platform/clock.js'
import type { Config } from '../platform/config/config.js'
import type { Database } from '../platform/db/client.js'
import { hasCitus } from '../platform/db/distribution.js'
import { openStorage } from '../platform/storage/index.js'
import { createApiKeyLoader, createLastUsedWriter } from './api-keys/api-key.lookup.js'
import { ApiKeyService } from './api-keys/api-key.service.js'
import { AuditLogService } from './audit-logs/audit-log.service.js'
import { CallLogService } from './call-logs/call-log.service.js'
import type { ServiceEvents } from './components.js'
import { FileContextService } from './contexts/context.service.js'
import { EventService } from './events/event.service.js'
import { FileService } from './files/file.service.js'
import { SignedDownloads } from './files/signed-downloads.js'
import { ExpiryService } from './lifecycle/expiry.service.js'
import { HoldService } from './lifecycle/hold.service.js'
import { QuarantineService } from './lifecycle/quarantine.service.js'
import { QuarantineMoves } from './lifecycle/quarantine-moves.js'
import { TrashService } from './lifecycle/trash.service.js'
import { LogStartTimes } from './maintenance/retention.js'
import { StorageHealth } from './maintenance/storage-health.service.js'
import { LogService } from './proof/log.service.js'
import { LogShareService } from './proof/log-share.service.js'
import { ReceiptService } from './proof/receipt.service.js'
import { RescanService } from './rescan/rescan.service.js'
import { StatsService } from './stats/stats.service.js'
import { TenantService } from './tenants/tenant.service.js'
import { UploadLinkService } from './upload-links/upload-link.service.js'
import { UploadLinkLookup } from './upload-links/upload-link-lookup.js'
import { ResumableUploadService } from './uploads/resumable-upload.service.js'
import { SecondFactorService } from './users/second-factor.service.js'
import { SessionService } from './users/session.service.js'
import { SignInService } from './users/sign-in.service.js'
import { createExternalUserFinder, createSessionLoader } from './users/user.lookup.js'
import { UserService } from './users/user.service.js'
import { openWebhooks } from './webhooks/open-webhooks.js'

export type Services = Awaited<ReturnType<typeof openServices>>

interface ServiceDependencies {
  config: Config
  database: Database
  databaseUrl: string
  logger: Logger
  serviceEvents: ServiceEvents
  /** Virus scanner. Undefined for CLI commands. */
  scanner?: Promise<Pick<VirusScanner, 'getIdentity'>>
}

/** Creates all services, for the server and for the operator's CLI. */
export async function openServices(dependencies: ServiceDependencies) {
  const base = await openBaseServices(dependencies)
  const services = createServices({ ...base, scanner: dependencies.scanner }, dependencies)
  const close = async () => {
    await services.webhookSender.close()
    await base.close()
  }
  return { ...base, ...services, close }
}

async function openBaseServices(dependencies: ServiceDependencies) {
  const { config, database, logger, serviceEvents } = dependencies
  const { pool } = database
  await synchronizeClock(pool)
  await database.durability.getExpression()
  const stopTime = startClockSync(pool)
  const onError = (error: unknown) => logger.warn({ err: error }, 'A background task failed. The service will retry it.')
  const fold = new Fold(database.writes, onError)
  const journal = new JournalService(database, serviceEvents)
  const isDistributed = await hasCitus(pool)
  const ledger = new Ledger(database, { fold, isOneTenantPerGroup: isDistributed, events: serviceEvents })
  const paths = new ReservedPaths(database.writes, { isOneTenantPerCommit: isDistributed })
  const masterKey = await openMasterKey({
    masterKey: config.masterKey,
    previous: [...config.previousMasterKeys],
    dataDir: config.dataDir,
  })
  const identity = createIdentity(dependencies, { masterKey, ledger, onError })
  await identity.start()
  const limits = await openRateLimits({ pool, redisUrl: config.redisUrl, perMinute: config.rateLimitPerMinute, onError })
  const storage = await openStorage(config, identity.signing.download_url)
  const security = new SecurityTrail(
    (entry) => ledger.commit(entry),
    (reason) => serviceEvents.emit('securityEvent', reason),
  )
  const horizons = await LogStartTimes.open(pool, { calls: config.callLogRetentionDays, audits: config.auditLogRetentionDays })
  const close = async () => {
    stopTime()
    journal.close()
    await ledger.drain()
    await paths.close()
    await fold.close()
    await limits.close()
    await identity.close()
    await storage.close()
  }
  const components = { db: database, ledger, journal, storage, identity, masterKey, limits, security, serviceEvents, onError }
  return { ...components, passwords: new Passwords(), fold, paths, horizons, close }
}

function createIdentity(
  { config: { jwt }, database: { pool }, databaseUrl }: ServiceDependencies,
  { ledger, ...dependencies }: { masterKey: MasterKey; ledger: Ledger; onError: (error: Error) => void },
): Identity {
  return new Identity({
    ...dependencies,
    pool,
    connection: { connectionString: databaseUrl },
    loadApiKey: createApiKeyLoader(pool),
    writeKeyUses: createLastUsedWriter(pool),
    loadSession: createSessionLoader(pool),
    outside: jwt && { ...jwt, jwksUrl: new URL(jwt.jwksUrl), findOrCreateUser: createExternalUserFinder(pool, ledger) },
  })
}

type Base = Omit<Awaited<ReturnType<typeof openBaseServices>>, 'close'> & { scanner: ServiceDependencies['scanner'] | undefined }

function createServices(
  baseServices: Base,
  { config: { maxUploadMb, publicUrl, webhookAllowPrivate }, logger }: ServiceDependencies,
) {
  const { db, horizons } = baseServices
  const contexts = new FileContextService({ ...baseServices, maxUploadMb })
  const files = new FileService({ ...baseServices, contexts })
  const callLogs = new CallLogService({ db, horizon: horizons.calls })
  const log = new LogService({ ...baseServices, publicUrl })
  const rescans = new RescanService({ ...baseServices, contexts })
  const onMoveFailed = (error: unknown) =>
    logger.warn({ err: error }, 'A quarantined object could not be moved. The service will retry within a minute.')
  const quarantineMoves = new QuarantineMoves({ ...baseServices, onError: onMoveFailed })
  return {
    contexts,
    ...createIdentityServices(baseServices, contexts),
    downloads: new SignedDownloads(db.pool),
    rescans,
    quarantineMoves,
    quarantine: new QuarantineService({ ...baseServices, contexts, quarantineMoves }),
    callLogs,
    log,
    logShares: new LogShareService(baseServices),
    receipts: new ReceiptService({ ...baseServices, log, contexts, callLogs, publicUrl }),
    files,
    trash: new TrashService({ ...baseServices, contexts, files, rescans, quarantineMoves }),
    expiry: new ExpiryService(baseServices),
    holds: new HoldService({ ...baseServices, contexts }),
    auditLogs: new AuditLogService({ db, horizon: horizons.audits }),
    events: new EventService(baseServices),
    stats: new StatsService(db),
    idempotency: new IdempotencyService(db.pool),
    resumableUploads: new ResumableUploadService({ db, maxUploadMb }),
    uploadLinkLookup: new UploadLinkLookup(db.pool),
    uploadLinks: new UploadLinkService({ ...baseServices, contexts, publicUrl }),
    ...openWebhooks(baseServices, { allowPrivate: webhookAllowPrivate }),
    storageHealth: new StorageHealth(baseServices),
  }
}

function createIdentityServices(baseServices: Base, contexts: FileContextService) {
  const users = new UserService(baseServices)
  const secondFactors = new SecondFactorService(baseServices)
  return {
    users,
    secondFactors,
    tenants: new TenantService(baseServices),
    apiKeys: new ApiKeyService({ ...baseServices, contexts }),
    signIns: new SignInService({ ...baseServices, users, secondFactors }),
    sessions: new SessionService(baseServices),
  }
}
