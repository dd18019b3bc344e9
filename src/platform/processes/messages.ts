import type { DatabaseUrls } from '../db/database-url.js'
import type { ProcessNumber } from './process-number.js'

/** Parameters that are the same for all processes. */
export interface StartParameters {
  database: DatabaseUrls
}

/** Sent once by each process that is ready. On the first start, the message also contains the generated credentials. */
export interface Started<FirstRun = unknown> {
  port: number
  descriptions: { storage: string; scanner: string }
  firstRun: FirstRun | undefined
}

export interface ClusterState {
  /** Number of processes that are ready. */
  running: number
  isDiskFull: boolean
}

export type ToProcess =
  | ({ kind: 'start'; self: ProcessNumber; state: ClusterState } & StartParameters)
  | ({ kind: 'state' } & ClusterState)
  /** Requests the metrics of this process for the supervisor. */
  | { kind: 'metrics requested'; id: number }
  /** Response with the metrics of all processes. */
  | { kind: 'all metrics'; id: number; text: string }

export type FromProcess =
  /** The process is ready to receive messages. Node.js drops messages that were sent earlier. */
  | { kind: 'listening' }
  | ({ kind: 'started' } & Started)
  | { kind: 'metrics'; id: number; text: string }
  | { kind: 'all metrics requested'; id: number }
