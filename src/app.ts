// type-graphql's decorators need it before the first of them runs.
import 'reflect-metadata'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { ApiKeyResolver } from './api-keys/api-key.resolver.js'
import { AuditLogResolver } from './audit-logs/audit-log.resolver.js'
import { rateLimitHeaders } from './auth/rate-limits.js'
import { bootstrap, type FirstRun } from './bootstrap.js'
import { CallLogResolver } from './call-logs/call-log.resolver.js'
import type { Config } from './config.js'
import type { Database } from './db/client.js'
import { FileContextResolver } from './file-contexts/file-context.resolver.js'
import { FileResolver } from './files/file.resolver.js'
import { UploadService } from './files/upload.service.js'
import { createValidator } from './files/validation/validator.js'
import type { Gate } from './graphql/call.js'
import { buildSchema } from './graphql/schema.js'
import { openGraphql } from './graphql/server.js'
import { mountDocumentation } from './http/documentation.js'
import { createEdge } from './http/edge.js'
import { Health } from './http/health.js'
import { ensurePartitions } from './ledger/partitions.js'
import { Maintenance } from './maintenance/maintenance.js'
import { StorageHealthResolver } from './maintenance/storage-health.resolver.js'
import { measuredScanner, measuredStorage } from './measured-ports.js'
import { Metrics } from './metrics.js'
import { createRestHandler } from './rest/router.js'
import { findLocalClamd, openScanner } from './scanner/index.js'
import { openServices, type Services } from './services.js'
import { Spool } from './spool.js'
import { StatsResolver } from './stats/stats.resolver.js'
import { LocalStorage } from './storage/local.js'
import { serveBlob } from './storage/serve-blob.js'
import { TenantResolver } from './tenants/tenant.resolver.js'
import { UserResolver } from './users/user.resolver.js'

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
  const {
    ledger,
    identity,
    storage,
    contexts,
    files,
    apiKeys,
    tenants,
    users,
    signIns,
    callLogs,
    auditLogs,
    stats,
    charts,
    idempotency,
  } = services

  const metrics = new Metrics({
    poolSize: () => ({ total: database.pool.totalCount, idle: database.pool.idleCount, waiting: database.pool.waitingCount }),
    ledgerWaiting: () => ledger.waiting,
    storageFindings: async () => database.prisma.storageFinding.count(),
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
  const spool = await Spool.open({ directory: join(config.dataDir, 'spool') })
  const limits = services.limits
  const uploads = new UploadService({ contexts, validator, storage: measuredStorage(storage, metrics), ledger, idempotency })

  const gate: Gate = {
    record: (entry) => ledger.commit(entry),
    admit: async (call, actor) => void Object.assign(call.answerHeaders, rateLimitHeaders(await limits.call(actor))),
  }
  const maintenance = new Maintenance({ ...services, database, logger, config })
  const schema = buildSchema([
    new TenantResolver(tenants),
    new UserResolver(users, signIns),
    new ApiKeyResolver(apiKeys, idempotency, callLogs),
    new FileContextResolver(contexts, idempotency),
    new FileResolver(files, uploads, contexts),
    new CallLogResolver(callLogs),
    new AuditLogResolver(auditLogs),
    new StatsResolver(stats, charts),
    new StorageHealthResolver(services.storageHealth),
  ])
  const graphql = await openGraphql({
    schema,
    explorer: config.graphqlExplorer,
    onFault: (error) => onFault(error, 'A GraphQL request failed for a reason of ours.'),
  })
  const rest = createRestHandler({
    schema,
    spool,
    maxUploadMb: config.maxUploadMb,
    contextLimit: async (actor, contextKey) => {
      const context = await contexts.find(actor, contextKey)
      return context && context.maxFileSizeMb * 1_048_576
    },
    tenantRemaining: (actor) => tenants.remainingBytes(actor.tenantId),
    uploadSlot: (actor) => limits.upload(actor),
    onFault: (error) => onFault(error, 'A REST request failed for a reason of ours.'),
  })
  const app = createEdge({
    authenticate: (rawHeaders, origin) => identity.authenticate(rawHeaders, origin),
    refusedCredential: (ip) => limits.failedCredential(ip),
    gate,
    rest,
    graphql: graphql.handle,
    download:
      storage instanceof LocalStorage ? serveBlob({ storage, findFile: (fileId) => files.findForDownload(fileId) }) : undefined,
    exports: undefined,
    documentation: (express) => mountDocumentation(express, schema),
    jwks: () => identity.sessions.jwks(),
    health: new Health({ pool: database.pool, storage, scanner }),
    metrics,
    spool,
    uploadSlot: (actor) => limits.upload(actor),
    maxUploadMb: config.maxUploadMb,
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

function httpServer(app: Parameters<typeof createServer>[1]): Server {
  const server = createServer(
    { headersTimeout: 20_000, requestTimeout: 0, keepAliveTimeout: 65_000, maxHeaderSize: 16_384, highWaterMark: 256 * 1024 },
    app,
  )
  // Answered by whoever wants the body, and only then (Expect: 100-continue).
  server.on('checkContinue', (request, response) => server.emit('request', request, response))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
    const [status, reason] =
      error.code === 'HPE_HEADER_OVERFLOW'
        ? [431, 'The headers are larger than 16 KiB.']
        : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
          ? [408, 'The headers did not come in time.']
          : [400, 'This is no well-formed HTTP request.']
    const body = JSON.stringify({
      status: 'ERROR',
      message: reason,
      error: { code: 'bad_user_input', details: {} },
      timestamp: new Date().toISOString(),
    })
    socket.end(
      `HTTP/1.1 ${status} Bad Request\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    )
  })
  return server
}

async function describeScanner(
  url: string,
  scanner: { identity(): Promise<{ name: string; version: string }> },
): Promise<string> {
  const engine = await scanner.identity().catch(() => null)
  const name = engine ? `${engine.name} ${engine.version} (${url})` : `${url} (not answering yet)`
  return url === 'yara:' ? `${name}\n${yaraNote}` : name
}
