import type { Server } from 'node:http'
import type { Logger } from 'pino'
import type { Config } from '../config/config.js'
import type { Database } from '../db/client.js'
import type { Siblings } from './siblings.js'

/** Dependencies of the application. */
export interface AppParts {
  config: Config
  database: Database
  databaseUrl: string
  /** Reports whether the disk of the embedded database is full. The service then rejects uploads but still deletes files. */
  isDiskFull?: () => boolean
  logger: Logger
  /** The other processes behind the same port, if PROCESSES is above 1. They share the limits. */
  siblings?: Siblings
}

/** Credentials created by the first start. They are printed only once. */
export interface FirstRun {
  /** Undefined if the operator set BOOTSTRAP_API_KEY. */
  apiKey: string | undefined
  adminEmail: string
  /** Undefined if the operator set BOOTSTRAP_ADMIN_PASSWORD. */
  adminPassword: string | undefined
  /** Single-use token of the link that signs the first user in. */
  welcome: string
}

/** The application in a serving process. `app.ts` creates it. */
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
  /** Closes endless streams. Call it when the server starts to drain. */
  endStreams(): void
  /** Closes every component. Call it after the server has drained. */
  close(): Promise<void>
}

/** Loads the modules of the application, which takes half a second. Returns the function that creates it. */
export type LoadApplication = () => Promise<(parts: AppParts) => Promise<Application>>
