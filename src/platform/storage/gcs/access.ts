import type { File, Storage } from '@google-cloud/storage'
import { BucketConnection, type BucketRequest, type BucketResponse, readText } from '../bucket/connection.js'
import { BucketError, type BucketLimits, defaultLimits, type RetryOptions, retry, toBucketError } from '../bucket/retry.js'
import { createClient, type GcsOptions, setTokenTimeout } from './client.js'

type CallOptions = Omit<RetryOptions, 'limits' | 'onTimeout'> & { limits?: BucketLimits }

/** Access to one bucket. The Google SDK provides credentials and signs URLs. All requests to the bucket use `connection`. */
export class GcsAccess {
  readonly limits: BucketLimits
  readonly connection: BucketConnection
  readonly emulated: boolean
  readonly #options: GcsOptions
  #client: Storage

  constructor(options: GcsOptions) {
    this.#options = options
    this.limits = { ...defaultLimits, ...options.limits }
    this.connection = new BucketConnection(this.limits.idleMs)
    this.emulated = options.emulatorHost !== undefined
    this.#client = createClient(options)
  }

  /** Returns a file of the Google SDK, which is used only to sign URLs. */
  getFile(name: string): File {
    return this.#client.bucket(this.#options.bucket).file(name)
  }

  get bucketName(): string {
    return this.#options.bucket
  }

  /** Base URL of the API, without a trailing slash. */
  get endpoint(): string {
    return this.#client.apiEndpoint
  }

  /** Calls `retry`. Creates a new client after a timeout. */
  call<T>(options: CallOptions, attempt: (signal: AbortSignal) => Promise<T>): Promise<T> {
    let client = this.#client
    return retry({ limits: this.limits, ...options, onTimeout: () => this.#replaceClient(client) }, async (signal) => {
      // Another call may have already replaced the client.
      client = this.#client
      if (!this.emulated) await setTokenTimeout(client, this.limits)
      return attempt(signal)
    })
  }

  /** Sends an authorized request to `path`, such as `/storage/v1/b/{bucket}/o`. */
  async send(path: string, request: Omit<BucketRequest, 'url'>): Promise<BucketResponse> {
    const url = `${this.endpoint}${path}`
    const authorization = this.emulated ? {} : { ...(await this.#client.authClient.getRequestHeaders(url)) }
    return this.connection.send({ ...request, url, headers: { ...authorization, ...request.headers } })
  }

  /** Sends a request with a JSON response. Throws a `BucketError` if the request fails. */
  async requestJson(path: string, request: Omit<BucketRequest, 'url'>): Promise<unknown> {
    const response = await this.send(path, { idleMs: this.limits.requestMs, ...request })
    const text = await readText(response)
    if (response.status < 200 || response.status > 299) throw toBucketError(response, text)
    // The response to a deletion is empty.
    return text === '' ? undefined : parseJson(text)
  }

  /** Returns the path of an object in the JSON API. */
  getObjectPath(name: string): string {
    return `/storage/v1/b/${this.bucketName}/o/${encodeURIComponent(name)}`
  }

  close(): void {
    this.connection.close()
  }

  // Replaces the client, because all of its calls wait for the same token request, which may never end.
  #replaceClient(client: Storage): void {
    if (this.emulated || client !== this.#client) return
    this.#client = createClient(this.#options)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new BucketError(502, 'an incomplete response')
  }
}
