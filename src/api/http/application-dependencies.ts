import { type Express, type RequestHandler } from 'express'
import type { Logger } from 'pino'
import type { Admission } from '../../access/admission.js'
import type { Authentication } from '../../access/authenticate.js'
import type { SecurityTrail } from '../../access/security-trail.js'
import type { Origin } from '../../platform/actor.js'
import type { Spool } from '../../platform/spool/spool.js'
import type { Tracing } from '../../platform/telemetry/tracing.js'
import type { GraphqlHandler } from '../graphql/server.js'
import type { RestHandler } from '../rest/router.js'
import type { Dashboard } from './dashboard.js'
import type { GraphqlPage } from './graphql-page.js'
import type { Health } from './health.js'
import type { Metrics } from './metrics.js'

export interface ApplicationDependencies {
  authenticate(rawHeaders: readonly string[], origin: Origin): Promise<Authentication>
  /** Counts a rejected credential that belongs to no tenant. Throws 429 if its address has sent too many such credentials. */
  countRejectedCredential(ip: string): Promise<void>
  admission: Admission
  security: SecurityTrail
  rest: RestHandler
  graphql: GraphqlHandler
  /** Serves downloads from the local store. Undefined for a bucket, which serves its own downloads. */
  download: RequestHandler<{ fileId: string }> | undefined
  exports: RequestHandler | undefined
  /** Serves event streams. The REST handler serves all other event requests. */
  events: RequestHandler
  log: RequestHandler
  /** Dashboard pages. Undefined if the dashboard is disabled. */
  dashboard: Dashboard | undefined
  /** Handlers for resumable uploads and for their OPTIONS requests. */
  resumable: { describe: RequestHandler; handle: RequestHandler; exposedHeaders: string[] }
  /** Serves upload links, which have separate CORS rules. */
  uploadLinks: RequestHandler
  documentation: (app: Express) => void
  jwks(): Promise<unknown>
  health: Health
  metrics: Metrics
  metricsToken: string | undefined
  /** Trace exporter. Undefined if tracing is disabled. */
  tracing: Tracing | undefined
  metricsElsewhere: boolean
  /** True if a read replica may serve lists. */
  readsFromReplica: boolean
  spool: Spool
  corsOrigins: string[]
  trustProxy: false | number | string[]
  /** GraphQL explorer at /graphql. Undefined if it is disabled. */
  graphqlPage: GraphqlPage | undefined
  logger: Logger
}
