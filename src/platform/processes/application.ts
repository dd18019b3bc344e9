import type { Server } from 'node:http'
import type { Logger } from 'pino'
import type { Config } from '../config/config.js'
import type { Database } from '../db/client.js'
import type { Siblings } from './siblings.js'

/** What the application is built from. */
export interface AppParts {
  config: Config
  database: Database
  databaseUrl: string
  /** Reports whether the disk of the embedded database is full. The service then rejects uploads but still deletes files. */
  isDiskFull?: () => boolean
  logger: Logger
  /** The other processes behind the same port, if PROCESSES is above 1. Limits are shared with them. */
  siblings?: Siblings
}

/** Credentials that the first start creates. They are shown once. */
export interface FirstRun {
  /** Undefined if the operator chose it. */
  apiKey: string | undefined
  adminEmail: string
  /** Undefined if the operator chose the password. */
  adminPassword: string | undefined
  /** Token of the link that signs the first user in to the dashboard, once. */
  welcome: string
}

/** The application as a serving process runs it. `app.ts` builds it. */
export interface Application {
  readonly httpServer: Server
  readonly metricsServer: Server | undefined
  readonly firstRun: FirstRun | undefined
  readonly descriptions: { storage: string; scanner: string }
  /** Runs the first GraphQL documents, which take ten times as long as later ones. Call it before the server listens. */
  warm(): Promise<void>
  /** Starts sweeps, partitions, retention, rescans and webhook deliveries. */
  startMaintenance(): void
  /** Makes readiness fail. Everything else continues. */
  announceStop(): void
  /** Ends streams that would otherwise never end. Call it when the server starts to drain. */
  endStreams(): void
  /** Closes every component. Call it after the server has drained. */
  close(): Promise<void>
}

/** Loads the application's modules, which takes half a second, and returns the function that builds it. */
export type LoadApplication = () => Promise<(parts: AppParts) => Promise<Application>>
