import type { Place } from './process-number.js'

/** What is the same for all processes, and handed to each as it starts. */
export interface Beginning {
  database: { url: string; directUrl: string }
}

/** What a process tells when it serves. Secrets of the first start are in it, once. */
export interface Started<FirstRun = unknown> {
  port: number
  descriptions: { storage: string; scanner: string }
  firstRun: FirstRun | undefined
}

export interface State {
  /** Processes that serve. */
  running: number
  isDiskFull: boolean
}

export type ToProcess =
  | ({ kind: 'begin'; place: Place; state: State } & Beginning)
  | ({ kind: 'state' } & State)
  /** Its own metrics, for the supervisor. */
  | { kind: 'metrics wanted'; id: number }
  /** Those of all, as it had asked for. */
  | { kind: 'metrics of all'; id: number; text: string }

export type FromProcess =
  /** It hears now: what comes before, Node drops. */
  | { kind: 'hears' }
  | ({ kind: 'started' } & Started)
  | { kind: 'metrics'; id: number; text: string }
  | { kind: 'metrics of all wanted'; id: number }
