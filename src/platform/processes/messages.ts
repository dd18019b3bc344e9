import type { DatabaseUrls } from '../db/database-url.js'
import type { ProcessNumber } from './process-number.js'

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

/** Information about a started process, which the process sends to the supervisor once it is ready. */
export interface Started {
  port: number
  descriptions: { storage: string; scanner: string }
  firstRun: FirstRun | undefined
}

export interface ClusterState {
  running: number
  isDiskFull: boolean
}

export type ToProcess =
  | { kind: 'start'; self: ProcessNumber; state: ClusterState; database: DatabaseUrls }
  | ({ kind: 'state' } & ClusterState)
  | { kind: 'metrics requested'; id: number }
  | { kind: 'all metrics'; id: number; text: string }

export type FromProcess =
  /** The process is ready to receive messages. Node.js drops messages that were sent earlier. */
  | { kind: 'listening' }
  | ({ kind: 'started' } & Started)
  | { kind: 'metrics'; id: number; text: string }
  | { kind: 'all metrics requested'; id: number }

/** Requests text, such as metrics, from another process. Each response contains the id of its request. */
export class TextRequests {
  readonly #pending = new Map<number, (text: string) => void>()
  #lastId = 0

  /** Sends a request and returns its response, or undefined if none arrives in time. */
  async send(sendRequest: (id: number) => void, timeoutMs: number): Promise<string | undefined> {
    const id = ++this.#lastId
    const text = await new Promise<string | undefined>((resolve) => {
      this.#pending.set(id, resolve)
      setTimeout(resolve, timeoutMs, undefined).unref()
      sendRequest(id)
    })
    this.#pending.delete(id)
    return text
  }

  receive(id: number, text: string): void {
    this.#pending.get(id)?.(text)
  }
}
