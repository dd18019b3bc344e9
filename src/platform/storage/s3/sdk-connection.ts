import { Readable } from 'node:stream'
import { BucketConnection, type BucketRequest, percentEncode, readText } from '../bucket/connection.js'

interface SdkRequest {
  method: string
  protocol: string
  hostname: string
  port?: number
  path: string
  query?: Record<string, string | string[] | null>
  headers: Record<string, string>
  body?: unknown
}

interface SdkResponse {
  statusCode: number
  headers: Record<string, string>
  body: Readable
}

// Only this operation returns content. Other responses are short and are read into memory, up to a size limit.
const contentOperation = 'GetObject'

/** Sends the SDK's requests over the connections that all kinds of buckets share. These connections limit time and memory. */
export class SdkConnection {
  readonly #connection: BucketConnection
  #clockOffsetMs = 0

  constructor(idleMs: number) {
    this.#connection = new BucketConnection(idleMs)
  }

  /** Store clock minus local clock, in milliseconds, as of the last response. */
  get clockOffsetMs(): number {
    return this.#clockOffsetMs
  }

  async handle(request: SdkRequest, { abortSignal }: { abortSignal?: AbortSignal } = {}): Promise<{ response: SdkResponse }> {
    const { method, headers, body } = request
    const sent = { method: method as BucketRequest['method'], url: toUrl(request), headers, body: toBody(body, headers) }
    const response = await this.#connection.send({ ...sent, signal: abortSignal }).catch(rethrowWithCode)
    const date = Date.parse(response.headers.date ?? '')
    if (!Number.isNaN(date)) this.#clockOffsetMs = date - Date.now()
    const isContent = request.query?.['x-id'] === contentOperation && response.status < 300
    // Read every other response completely. The response to a HEAD request has no body, so its text is empty.
    const content = isContent ? response.body : Readable.from([Buffer.from(await readText(response))])
    return { response: { statusCode: response.status, headers: toHeaders(response.headers), body: content } }
  }

  updateHttpClientConfig(): void {}

  httpHandlerConfigs(): object {
    return {}
  }

  destroy(): void {
    this.#connection.close()
  }
}

// The SDK drops the codes of errors from other vm contexts, but the code determines whether a call is retried.
function rethrowWithCode(error: Error & { code?: string }): never {
  throw Object.assign(new Error(error.message, { cause: error }), { code: error.code })
}

function toUrl({ protocol, hostname, port, path, query = {} }: SdkRequest): string {
  const parameters = Object.entries(query).flatMap(([name, value]) =>
    [value ?? ''].flat().map((each) => `${percentEncode(name)}=${percentEncode(each)}`),
  )
  const authority = port === undefined ? hostname : `${hostname}:${port}`
  return `${protocol}//${authority}${path}${parameters.length > 0 ? `?${parameters.join('&')}` : ''}`
}

function toBody(body: unknown, headers: Record<string, string>): BucketRequest['body'] {
  if (body === undefined) return undefined
  if (body instanceof Readable) return { byteLength: Number(headers['content-length']), read: () => body }
  return typeof body === 'string' ? Buffer.from(body) : Buffer.from(body as Uint8Array)
}

const toHeaders = (headers: Record<string, string | string[] | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(',') : (value ?? '')]),
  )
