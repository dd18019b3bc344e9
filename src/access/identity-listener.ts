import { randomBytes } from 'node:crypto'
import { Client, type ClientConfig, type Notification } from 'pg'
import type { CacheValidity, IdentityKind } from './identity-cache.js'

/** Channel of changes to identities, announced in the transaction of the change: `select pg_notify('assay_identity', …)`. */
const identityChannel = 'assay_identity'

export interface IdentityChange {
  kind: IdentityKind
  id: string
}

/** Returns the payload that announces a change. */
const identityPayload = (kind: IdentityKind, id: string): string => JSON.stringify({ kind, id } satisfies IdentityChange)

/** Announces a change to every replica within the transaction of `client`, so that no replica hears of it before the commit. */
export async function announce(
  client: { query(sql: string, values: unknown[]): Promise<unknown> },
  kind: IdentityKind,
  id: string,
) {
  await client.query('select pg_notify($1, $2)', [identityChannel, identityPayload(kind, id)])
}

/** Time for which cached values are valid after the last echo. A change must reach every replica within a second. */
export const validityMs = 800
const echoIntervalMs = 250
const connectMs = 2_000
// Reconnects if queries succeed but no echo arrives, for example behind a pooler that moved the LISTEN to another connection.
const maxSilenceMs = 30_000
const backoffMs = { first: 50, most: 3_000 }

export interface IdentityListenerOptions {
  connection: ClientConfig
  onChange(change: IdentityChange): void
  /** Clear the cache, because changes may have been missed. */
  onGap(): void
  onError?(error: Error): void
}

/**
 * Listens for changes on its own connection, and detects if it no longer receives them. PostgreSQL delivers notifications in commit order,
 * so an echo that the service sends to itself proves that it has received every earlier change. If the connection is dead, no echo arrives,
 * and cached values expire after 800 ms. This needs no timer, so a busy event loop queries the database rather than using outdated values.
 */
export class IdentityListener implements CacheValidity {
  // Echoes use a channel of their own, so that replicas do not wake each other.
  readonly #echoChannel = `assay_echo_${randomBytes(8).toString('hex')}`
  #client: Client | undefined
  // Latest echo that was sent but not received yet.
  #echoing: Client | undefined
  #provenUntil = 0
  #connectedAt = 0
  #closed = false
  #delay = backoffMs.first
  #timer: NodeJS.Timeout | undefined
  #connecting: Promise<void> | undefined
  readonly #options: IdentityListenerOptions

  constructor(options: IdentityListenerOptions) {
    this.#options = options
  }

  trusted(): boolean {
    return performance.now() < this.#provenUntil
  }

  /** Connects. If that fails, retries in the background, and the service is slower but still correct. */
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
      ...this.#options.connection,
      keepAlive: true,
      connectionTimeoutMillis: connectMs,
      application_name: 'assay identity',
    })
    client.on('error', (error) => this.#onConnectionLost(client, error))
    client.on('end', () => this.#onConnectionLost(client, new Error('the connection ended')))
    client.on('notification', (message) => this.#onNotification(client, message))
    try {
      await client.connect()
      // Echoes have no time limit: if this process was blocked, the echo may have arrived without being read.
      const listen = { text: `listen ${identityChannel}; listen ${this.#echoChannel}`, query_timeout: connectMs }
      await client.query(listen)
    } catch (error) {
      client.removeAllListeners('end')
      // Not awaited, because a server that does not respond would block here.
      client.end().catch(() => {})
      this.#retry(error as Error)
      return
    }
    if (this.#closed) return void (await client.end().catch(() => {}))
    this.#client = client
    this.#connectedAt = performance.now()
    this.#options.onGap()
    this.#sendEcho(client)
  }

  #sendEcho(client: Client, hasRead = false): void {
    if (this.#client !== client) return
    const now = performance.now()
    const silentMs = now - Math.max(this.#connectedAt, this.#provenUntil)
    if (silentMs > validityMs) {
      // Timers run before network events: after a blocked event loop, messages that arrived in time are read first.
      if (!hasRead) return void setImmediate(() => this.#sendEcho(client, true))
      if (this.#echoing === client || silentMs > maxSilenceMs) {
        this.#onConnectionLost(client, new Error('the connection stopped responding'))
        return
      }
    }
    this.#echo(client, now)
    this.#timer = setTimeout(() => this.#sendEcho(client), echoIntervalMs).unref()
  }

  #echo(client: Client, now: number): void {
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
    if (change) this.#options.onChange(change)
    else this.#options.onGap()
  }

  #onConnectionLost(client: Client, error: Error): void {
    if (this.#client !== client) return
    this.#disconnect()
    // Not only `end()`: on a dead connection, it would wait for the TCP time-out.
    ;(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
    this.#retry(error)
  }

  #disconnect(): void {
    this.#client = undefined
    this.#provenUntil = 0
    clearTimeout(this.#timer)
  }

  #retry(error: Error): void {
    if (this.#closed) return
    this.#options.onError?.(error)
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
