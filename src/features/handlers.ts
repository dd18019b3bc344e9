import type { RequestListener, Server } from 'node:http'
import type { Express, RequestHandler } from 'express'
import type { GraphQLSchema } from 'graphql'
import { Admission, requireAccess } from '../access/admission.js'
import { JsonAdmission } from '../access/json-admission.js'
import { LiveStreams } from '../access/live-streams.js'
import { UploadAdmission, type UploadSlots } from '../access/upload-admission.js'
import { buildSchema } from '../api/graphql/schema.js'
import { openGraphql } from '../api/graphql/server.js'
import { createApplication } from '../api/http/application.js'
import type { ApplicationParts } from '../api/http/application-parts.js'
import { createCall } from '../api/http/caller.js'
import { openDashboard } from '../api/http/dashboard.js'
import { createDownloads } from '../api/http/downloads.js'
import { openGraphqlPage } from '../api/http/graphql-page.js'
import { Health } from '../api/http/health.js'
import type { Metrics } from '../api/http/metrics.js'
import { openSubscriptions } from '../api/http/subscriptions.js'
import { mountDocumentation } from '../api/openapi/documentation.js'
import { createLinkUpload } from '../api/rest/link-upload.js'
import { createRestHandler } from '../api/rest/router.js'
import type { VirusScanner } from '../inspection/scanners/virus-scanner.js'
import type { Origin } from '../platform/actor.js'
import type { AppParts } from '../platform/processes/application.js'
import type { Spool } from '../platform/spool/spool.js'
import type { BlobStorage } from '../platform/storage/blob-storage.js'
import { LocalStorage } from '../platform/storage/local/local.js'
import type { Tracing } from '../platform/telemetry/span.js'
import { megabyte } from '../platform/units.js'
import type { EventSource } from './events/event.resolver.js'
import { eventsEndpoint } from './events/event.service.js'
import { createEventStream } from './events/event-stream.js'
import { createExportRouter } from './exports/export.service.js'
import type { SelfTest } from './files/self-test.js'
import type { DownloadAborter } from './files/signed-downloads.js'
import type { UploadService } from './files/upload.service.js'
import { countStorageFindings } from './maintenance/reconciler.js'
import type { PreviewService } from './previews/preview.service.js'
import { createLogHandler } from './proof/log-handler.js'
import { createResolvers } from './resolvers.js'
import type { Services } from './services.js'
import { createUploadLinkHandler } from './upload-links/upload-link-handler.js'
import {
  createLinkUploadProtocol,
  createResumableUploadHandler,
  describeProtocol,
  exposedHeaders,
  type ProtocolParts,
} from './uploads/resumable-uploads.js'
import { createSessionHandler } from './users/session-endpoint.js'

interface HandlerParts extends AppParts {
  services: Services
  uploads: UploadService
  previews: PreviewService
  /** Store for uploaded blobs, which measures its operations and schedules the cleanup of failed writes. */
  uploadStorage: Pick<BlobStorage, 'put' | 'remove'>
  metrics: Metrics
  spool: Spool
  slots: UploadSlots
  selfTest: SelfTest
  scanner: VirusScanner & { url: string }
  tracing: Tracing | undefined
  downloadCuts: DownloadAborter
}

interface Handlers {
  app: Express
  listener: RequestListener
  /** Handles WebSocket connections, which bypass the server's request listener. */
  attach(server: Server): void
  warm(): Promise<void>
  announceStop(): void
  /** Closes all event streams and subscriptions. */
  endStreams(): void
  close(): Promise<void>
}

/** Functions that authenticate and admit calls, shared by all handlers. */
type CallDependencies = ReturnType<typeof createCallDependencies>

