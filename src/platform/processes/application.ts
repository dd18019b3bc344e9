import type { Server } from 'node:http'
import type { Logger } from 'pino'
import type { Config } from '../config/config.js'
import type { Database } from '../db/client.js'
import type { Started } from './messages.js'
import type { Siblings } from './siblings.js'

export interface AppDependencies {
  config: Config
  database: Database
  databaseUrl: string
  /** True if the disk of the embedded database is full. In this state, the service rejects uploads but still deletes files. */
  isDiskFull?: () => boolean
  logger: Logger
  /** Connection to the other processes that share the port. Undefined if PROCESSES is 1. */
  siblings?: Siblings
}

/** The application that `app.ts` creates in a serving process. */
export interface Application extends Omit<Started, 'port'> {
  readonly httpServer: Server
  readonly metricsServer: Server | undefined
  /**
   * Executes sample GraphQL documents, because the first requests would otherwise take ten times as long. Must be called before
   * the server listens.
   */
  warm(): Promise<void>
  /** Starts the background tasks: sweeps, creation of partitions, retention, rescans and webhook deliveries. */
  startMaintenance(): void
  /** Makes the readiness check fail, so that load balancers stop sending requests. Everything else continues to work. */
  announceStop(): void
  /** Closes endless streams. Must be called when the server starts to drain its connections. */
  endStreams(): void
  /** Closes all components. Must be called after the server has drained its connections. */
  close(): Promise<void>
}

export type CreateApp = (dependencies: AppDependencies) => Promise<Application>

/** Loads the application's modules, which takes half a second. */
export type LoadApplication = () => Promise<CreateApp>
