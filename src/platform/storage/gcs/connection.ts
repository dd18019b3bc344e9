import http from 'node:http'
import https from 'node:https'
import { pipeline, type Readable, Transform } from 'node:stream'
import { traceHeaders } from '../../telemetry/tracing.js'
import { BucketAnswer, unavailable } from './deadline.js'

export interface BucketRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  url: string
  headers: Record<string, string | number>
  body?: Buffer | StreamedBody
  signal?: AbortSignal
  /** Another limit on silence, where the bucket has more to do than to answer. */
  idleMs?: number
}

/** A body that is read while it is sent, and does not stand in memory. */
export interface StreamedBody {
  byteLength: number
  read(): Readable
}

/** Connections of each kind that are kept for the next call; more are closed as soon as they have nothing to do. */
export const idleConnections = 32

export interface BucketReply {
  status: number
  headers: http.IncomingHttpHeaders
  body: http.IncomingMessage
}

/**
 * All requests to the bucket. Those of the library are not used: a truncated download never settles, a download that its reader drops
 * destroys the connections of all other calls in the process, and neither uploads nor retries can be cancelled.
 */
export class BucketConnection {
  readonly #http = new http.Agent({ keepAlive: true, maxFreeSockets: idleConnections })
  readonly #https = new https.Agent({ keepAlive: true, maxFreeSockets: idleConnections })
  readonly #idleMs: number

  constructor(idleMs: number) {
    this.#idleMs = idleMs
  }

  /** Answers with the head as soon as it is there; the body then fails by itself when it stands still. */
  send(request: BucketRequest): Promise<BucketReply> {
    const isSecure = request.url.startsWith('https:')
    const client = isSecure ? https : http
    const agent = isSecure ? this.#https : this.#http
    return new Promise((resolve, reject) => {
      const { method, signal, idleMs = this.#idleMs } = request
      const headers = { ...request.headers, ...traceHeaders(), 'Content-Length': request.body?.byteLength ?? 0 }
      const outgoing = client.request(request.url, { method, headers, agent, signal }, (body) => {
        body.on('error', () => {})
        resolve({ status: body.statusCode ?? 0, headers: body.headers, body })
      })
      outgoing.setTimeout(idleMs, () =>
        outgoing.destroy(Object.assign(new Error(`no data received for ${idleMs} ms`), { code: 'ETIMEDOUT' })),
      )
      outgoing.on('error', reject)
      // The only event after a response with status 101, which also removes the time-out and the signal.
      outgoing.on('close', () => reject(Object.assign(new Error('closed without a response'), { code: 'ECONNRESET' })))
      const { body } = request
      // A failure of either end is the request's own, which is listened to.
      if (body && 'read' in body) pipeline(body.read(), outgoing, () => {})
      else outgoing.end(body)
    })
  }

  close(): void {
    this.#http.destroy()
    this.#https.destroy()
  }
}

// A page of 1000 objects, whose names have at most 1024 bytes.
const maxTextLength = 4_000_000

export async function textOf(reply: BucketReply): Promise<string> {
  let text = ''
  for await (const chunk of reply.body.setEncoding('utf8')) {
    text += chunk
    if (text.length > maxTextLength) throw new BucketAnswer(reply.status, `a response of more than ${maxTextLength} characters`)
  }
  if (!reply.body.complete) throw Object.assign(new Error('the response was incomplete'), { code: 'ECONNRESET' })
  return text
}

/** The body as it comes, ending in `storageUnavailable` where it has not `length` bytes. */
export function contentOf(reply: BucketReply, content: { doing: string; length: number }): Readable {
  const { doing, length } = content
  let seen = 0
  const counted = new Transform({
    highWaterMark: 256 * 1024,
    transform(chunk: Buffer, _encoding, done) {
      seen += chunk.length
      done(null, chunk)
    },
    flush(done) {
      done(seen === length ? null : unavailable(doing, new Error(`${seen} of ${length} bytes were received`)))
    },
    destroy(error, done) {
      done(error && unavailable(doing, error))
    },
  })
  // The callback is the pipeline's end, reported through `counted`; dropping that closes the connection.
  return pipeline(reply.body, counted, () => {})
}
