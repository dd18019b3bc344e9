import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type ClientConfig, type Notification } from 'pg'
import type { CacheValidity, IdentityKind } from './identity-cache.js'

/** PostgreSQL channel for identity changes. Notifications are sent in the transaction that makes the change. */
const identityChannel = 'assay_identity'

export interface IdentityChange {
  kind: IdentityKind
  id: string
}

/**
 * Notifies all replicas of a change, within the transaction of `client`. PostgreSQL delivers the notification after the commit.
 */
export async function notifyIdentityChange(
  client: { query(sql: string, values: unknown[]): Promise<unknown> },
  kind: IdentityKind,
  id: string,
) {
  await client.query('select pg_notify($1, $2)', [identityChannel, JSON.stringify({ kind, id } satisfies IdentityChange)])
}

/**
 * Time in milliseconds for which cached values stay valid after the last confirmed echo. It is below one second, because a change
 * must reach every replica within a second.
 */
export const validityMs = 800
const echoIntervalMs = 250
const connectMs = 2_000
// Maximum time in milliseconds without an echo while queries succeed, for example if a pooler runs LISTEN on another connection.
// After this time, the listener reconnects.
const maxSilenceMs = 30_000
const backoffMs = { first: 50, most: 3_000 }

export interface IdentityListenerOptions {
  connection: ClientConfig
  onChange(change: IdentityChange): void
  /** Called if notifications may have been missed. The callback must clear the cache. */
  onGap(): void
  onError: ((error: Error) => void) | undefined
}

/**
 * Listens for identity changes and detects missed notifications. PostgreSQL delivers notifications in commit order, so an echo
 * from this process confirms that all earlier changes have arrived. Without an echo, cached values expire after 800 ms, even if
 * the event loop is blocked.
 */
export class IdentityListener implements CacheValidity {
  // Each process uses a separate echo channel, so that replicas do not wake each other.
  readonly #echoChannel = `assay_echo_${randomBytes(8).toString('hex')}`
  readonly #closing = new AbortController()
  #client: Client | undefined
  #provenUntil = 0
  #delayMs = backoffMs.first
  #running: Promise<void> | undefined

  constructor(private readonly options: IdentityListenerOptions) {}

  isTrusted(): boolean {
    return performance.now() < this.#provenUntil
  }

  /** Connects to PostgreSQL. While the listener is not connected, every authentication queries the database. */
  start(): Promise<void> {
    return new Promise((resolve) => {
      this.#running = this.#run(resolve)
    })
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#client?.end().catch(() => {})
    await this.#running
  }

  /**
   * Listens for notifications, and reconnects after each error. Calls `onAttempted` when the first connection attempt has
   * succeeded or failed.
   */
  async #run(onAttempted: () => void): Promise<void> {
    const { connection, onError } = this.options
    const { signal } = this.#closing
    const settings = { keepAlive: true, connectionTimeoutMillis: connectMs, application_name: 'assay identity' }
    while (!signal.aborted) {
      const client = new Client({ ...connection, ...settings })
      this.#client = client
      try {
        await this.#listen(client, onAttempted)
      } catch (error) {
        if (!signal.aborted) onError?.(error as Error)
      }
      this.#client = undefined
      this.#provenUntil = 0
      client.removeAllListeners('notification')
      // Destroy the socket, because `end()` on a dead connection would wait for the TCP timeout.
      ;(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
      onAttempted()
      const jitteredMs = this.#delayMs * (0.5 + Math.random())
      this.#delayMs = Math.min(this.#delayMs * 2, backoffMs.most)
      await sleep(jitteredMs, undefined, { ref: false, signal }).catch(() => {})
    }
  }

  /** Listens on a connection. The returned promise never resolves. It rejects when the connection is lost. */
  #listen(client: Client, onConnected: () => void): Promise<never> {
    return new Promise((_resolve, reject) => {
      client.on('error', reject)
      client.on('end', () => reject(new Error('the connection ended')))
      client.on('notification', (message) => this.#onNotification(message))
      const connectAndEcho = async () => {
        await client.connect()
        const listen = { text: `listen ${identityChannel}; listen ${this.#echoChannel}`, query_timeout: connectMs }
        await client.query(listen)
        this.options.onGap()
        onConnected()
        await this.#sendEchoes(client, reject)
      }
      connectAndEcho().catch(reject)
    })
  }

  /** Sends echoes until the connection is closed. Calls `onLost` if the connection stops responding. */
  async #sendEchoes(client: Client, onLost: (error: Error) => void): Promise<void> {
    const connectedAt = performance.now()
    const getSilenceMs = () => performance.now() - Math.max(connectedAt, this.#provenUntil)
    let isSending = false
    const sendEcho = async () => {
      isSending = true
      // This query has no timeout. If the event loop is blocked, a response that arrived in time is read late and would be
      // mistaken for a timeout.
      await client.query('select pg_notify($1, $2)', [this.#echoChannel, String(performance.now())])
      isSending = false
    }
    while (this.#client === client) {
      if (!isSending) sendEcho().catch(onLost)
      await sleep(echoIntervalMs, undefined, { ref: false })
      if (getSilenceMs() <= validityMs) continue
      // After a blocked event loop resumes, timers run before network events, so let Node.js first read the messages that have
      // already arrived.
      await new Promise(setImmediate)
      if (getSilenceMs() > (isSending ? validityMs : maxSilenceMs)) onLost(new Error('the connection stopped responding'))
    }
  }

  #onNotification({ channel, payload }: Notification): void {
    if (channel === this.#echoChannel) {
      this.#provenUntil = Math.max(this.#provenUntil, Number(payload) + validityMs)
      this.#delayMs = backoffMs.first
      return
    }
    const change = parseChange(payload)
    if (change) this.options.onChange(change)
    else this.options.onGap()
  }
}

function parseChange(payload: string | undefined): IdentityChange | undefined {
  try {
    const { kind, id } = JSON.parse(payload ?? '') as Partial<IdentityChange>
    return typeof kind === 'string' && typeof id === 'string' ? { kind, id } : undefined
  } catch {
    return undefined
  }
}
