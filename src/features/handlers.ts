import type { Server } from 'node:http'
import type { GraphQLSchema } from 'graphql'
import { Admission, requireAccess } from '../access/admission.js'
import { BodyAdmission } from '../access/body-admission.js'
import { LiveStreams, type UploadSlots } from '../access/concurrency.js'
import { buildSchema } from '../api/graphql/schema.js'
import { openGraphql } from '../api/graphql/server.js'
import { createApplication } from '../api/http/application.js'
import { createCall } from '../api/http/caller.js'
import { openDashboard } from '../api/http/dashboard.js'
import { createDownloadRequestHandler } from '../api/http/downloads.js'
import { openGraphqlPage } from '../api/http/graphql-handler.js'
import { Health } from '../api/http/health.js'
import type { Metrics } from '../api/http/metrics.js'
import { openSubscriptions } from '../api/http/subscriptions.js'
import { createLinkUploadHandler } from '../api/rest/link-upload.js'
import { createRestHandler } from '../api/rest/router.js'
import type { VirusScanner } from '../inspection/scanners/virus-scanner.js'
import type { Origin } from '../platform/actor.js'
import type { AppDependencies } from '../platform/processes/application.js'
import type { Spool } from '../platform/spool/spool.js'
import type { BlobStorage } from '../platform/storage/blob-storage.js'
import { LocalStorage } from '../platform/storage/local/local.js'
import type { Tracing } from '../platform/telemetry/tracing.js'
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
  createResumableLinkUploadHandler,
  createResumableUploadHandler,
  createTusHeadersHandler,
  exposedHeaders,
} from './uploads/resumable-uploads.js'
import type { UploadDependencies } from './uploads/upload-receiver.js'
import { createSessionHandler } from './users/session-endpoint.js'

interface HandlerDependencies extends AppDependencies {
  services: Services
  uploads: UploadService
  previews: PreviewService
  /** Blob store for uploads. It measures its operations and schedules the deletion of blobs whose write failed. */
  uploadStorage: Pick<BlobStorage, 'put' | 'remove'>
  metrics: Metrics
  spool: Spool
  slots: UploadSlots
  selfTest: SelfTest
  scanner: VirusScanner & { url: string }
  tracing: Tracing | undefined
  downloadCuts: DownloadAborter
}

/** Functions that authenticate and admit calls. All handlers share them. */
type CallDependencies = ReturnType<typeof createCallDependencies>

/** Opens all HTTP handlers: GraphQL, REST, subscriptions, downloads and exports. */
export async function openHandlers(dependencies: HandlerDependencies) {
  const { config, services, uploads, previews } = dependencies
  const { identity, contexts } = services
  const schema = buildSchema(createResolvers({ ...services, uploads, previews }), (input) => contexts.findInputErrors(input))
  const onError = createErrorLogger(dependencies, 'A GraphQL request failed because of an internal error.')
  const graphql = await openGraphql({ schema, explorer: config.graphqlExplorer, onError })
  const callers = createCallDependencies(dependencies)
  const health = createHealthCheck(dependencies)
  const streams = createStreamHandlers(dependencies, schema, callers)
  const { app, listener, getAddress } = createApplication({
    ...dependencies,
    ...callers,
    ...(await createFeatureHandlers(dependencies, schema, callers)),
    graphql: graphql.handle,
    events: streams.events,
    jwks: () => identity.getJwks(),
    health,
    graphqlPage: config.graphqlExplorer ? await openGraphqlPage() : undefined,
  })
  return {
    app,
    listener,
    /** Attaches the handler for WebSocket connections, because the server's request listener does not receive them. */
    attach: (server: Server) => streams.subscriptions.attach(server, getAddress),
    warm: graphql.warmUp,
    announceStop: () => health.beginShutdown(),
    /** Closes all event streams and subscriptions. */
    endStreams: streams.end,
    close: () => graphql.close(),
  }
}

const createErrorLogger =
  ({ logger }: HandlerDependencies, message: string) =>
  (error: unknown, call?: { id: string }): void =>
    logger.error({ ...(call && { req: call.id }), err: error }, message)

function createCallDependencies(dependencies: HandlerDependencies) {
  const { identity, limits, security } = dependencies.services
  const callers = {
    authenticate: identity.authenticate,
    limits,
    admission: createAdmission(dependencies),
    security,
    metrics: dependencies.metrics,
  }
  return { ...callers, createCall: (request: Parameters<typeof createCall>[1]) => createCall(callers, request) }
}

