import { randomBytes } from 'node:crypto'
import { Client, type ClientConfig, type Notification } from 'pg'
import type { CacheValidity, IdentityKind } from './identity-cache.js'

/** PostgreSQL channel for identity changes. Notifications are sent in the transaction that makes the change. */
const identityChannel = 'assay_identity'

export interface IdentityChange {
  kind: IdentityKind
  id: string
}

/** Notifies all replicas of a change, in the transaction of `client`. PostgreSQL delivers the notification after the commit. */
export async function notifyIdentityChange(
  client: { query(sql: string, values: unknown[]): Promise<unknown> },
  kind: IdentityKind,
  id: string,
) {
  await client.query('select pg_notify($1, $2)', [identityChannel, JSON.stringify({ kind, id } satisfies IdentityChange)])
}

/** Time for which cached values stay valid after the last echo. A change must reach every replica within a second. */
export const validityMs = 800
const echoIntervalMs = 250
const connectMs = 2_000
// Maximum time without an echo while queries succeed, for example if a pooler moved the LISTEN to another connection. After
// this time, the listener reconnects.
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
 * Listens for identity changes on a dedicated connection and detects missed notifications. PostgreSQL delivers notifications in
 * commit order, so an echo from this process confirms that all earlier changes have arrived. Without an echo, cached values
 * expire after 800 ms. Expiry does not depend on a timer, so a blocked event loop cannot extend it.
 */
export class IdentityListener implements CacheValidity {
  // Each process uses a separate echo channel, so that replicas do not wake each other.
  readonly #echoChannel = `assay_echo_${randomBytes(8).toString('hex')}`
  #client: Client | undefined
  // Connection whose echo is pending.
  #echoing: Client | undefined
  #provenUntil = 0
  #connectedAt = 0
  #closed = false
  #delay = backoffMs.first
  #timer: NodeJS.Timeout | undefined
  #connecting: Promise<void> | undefined

  constructor(private readonly options: IdentityListenerOptions) {}

  isTrusted(): boolean {
    return performance.now() < this.#provenUntil
  }

  /**
   * Connects to PostgreSQL. If this fails, retries in the background. In the meantime, every authentication queries the database.
   */
  start(): Promise<void> {
    this.#connecting = this.#connect()
    return this.#connecting
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#connecting
    clearTimeout(this.#timer)
    const client = this.#client
    this.#disconnect()
    await client?.end().catch(() => {})
  }

  async #connect(): Promise<void> {
    const client = new Client({
      ...this.options.connection,
      keepAlive: true,
      connectionTimeoutMillis: connectMs,
      application_name: 'assay identity',
    })
    client.on('error', (error) => this.#onConnectionLost(client, error))
    client.on('end', () => this.#onConnectionLost(client, new Error('the connection ended')))
    client.on('notification', (message) => this.#onNotification(client, message))
    try {
      await client.connect()
      // Echo queries have no timeout, because a blocked process may receive an echo in time but read it late.
      const listen = { text: `listen ${identityChannel}; listen ${this.#echoChannel}`, query_timeout: connectMs }
      await client.query(listen)
    } catch (error) {
      client.removeAllListeners('end')
      // Do not await `end`, because an unresponsive server would block it.
      client.end().catch(() => {})
      this.#scheduleReconnect(error as Error)
      return
    }
    if (this.#closed) return void (await client.end().catch(() => {}))
    this.#client = client
    this.#connectedAt = performance.now()
    this.options.onGap()
    this.#sendEcho(client)
  }

  #sendEcho(client: Client, hasReadMessages = false): void {
    if (this.#client !== client) return
    const now = performance.now()
    const silentMs = now - Math.max(this.#connectedAt, this.#provenUntil)
    if (silentMs > validityMs) {
      // After the event loop was blocked, timers run before network events. First read the messages that have already arrived.
      if (!hasReadMessages) return void setImmediate(() => this.#sendEcho(client, true))
      if (this.#echoing === client || silentMs > maxSilenceMs) {
        this.#onConnectionLost(client, new Error('the connection stopped responding'))
        return
      }
    }
    this.#notifyEchoChannel(client, now)
    this.#timer = setTimeout(() => this.#sendEcho(client), echoIntervalMs).unref()
  }

  #notifyEchoChannel(client: Client, now: number): void {
    if (this.#echoing === client) return
    this.#echoing = client
    client
      .query('select pg_notify($1, $2)', [this.#echoChannel, String(now)])
      .catch((error: Error) => this.#onConnectionLost(client, error))
      .finally(() => {
        if (this.#echoing === client) this.#echoing = undefined
      })
  }

  #onNotification(client: Client, { channel, payload }: Notification): void {
    if (this.#client !== client) return
    if (channel === this.#echoChannel) {
      this.#provenUntil = Math.max(this.#provenUntil, Number(payload) + validityMs)
      this.#delay = backoffMs.first
      return
    }
    const change = parseChange(payload)
    if (change) this.options.onChange(change)
    else this.options.onGap()
  }

  #onConnectionLost(client: Client, error: Error): void {
    if (this.#client !== client) return
    this.#disconnect()
    // Destroy the socket, because `end()` on a dead connection would wait for the TCP timeout.
    ;(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
    this.#scheduleReconnect(error)
  }

  #disconnect(): void {
    this.#client = undefined
    this.#provenUntil = 0
    clearTimeout(this.#timer)
  }

  #scheduleReconnect(error: Error): void {
    if (this.#closed) return
    this.options.onError?.(error)
    const jittered = this.#delay * (0.5 + Math.random())
    this.#delay = Math.min(this.#delay * 2, backoffMs.most)
    this.#timer = setTimeout(() => void this.start(), jittered).unref()
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
