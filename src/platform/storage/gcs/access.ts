import { randomUUID } from 'node:crypto'
import { GoogleAuth } from 'google-auth-library'
import type { BucketMetadata } from '../bucket/bucket-api.js'
import type { BucketStorageOptions } from '../bucket/bucket-storage.js'
import { BucketConnection, type BucketRequest, type BucketResponse, readText } from '../bucket/connection.js'
import { BucketError, type BucketLimits, defaultLimits, type RetryOptions, retry, toBucketError } from '../bucket/retry.js'
import type { HmacKey, UrlSigner } from './sign-url.js'

export interface GcsOptions extends BucketStorageOptions {
  bucket: string
  /** Address of an emulator, as in STORAGE_EMULATOR_HOST. An emulator receives no credentials. */
  emulatorHost?: string
  /** Alternative address of the Google API, for example for Private Service Connect. It receives credentials. */
  endpoint?: string
  /** Key file of a service account. If undefined, the client uses application default credentials. */
  keyFile?: string
  /** Alternative address of the IAM endpoint `…/serviceAccounts/`, which signs URLs if no key is available. */
  signingEndpoint?: string
  hmac?: HmacKey
}

type CallOptions = Omit<RetryOptions, 'limits' | 'onTimeout'> & { limits?: BucketLimits }

const scopes = ['iam', 'cloud-platform', 'devstorage.full_control'].map((name) => `https://www.googleapis.com/auth/${name}`)

/** Access to one bucket. `google-auth-library` provides credentials. All requests to the bucket use `connection`. */
export class GcsAccess {
  readonly limits: BucketLimits
  readonly connection: BucketConnection
  readonly emulated: boolean
  readonly bucketName: string
  readonly endpoint: string
  #auth: GoogleAuth

  constructor(private readonly options: GcsOptions) {
    this.limits = { ...defaultLimits, ...options.limits }
    this.connection = new BucketConnection(this.limits.idleMs)
    this.emulated = options.emulatorHost !== undefined
    this.bucketName = options.bucket
    this.endpoint = toBaseUrl(options.emulatorHost ?? options.endpoint ?? 'storage.googleapis.com')
    this.#auth = this.#createAuth()
  }

  /**
   * Calls `retry`. After a timeout, replaces the credentials, because otherwise all calls would continue to wait for the same
   * token request.
   */
  withRetries<T>(options: CallOptions, attempt: (signal: AbortSignal) => Promise<T>): Promise<T> {
    let auth = this.#auth
    const onTimeout = () => {
      // Another call may have already replaced the credentials.
      if (auth === this.#auth) this.#auth = this.#createAuth()
    }
    return retry({ limits: this.limits, ...options, onTimeout }, async (signal) => {
      auth = this.#auth
      if (!this.emulated) await setTokenTimeout(auth, this.limits)
      return attempt(signal)
    })
  }

  /** Sends an authorized request to `path`, such as `/storage/v1/b/{bucket}/o`. */
  async send(path: string, request: Omit<BucketRequest, 'url'>): Promise<BucketResponse> {
    const url = `${this.endpoint}${path}`
    const authorization = this.emulated ? {} : { ...(await this.#auth.getRequestHeaders(url)) }
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

  /** Returns a signer that uses the service account's key if it is available, and otherwise the IAM API. */
  async getServiceAccountSigner(): Promise<UrlSigner> {
    const auth = this.#auth
    const { client_email } = await auth.getCredentials()
    return {
      algorithm: 'GOOG4-RSA-SHA256',
      accessId: String(client_email),
      sign: async (text) => Buffer.from(await auth.sign(text, this.options.signingEndpoint), 'base64'),
    }
  }

  getObjectPath(name: string): string {
    return `/storage/v1/b/${this.bucketName}/o/${encodeURIComponent(name)}`
  }

  close(): void {
    this.connection.close()
  }

  #createAuth(): GoogleAuth {
    return new GoogleAuth({
      ...(this.options.keyFile !== undefined && { keyFilename: this.options.keyFile }),
      scopes,
      // Prevents the library from searching for a project id (gcloud, metadata server, resource manager), which no call needs.
      projectId: 'none',
      clientOptions: { transporterOptions: { timeout: this.limits.requestMs } },
    })
  }
}

const toBaseUrl = (address: string) => (/^https?:\/\//.test(address) ? address : `https://${address}`).replace(/\/+$/, '')

/** Sets a timeout for the token exchange, which would otherwise wait forever. The library has no option for it. */
async function setTokenTimeout(auth: GoogleAuth, { requestMs }: BucketLimits): Promise<void> {
  const { stsCredential } = (await auth.getClient()) as unknown as StsClient
  if (stsCredential && stsCredential.transporter.defaults.timeout === undefined)
    stsCredential.transporter.defaults = { timeout: requestMs }
}

interface StsClient {
  stsCredential?: { transporter: { defaults: { timeout?: number } } }
}

/** Throws a `BucketError`, which causes a retry, if the text is not valid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new BucketError(502, 'an incomplete response')
  }
}

interface ObjectUpload {
  name: string
  bytes: Buffer
  /** Object resource: https://cloud.google.com/storage/docs/json_api/v1/objects#resource */
  resource: object
  /** Required generation of the existing object. '0' requires that no object exists. */
  ifGenerationMatch?: string
}

/** Uploads an object with one request: https://cloud.google.com/storage/docs/uploading-objects#uploading-an-object */
export async function uploadObject(access: GcsAccess, object: ObjectUpload, signal: AbortSignal): Promise<ObjectMetadata> {
  const query = new URLSearchParams({
    uploadType: 'multipart',
    name: object.name,
    ...(object.ifGenerationMatch !== undefined && { ifGenerationMatch: object.ifGenerationMatch }),
  })
  const path = `/upload/storage/v1/b/${access.bucketName}/o?${query}`
  const boundary = randomUUID()
  const { contentType = 'application/octet-stream' } = object.resource as { contentType?: string }
  const head = [
    `--${boundary}`,
    'Content-Type: application/json; charset=UTF-8',
    '',
    JSON.stringify(object.resource),
    `--${boundary}`,
    `Content-Type: ${contentType}`,
    '',
    '',
  ]
  const body = Buffer.concat([Buffer.from(head.join('\r\n')), object.bytes, Buffer.from(`\r\n--${boundary}--\r\n`)])
  const headers = { 'Content-Type': `multipart/related; boundary=${boundary}` }
  return parseObject(await access.requestJson(path, { method: 'POST', headers, body, signal, idleMs: access.limits.callMs }))
}

/** Metadata of an object: https://cloud.google.com/storage/docs/json_api/v1/objects#resource */
export interface ObjectMetadata extends BucketMetadata {
  crc32c: string
  generation: string
}

/** Parses the metadata of an object. Throws a `BucketError`, which causes a retry, if the response describes no object. */
export function parseObject(resource: unknown): ObjectMetadata {
  // Emulators that are written in Go omit a size of 0.
  const { size = 0, crc32c, generation, metadata } = (resource ?? {}) as Record<string, unknown>
  if (!/^\d+$/.test(String(size)) || !crc32c || !generation)
    throw new BucketError(502, 'the response does not describe an object')
  const { upload } = (metadata ?? {}) as { upload?: unknown }
  return { size: Number(size), crc32c: String(crc32c), generation: String(generation), upload }
}