/** Opens all HTTP handlers: GraphQL, REST, subscriptions, downloads and exports. */
export async function openHandlers(parts: HandlerParts): Promise<Handlers> {
  const { config, services, uploads, previews, database, spool, logger, tracing } = parts
  const { identity, contexts } = services
  const schema = buildSchema(createResolvers({ ...services, uploads, previews }), (input) => contexts.findInputErrors(input))
  const onError = createErrorLogger(parts, 'A GraphQL request failed because of an internal error.')
  const graphql = await openGraphql({ schema, explorer: config.graphqlExplorer, onError })
  const callers = createCallDependencies(parts)
  const health = createHealthCheck(parts)
  const streams = { schema, streams: new LiveStreams(), isCredentialValid: createCredentialCheck(identity) }
  const subscriptions = createSubscriptions(parts, callers, streams)
  const { app, listener, getAddress } = createApplication({
    ...callers,
    rest: createRestApi(parts, schema),
    graphql: graphql.handle,
    download: createDownloadHandler(parts),
    exports: createExportHandler(parts, schema, callers),
    events: createEventHandler(parts, callers, streams),
    dashboard: await createDashboard(parts, callers),
    log: createLogHandler({ ...services, ...callers, hasFailedOften: services.limits.hasFailedOften.bind(services.limits) }),
    resumable: createResumableHandlers(parts, callers),
    uploadLinks: createUploadLinkEndpoints(parts, schema, callers),
    documentation: (app) => mountDocumentation(app, schema, { explorer: config.graphqlExplorer }),
    jwks: () => identity.getJwks(),
    health,
    spool,
    metricsToken: config.metricsToken,
    tracing,
    readsFromReplica: database.replica !== undefined,
    metricsElsewhere: config.metricsPort !== undefined,
    corsOrigins: config.corsOrigins,
    trustProxy: config.trustProxy,
    graphqlPage: config.graphqlExplorer ? await openGraphqlPage() : undefined,
    logger,
  })
  return {
    app,
    listener,
    attach: (server) => subscriptions.attach(server, getAddress),
    warm: graphql.warmUp,
    announceStop: () => health.beginShutdown(),
    endStreams: () => {
      // Subscriptions must be closed first, with code 1001 (going away), because clients do not reconnect after 4403.
      subscriptions.close()
      streams.streams.endAll()
    },
    close: () => graphql.close(),
  }
}

const createErrorLogger =
  ({ logger }: HandlerParts, message: string) =>
  (error: unknown): void =>
    logger.error({ err: error }, message)

function createCallDependencies(parts: HandlerParts) {
  const { identity, limits, security } = parts.services
  const callers = {
    authenticate: identity.authenticate,
    countRejectedCredential: limits.countRejectedCredential.bind(limits),
    admission: createAdmission(parts),
    security,
    metrics: parts.metrics,
  }
  return { ...callers, createCall: (request: Parameters<typeof createCall>[1]) => createCall(callers, request) }
}

interface Streams {
  schema: GraphQLSchema
  streams: LiveStreams
  isCredentialValid(rawHeaders: readonly string[], origin: Origin): Promise<boolean>
}

/** Returns a function that checks whether the credential of an open event stream is still valid. */
const createCredentialCheck =
  (identity: Services['identity']): Streams['isCredentialValid'] =>
  async (rawHeaders, origin) => {
    const found = await identity.authenticate(rawHeaders, origin)
    if (found.outcome !== 'actor') return false
    requireAccess(found.actor, eventsEndpoint)
    return true
  }

const createSubscriptions = (parts: HandlerParts, callers: CallDependencies, streams: Streams) =>
  openSubscriptions({
    ...callers,
    ...streams,
    endpoint: eventsEndpoint,
    source: { events: parts.services.events.subscribe.bind(parts.services.events) } satisfies EventSource,
    onError: createErrorLogger(parts, 'A GraphQL subscription failed because of an internal error.'),
  })

const createEventHandler = (
  parts: HandlerParts,
  { createCall }: CallDependencies,
  { isCredentialValid, ...streams }: Streams,
): RequestHandler =>
  createEventStream({
    ...parts.services,
    ...streams,
    createCall,
    isCredentialValid: (request) => isCredentialValid(request.rawHeaders, { ip: '', userAgent: '' }),
    onError: createErrorLogger(parts, 'An event stream failed because of an internal error.'),
  })

const createRestApi = (parts: HandlerParts, schema: GraphQLSchema): ApplicationParts['rest'] =>
  createRestHandler({
    schema,
    spool: parts.spool,
    contexts: parts.services.contexts,
    onError: createErrorLogger(parts, 'A REST request failed because of an internal error.'),
  })

async function createDashboard(
  { config, services }: HandlerParts,
  { createCall }: CallDependencies,
): Promise<ApplicationParts['dashboard']> {
  const secure = config.publicUrl.startsWith('https:')
  return config.dashboard ? openDashboard(createSessionHandler({ ...services, createCall, secure })) : undefined
}

