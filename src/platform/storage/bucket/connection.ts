import http from 'node:http'
import https from 'node:https'
import { pipeline, type Readable, Transform } from 'node:stream'
import { getTraceHeaders } from '../../telemetry/tracing.js'
import { BucketError, createUnavailableError } from './retry.js'

export interface BucketRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE'
  url: string
  headers: Record<string, string | number>
  body?: Buffer | StreamedBody
  signal?: AbortSignal
  /** Time without data after which the request fails. Defaults to the connection's timeout. */
  idleMs?: number
}

/** A request body that is produced while it is sent, so that it is never completely in memory. */
export interface StreamedBody {
  byteLength: number
  read(): Readable
}

/** Maximum number of idle connections per protocol. */
export const idleConnections = 32

export interface BucketResponse {
  status: number
  headers: http.IncomingHttpHeaders
  body: http.IncomingMessage
}

/**
 * Sends HTTP requests to a bucket. Replaces the HTTP clients of the SDKs, which hang on truncated downloads and cannot cancel
 * uploads.
 */
export class BucketConnection {
  readonly #http = new http.Agent({ keepAlive: true, maxFreeSockets: idleConnections })
  readonly #https = new https.Agent({ keepAlive: true, maxFreeSockets: idleConnections })

  constructor(private readonly idleMs: number) {}

  /** Resolves when the response headers arrive. The body fails if no data arrives for `idleMs`. */
  send(request: BucketRequest): Promise<BucketResponse> {
    const isSecure = request.url.startsWith('https:')
    const client = isSecure ? https : http
    const agent = isSecure ? this.#https : this.#http
    return new Promise((resolve, reject) => {
      const { method, signal, idleMs = this.idleMs } = request
      const headers = { ...request.headers, ...getTraceHeaders(), 'Content-Length': request.body?.byteLength ?? 0 }
      const outgoing = client.request(request.url, { method, headers, agent, signal }, (body) => {
        body.on('error', () => {})
        resolve({ status: body.statusCode ?? 0, headers: body.headers, body })
      })
      outgoing.setTimeout(idleMs, () =>
        outgoing.destroy(Object.assign(new Error(`no data received for ${idleMs} ms`), { code: 'ETIMEDOUT' })),
      )
      outgoing.on('error', reject)
      // After a response with status 101, Node.js emits only the 'close' event, and no longer applies the timeout.
      outgoing.on('close', () =>
        reject(Object.assign(new Error('the connection was closed without a response'), { code: 'ECONNRESET' })),
      )
      const { body } = request
      // The callback is empty, because an error in either stream also becomes an 'error' event of the request.
      if (body && 'read' in body) pipeline(body.read(), outgoing, () => {})
      else outgoing.end(body)
    })
  }

  close(): void {
    this.#http.destroy()
    this.#https.destroy()
  }
}

/** Encodes all characters except the unreserved characters of RFC 3986, as signatures require. */
export const percentEncode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)

export const encodePath = (name: string) => name.split('/').map(percentEncode).join('/')

// Maximum length of a response text. A page of a list is shorter: it has up to 1000 objects with names of up to 1024 bytes.
const maxTextLength = 4_000_000

export async function readText(response: BucketResponse): Promise<string> {
  let text = ''
  for await (const chunk of response.body.setEncoding('utf8')) {
    text += chunk
    if (text.length > maxTextLength)
      throw new BucketError(response.status, `the response is longer than ${maxTextLength} characters`)
  }
  if (!response.body.complete) throw Object.assign(new Error('the response was incomplete'), { code: 'ECONNRESET' })
  return text
}

/** Returns the body as a stream. The stream fails with `storageUnavailable` if the body does not have `length` bytes. */
export function readContent(body: Readable, content: { action: string; length: number }): Readable {
  const { action, length } = content
  let receivedBytes = 0
  const countingStream = new Transform({
    highWaterMark: 256 * 1024,
    transform(chunk: Buffer, _encoding, done) {
      receivedBytes += chunk.length
      done(null, chunk)
    },
    flush(done) {
      done(
        receivedBytes === length
          ? null
          : createUnavailableError(action, new Error(`${receivedBytes} of ${length} bytes were received`)),
      )
    },
    destroy(error, done) {
      done(error && createUnavailableError(action, error))
    },
  })
  // The callback is empty, because `countingStream` reports errors. If the stream is destroyed, the connection is closed.
  return pipeline(body, countingStream, () => {})
}
