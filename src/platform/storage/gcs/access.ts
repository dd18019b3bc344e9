import type http from 'node:http'
import type { Bucket, Storage } from '@google-cloud/storage'
import { clientFor, type GcsOptions, hasten } from './client.js'
import { BucketConnection } from './connection.js'
import { type Attempts, defaultLimits, type GcsLimits, repeated } from './deadline.js'

type Asked = Omit<Attempts, 'limits' | 'onTimeout'> & { limits?: GcsLimits }

/** The way to one bucket: Google's client, and what it does not do by itself (deadlines, a fresh start, an end of its connections). */
export class GcsAccess {
  readonly limits: GcsLimits
  readonly connection: BucketConnection
  readonly emulated: boolean
  readonly #options: GcsOptions
  #client: Storage
  #bucket: Bucket
  #libraryAgent?: http.Agent

  constructor(options: GcsOptions) {
    this.#options = options
    this.limits = { ...defaultLimits, ...options.limits }
    this.connection = new BucketConnection(this.limits.idleMs)
    this.emulated = options.emulatorHost !== undefined
    this.#client = clientFor(options, this)
    this.#bucket = this.#client.bucket(options.bucket)
  }

  get bucket(): Bucket {
    return this.#bucket
  }

  /** Where the bucket is asked, without a slash at its end. */
  get endpoint(): string {
    return this.#client.apiEndpoint
  }

  /** `repeated`, keeping sight of the library's connections, and of a token that never comes. */
  call<T>(asked: Asked, attempt: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const client = this.#client
    return repeated({ limits: this.limits, ...asked, onTimeout: () => this.#renew(client) }, async (signal) => {
      if (!this.emulated) await hasten(client, this.limits)
      return attempt(signal).catch((error) => {
        this.noteAgent(error?.response)
        throw error
      })
    })
  }

  async authorization(url: string): Promise<Record<string, string>> {
    return this.emulated ? {} : { ...(await this.#client.authClient.getRequestHeaders(url)) }
  }

  /** The library shows the agents that keep its connections only through its answers. */
  noteAgent(response: unknown): void {
    const { agent } = (response as { request?: { agent?: http.Agent } } | undefined)?.request ?? {}
    if (agent) this.#libraryAgent = agent
  }

  close(): void {
    this.connection.close()
    this.#libraryAgent?.destroy()
  }

  // All calls of a client wait for one and the same request for a token. One that hangs (a mute metadata server) would be
  // waited for ever, so whatever got no answer in time gives the next calls a client that asks anew.
  #renew(client: Storage): void {
    if (this.emulated || client !== this.#client) return
    this.#client = clientFor(this.#options, this)
    this.#bucket = this.#client.bucket(this.#options.bucket)
  }
}