function createAdmission({ config, services, slots, isDiskFull = () => false, logger }: HandlerParts): Admission {
  const { limits, ledger, tenants } = services
  const idleMs = config.uploadIdleSeconds * 1000
  return new Admission({
    limits,
    uploads: new UploadAdmission({
      maxUploadMb: config.maxUploadMb,
      idleMs,
      slots,
      isDiskFull,
      tenantRemaining: (actor) => tenants.getRemainingBytes(actor.tenantId),
    }),
    json: new JsonAdmission({ idleMs }),
    ledger,
    security: services.security,
    onOutage: (req, error) => logger.warn({ req, err: error }, 'A dependency is unavailable. The response is 503.'),
  })
}

function createDownloadHandler({ services, metrics, downloadCuts, logger }: HandlerParts): ApplicationParts['download'] {
  const { storage, downloads } = services
  if (!(storage instanceof LocalStorage)) return undefined
  return createDownloads({
    storage,
    findFile: (signed) => downloads.findFile(signed),
    spend: (signed) => downloads.consumeSingleUseUrl(signed),
    watch: (signed, cut) => downloadCuts.watchQuarantine(signed, cut),
    onDownload: (download) => {
      metrics.downloads.inc({ outcome: download.outcome })
      logger.info(download, 'A file was downloaded with a download URL.')
    },
  })
}

function createExportHandler(parts: HandlerParts, schema: GraphQLSchema, { createCall }: CallDependencies): RequestHandler {
  const { services, database } = parts
  return createExportRouter({
    ...services,
    schema,
    database,
    createCall,
    onError: createErrorLogger(parts, 'An export failed after it had started.'),
  })
}

function createProtocolParts(parts: HandlerParts): ProtocolParts {
  const { config, services, uploads, uploadStorage, spool, scanner } = parts
  return {
    prefix: new URL(config.publicUrl).pathname.replace(/\/$/, ''),
    rows: services.resumableUploads,
    uploads,
    storage: { ...uploadStorage, open: services.storage.open.bind(services.storage) },
    paths: services.paths,
    spool,
    proveScanner: async (actor, contextKey) => {
      const context = await services.contexts.find(actor, contextKey)
      if (context?.scanForViruses) await scanner.prove()
    },
    onError: createErrorLogger(parts, 'A resumable upload failed because of an internal error.'),
  }
}

const createResumableHandlers = (parts: HandlerParts, { createCall }: CallDependencies): ApplicationParts['resumable'] => ({
  describe: describeProtocol(parts.config.maxUploadMb * megabyte),
  exposedHeaders,
  handle: createResumableUploadHandler({ ...createProtocolParts(parts), createCall }),
})

function createUploadLinkEndpoints(parts: HandlerParts, schema: GraphQLSchema, callers: CallDependencies): RequestHandler {
  const { services, spool, config } = parts
  const onError = createErrorLogger(parts, 'An upload through a link failed because of an internal error.')
  return createUploadLinkHandler({
    ...callers,
    lookup: services.uploadLinkLookup,
    hasFailedOften: services.limits.hasFailedOften.bind(services.limits),
    upload: createLinkUpload({ schema, contexts: services.contexts, spool, onError }),
    tus: createLinkUploadProtocol(createProtocolParts(parts), config.maxUploadMb * megabyte),
  })
}

function createHealthCheck(parts: HandlerParts): Health {
  const { services, database, spool, scanner, isDiskFull = () => false, siblings, selfTest, logger } = parts
  return new Health({
    pool: database.pool,
    storage: services.storage,
    spool,
    scanner: scanner.url === 'none:' ? null : scanner,
    isDiskFull,
    processes: siblings && (() => ({ running: siblings.state.running, of: siblings.self.of })),
    replicaBehindMs: database.replica && (() => database.replica!.getLagMs()),
    storageFindings: () => countStorageFindings(database.pool),
    findRejectedStatements: () => selfTest.findFailure(),
    // Errors are ignored, because the database's health check already reports an outage.
    rescanFailures: () => services.rescans.getFailureSummary().catch(() => undefined),
    onDown: (dependency, error) => logger.warn({ dependency, err: error }, 'A dependency is down.'),
  })
}