/** Creates event streams and subscriptions, which end when their credential becomes invalid. */
function createStreamHandlers(dependencies: HandlerDependencies, schema: GraphQLSchema, callDependencies: CallDependencies) {
  const { events, identity } = dependencies.services
  const streams = new LiveStreams()
  const isCredentialValid = async (rawHeaders: readonly string[], origin: Origin) => {
    const found = await identity.authenticate(rawHeaders, origin)
    if (found.outcome !== 'actor') return false
    requireAccess(found.actor, eventsEndpoint)
    return true
  }
  const subscriptions = openSubscriptions({
    ...callDependencies,
    schema,
    streams,
    isCredentialValid,
    endpoint: eventsEndpoint,
    source: { events: events.subscribe.bind(events) } satisfies EventSource,
    onError: createErrorLogger(dependencies, 'A GraphQL subscription failed because of an internal error.'),
  })
  return {
    subscriptions,
    events: createEventStream({
      schema,
      streams,
      events,
      createCall: callDependencies.createCall,
      isCredentialValid: (request) => isCredentialValid(request.rawHeaders, { ip: '', userAgent: '' }),
      onError: createErrorLogger(dependencies, 'An event stream failed because of an internal error.'),
    }),
    end: () => {
      // Close subscriptions with code 1001 (going away) before the streams end. Otherwise, they would be closed with code 4403,
      // after which clients do not reconnect.
      subscriptions.close()
      streams.endAll()
    },
  }
}

async function createFeatureHandlers(
  dependencies: HandlerDependencies,
  schema: GraphQLSchema,
  callDependencies: CallDependencies,
) {
  const { config, services, database, spool } = dependencies
  const { contexts } = services
  const { createCall } = callDependencies
  const secure = config.publicUrl.startsWith('https:')
  const maxBytes = config.maxUploadMb * megabyte
  const protocol = toUploadDependencies(dependencies)
  const onRestError = createErrorLogger(dependencies, 'A REST request failed because of an internal error.')
  const onLinkError = createErrorLogger(dependencies, 'An upload through a link failed because of an internal error.')
  const onExportError = createErrorLogger(dependencies, 'An export failed after it had started.')
  return {
    rest: createRestHandler({ schema, spool, contexts, onError: onRestError }),
    download: createDownloadHandler(dependencies),
    exports: createExportRouter({ ...services, schema, database, createCall, onError: onExportError }),
    dashboard: config.dashboard ? await openDashboard(createSessionHandler({ ...services, createCall, secure })) : undefined,
    log: createLogHandler({ ...services, ...callDependencies }),
    resumable: {
      describe: createTusHeadersHandler(maxBytes),
      exposedHeaders,
      handle: createResumableUploadHandler(protocol, createCall),
    },
    uploadLinks: createUploadLinkHandler({
      ...callDependencies,
      lookup: services.uploadLinkLookup,
      upload: createLinkUploadHandler({ schema, contexts, spool, onError: onLinkError }),
      tus: createResumableLinkUploadHandler(protocol, maxBytes),
    }),
  }
}

function createAdmission({ config, services, slots, isDiskFull = () => false, logger }: HandlerDependencies): Admission {
  const { limits, ledger, tenants } = services
  return new Admission({
    limits,
    bodies: new BodyAdmission({
      maxUploadMb: config.maxUploadMb,
      idleMs: config.uploadIdleSeconds * 1000,
      slots,
      isDiskFull,
      tenantRemaining: (actor) => tenants.getRemainingBytes(actor.tenantId),
    }),
    ledger,
    security: services.security,
    onOutage: (req, error) => logger.warn({ req, err: error }, 'A dependency is unavailable. The response is 503.'),
  })
}

function createDownloadHandler({ services, metrics, downloadCuts, logger }: HandlerDependencies) {
  const { storage, downloads } = services
  if (!(storage instanceof LocalStorage)) return undefined
  return createDownloadRequestHandler({
    storage,
    findFile: (signed) => downloads.findFile(signed),
    markUrlAsUsed: (signed) => downloads.consumeSingleUseUrl(signed),
    watchAvailability: (signed, abort) => downloadCuts.watchQuarantine(signed, abort),
    onDownload: (download) => {
      metrics.downloads.inc({ outcome: download.outcome })
      logger.info(download, 'A file was downloaded with a download URL.')
    },
  })
}

function toUploadDependencies(dependencies: HandlerDependencies): UploadDependencies {
  const { config, services, uploads, uploadStorage, spool, scanner, database } = dependencies
  return {
    pool: database.pool,
    prefix: new URL(config.publicUrl).pathname.replace(/\/$/, ''),
    rows: services.resumableUploads,
    uploads,
    storage: { ...uploadStorage, open: services.storage.open.bind(services.storage) },
    paths: services.paths,
    spool,
    verifyScanner: async (actor, contextKey) => {
      const context = await services.contexts.find(actor, contextKey)
      if (context?.scanForViruses) await scanner.verifyDetection()
    },
    onError: createErrorLogger(dependencies, 'A resumable upload failed because of an internal error.'),
  }
}

function createHealthCheck(dependencies: HandlerDependencies): Health {
  const { services, database, scanner, isDiskFull = () => false, selfTest } = dependencies
  return new Health({
    ...dependencies,
    storage: services.storage,
    scanner: scanner.url === 'none:' ? null : scanner,
    isDiskFull,
    storageFindings: () => countStorageFindings(database.pool),
    findRejectedStatements: () => selfTest.findFailure(),
    // Errors are ignored, because the database's health check already reports an outage.
    rescanFailures: () => services.rescans.getFailureSummary().catch(() => undefined),
  })
}
