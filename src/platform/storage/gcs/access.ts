import type { File, Storage } from '@google-cloud/storage'
import { clientFor, type GcsOptions, hasten } from './client.js'
import { BucketConnection, type BucketReply, type BucketRequest, textOf } from './connection.js'
import { type Attempts, answerOf, BucketAnswer, defaultLimits, type GcsLimits, repeated } from './deadline.js'

type Asked = Omit<Attempts, 'limits' | 'onTimeout'> & { limits?: GcsLimits }

/** Access to one bucket. Google's client provides credentials and signs URLs. All requests to the bucket use `connection`. */
export class GcsAccess {
  readonly limits: GcsLimits
  readonly connection: BucketConnection
  readonly emulated: boolean
  readonly #options: GcsOptions
  #client: Storage

  constructor(options: GcsOptions) {
    this.#options = options
    this.limits = { ...defaultLimits, ...options.limits }
    this.connection = new BucketConnection(this.limits.idleMs)
    this.emulated = options.emulatorHost !== undefined
    this.#client = clientFor(options)
  }

  /** For signing only. */
  file(name: string): File {
    return this.#client.bucket(this.#options.bucket).file(name)
  }

  get bucketName(): string {
    return this.#options.bucket
  }

  /** Where the bucket is asked, without a slash at its end. */
  get endpoint(): string {
    return this.#client.apiEndpoint
  }

  /** `repeated`, with a new client after a time-out. */
  call<T>(asked: Asked, attempt: (signal: AbortSignal) => Promise<T>): Promise<T> {
    let client = this.#client
    return repeated({ limits: this.limits, ...asked, onTimeout: () => this.#renew(client) }, async (signal) => {
      // An earlier attempt may have replaced it.
      client = this.#client
      if (!this.emulated) await hasten(client, this.limits)
      return attempt(signal)
    })
  }

  /** Sends an authorized request to `path`, such as `/storage/v1/b/{bucket}/o`. */
  async send(path: string, request: Omit<BucketRequest, 'url'>): Promise<BucketReply> {
    const url = `${this.endpoint}${path}`
    const authorization = this.emulated ? {} : { ...(await this.#client.authClient.getRequestHeaders(url)) }
    return this.connection.send({ ...request, url, headers: { ...authorization, ...request.headers } })
  }

  /** As `send`, for a response with JSON. Throws a `BucketAnswer` if it is not a success. */
  async json(path: string, request: Omit<BucketRequest, 'url'>): Promise<unknown> {
    const reply = await this.send(path, { idleMs: this.limits.requestMs, ...request })
    const text = await textOf(reply)
    if (reply.status < 200 || reply.status > 299) throw answerOf(reply, text)
    // A deletion has none.
    return text === '' ? undefined : parseJson(text)
  }

  /** Path of an object in the JSON API. */
  objectPath(name: string): string {
    return `/storage/v1/b/${this.bucketName}/o/${encodeURIComponent(name)}`
  }

  close(): void {
    this.connection.close()
  }

  // All calls of a client wait for one and the same request for a token. One that hangs (a mute metadata server) would be
  // waited for ever, so whatever got no answer in time gives the next calls a client that asks anew.
  #renew(client: Storage): void {
    if (this.emulated || client !== this.#client) return
    this.#client = clientFor(this.#options)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new BucketAnswer(502, 'an incomplete response')
  }
}
