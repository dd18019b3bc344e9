import type { Server } from 'node:http'
import type { Logger } from 'pino'
import type { Config } from '../config/config.js'
import type { Database } from '../db/client.js'
import type { Siblings } from './siblings.js'

export interface AppDependencies {
  config: Config
  database: Database
  databaseUrl: string
  /**
   * Returns true if the disk of the embedded database is full. If it is full, the service rejects uploads but still deletes
   * files.
   */
  isDiskFull?: () => boolean
  logger: Logger
  /** Connection to the other processes behind the port, if PROCESSES is above 1. All processes share the limits. */
  siblings?: Siblings
}

/** Credentials that the first start created. They are printed only once. */
export interface FirstRun {
  /** Undefined if the operator set BOOTSTRAP_API_KEY. */
  apiKey: string | undefined
  adminEmail: string
  /** Undefined if the operator set BOOTSTRAP_ADMIN_PASSWORD. */
  adminPassword: string | undefined
  /** Single-use token of the link that signs in the first user. */
  welcome: string
}

/** The application that `app.ts` creates in a serving process. */
export interface Application {
  readonly httpServer: Server
  readonly metricsServer: Server | undefined
  readonly firstRun: FirstRun | undefined
  readonly descriptions: { storage: string; scanner: string }
  /** Runs the first GraphQL documents, which take ten times as long as later ones. Must be called before the server listens. */
  warm(): Promise<void>
  /** Starts sweeps, partitions, retention, rescans and webhook deliveries. */
  startMaintenance(): void
  /** Makes the readiness check fail. Everything else continues to work. */
  announceStop(): void
  /** Closes endless streams. Must be called when the server starts to drain its connections. */
  endStreams(): void
  /** Closes all components. Must be called after the server has drained its connections. */
  close(): Promise<void>
}

/** Loads the application's modules, which takes half a second. Returns the function that creates the application. */
export type LoadApplication = () => Promise<(dependencies: AppDependencies) => Promise<Application>>
