// type-graphql's decorators need it before the first of them runs.
import 'reflect-metadata'
import type { Server } from 'node:http'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Actor } from './auth/actor.js'
import { suspendedTenant } from './auth/authenticate.js'
import { rateLimitHeaders } from './auth/rate-limits.js'
import { Spool } from './body/spool.js'
import { bootstrap, type FirstRun } from './bootstrap.js'
import type { Config } from './config/config.js'
import type { Database } from './db/client.js'
import { forbidden } from './errors.js'
import { createExports } from './exports/exports.js'
import { UploadService } from './files/upload.service.js'
import type { Gate } from './graphql/call.js'
import { buildSchema } from './graphql/schema.js'
import { openGraphql } from './graphql/server.js'
import { callOf } from './http/caller.js'
import { createEdge } from './http/edge.js'
import { Health } from './http/health.js'
import { httpServer } from './http/server.js'
import { ensurePartitions } from './ledger/partitions.js'
import { Maintenance } from './maintenance/maintenance.js'
import { OrphanedUploads } from './maintenance/orphaned-uploads.js'
import { measuredScanner, measuredStorage } from './measured-ports.js'
import { Metrics } from './metrics.js'
import { mountDocumentation } from './openapi/documentation.js'
import { resolversOf } from './resolvers.js'
import { createRestHandler } from './rest/router.js'
import { findLocalClamd, openScanner } from './scanner/index.js'
import { openServices, type Services } from './services.js'
import { LocalStorage } from './storage/local/local.js'
import { serveBlob } from './storage/serve-blob.js'
import { createValidator } from './validation/validator.js'

export interface AppParts {
  config: Config
  database: Database
  databaseUrl: string
  logger: Logger
}

/** The whole service, ready to listen. */
export interface App {
  httpServer: Server
  /** On the very first start. */
  firstRun: FirstRun | undefined
  descriptions: { storage: string; scanner: string }
  services: Services
  /** After the server has drained. */
  close(): Promise<void>
}

const yaraNote =
  'a handful of rules of our own for well-known tricks: no virus scanner. For one, run ClamAV and set SCANNER_URL=clamd://…'

/** The composition root: the only file that knows every room. */
export async function createApp({ config, database, databaseUrl, logger }: AppParts): Promise<App> {
  const onFault = (error: unknown, what: string) => logger.error({ err: error }, what)
  await ensurePartitions(database.pool)
  const services = await openServices({ config, database, databaseUrl, logger })
  const { ledger, identity, storage, contexts, files, tenants, callLogs, auditLogs, idempotency } = services

  const storageFindings = async () => database.prisma.storageFinding.count()
  const metrics = new Metrics({
    poolSize: () => ({ total: database.pool.totalCount, idle: database.pool.idleCount, waiting: database.pool.waitingCount }),
    ledgerWaiting: () => ledger.waiting,
    storageFindings,
  })
  ledger.onCommitted = (entry) => metrics.recorded(entry)
  const scannerUrl = config.scannerUrl ?? (await findLocalClamd()) ?? 'yara:'
  const scanner = measuredScanner(
    await openScanner(scannerUrl, {
      logger,
      workers: config.validationWorkers,
      ...(config.rulesDir && { rulesDir: config.rulesDir }),
    }),
    metrics,
  )
  const validator = createValidator({ scanner, workers: config.validationWorkers })
  const spool = await Spool.open({ directory: join(config.dataDir, 'spool'), syncAhead: storage.kind === 'local' })
  const limits = services.limits
  // Twice the deadline is the most that a bucket's upload may take; the minute is for what the bucket itself still does with it.
  const orphanedUploads = new OrphanedUploads(database.pool, config.storageDeadlineSeconds * 2000 + 60_000)
  ledger.onFailed = ({ upload }) => upload && orphanedUploads.note(upload.file.blobPath)
  const uploads = new UploadService({
    contexts,
    validator,
    storage: orphanedUploads.watching(measuredStorage(storage, metrics)),
    ledger,
    idempotency,
  })

  const gate: Gate = {
    record: (entry) => ledger.commit(entry),
    admit: async (call, actor) => {
      const state = await limits.call(actor)
      Object.assign(call.answerHeaders, rateLimitHeaders(state))
      if (!state.refusal) return
      call.answerHeaders['Retry-After'] = String(state.resetSeconds)
      throw state.refusal
    },
    outage: (call, error) => logger.warn({ req: call.id, err: error }, 'A dependency is away: a call was answered with 503.'),
    faultsOf: (input) => contexts.faultsOf(input),
  }
  const maintenance = new Maintenance({ ...services, database, orphanedUploads, logger, config })
  const schema = buildSchema(resolversOf({ ...services, uploads }))
  const graphql = await openGraphql({
    schema,
    explorer: config.graphqlExplorer,
    onFault: (error) => onFault(error, 'A GraphQL request failed for a reason of ours.'),
  })
  const uploadLimits = {
    maxUploadMb: config.maxUploadMb,
    idleMs: config.uploadIdleSeconds * 1000,
    tenantRemaining: (actor: Actor) => tenants.remainingBytes(actor.tenantId),
    slot: (actor: Actor) => limits.upload(actor),
  }
  const rest = createRestHandler({
    schema,
    spool,
    uploads: uploadLimits,
    contextLimit: async (actor, contextKey) => {
      const context = await contexts.findOnce(actor, contextKey)
      return context?.status === 'active' ? context.maxFileSizeMb * 1_048_576 : undefined
    },
    onFault: (error) => onFault(error, 'A REST request failed for a reason of ours.'),
  })
  const doors: Parameters<typeof callOf>[0] = {
    authenticate: (rawHeaders, origin) => identity.authenticate(rawHeaders, origin),
    refusedCredential: (ip) => limits.failedCredential(ip),
    gate,
    metrics,
  }
  const app = createEdge({
    ...doors,
    rest,
    graphql: graphql.handle,
    download:
      storage instanceof LocalStorage
        ? serveBlob({
            storage,
            findFile: async (fileId) => {
              const file = await files.findForDownload(fileId)
              // Every credential of a suspended tenant gets a clear 403, and a signed URL is one.
              if (file?.tenantStatus === 'suspended') throw forbidden(suspendedTenant)
              return file
            },
          })
        : undefined,
    exports: createExports({
      schema,
      database,
      callLogs,
      auditLogs,
      callOf: (request) => callOf(doors, request),
      onFault: (error) => onFault(error, 'An export failed half-way.'),
    }),
    documentation: (express) => mountDocumentation(express, schema),
    jwks: () => identity.sessions.jwks(),
    health: new Health({ pool: database.pool, storage, scanner: scannerUrl === 'none:' ? null : scanner, storageFindings }),
    spool,
    uploads: uploadLimits,
    corsOrigins: config.corsOrigins,
    trustProxy: config.trustProxy,
    explorer: config.graphqlExplorer,
    logger,
  })
  const firstRun = await bootstrap(config, database, services)
  maintenance.start()
  return {
    httpServer: httpServer(app),
    firstRun,
    descriptions: { storage: storage.description, scanner: await describeScanner(scannerUrl, scanner) },
    services,
    close: async () => {
      await maintenance.close()
      await graphql.close()
      await validator.close()
      await scanner.close()
      await services.close()
      await spool.close()
    },
  }
}

async function describeScanner(
  url: string,
  scanner: { identity(): Promise<{ name: string; version: string }> },
): Promise<string> {
  const engine = await scanner.identity().catch(() => null)
  const name = engine ? `${engine.name} ${engine.version} (${url})` : `${url} (not answering yet)`
  return url === 'yara:' ? `${name}\n${yaraNote}` : name
}
