import { type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePort } from '../free-port.js'
import { type BucketCall, type Fault, FaultPlan } from './faults.js'
import { BucketError, Objects, type StoredObject, toObjectResource } from './objects.js'
import { findSignatureError } from './signatures.js'
import { Sessions, sendIncomplete, storeMultipart } from './uploads.js'

export interface BucketOptions {
  name: string
  /** Public keys of the accepted service accounts. */
  accounts?: Record<string, KeyObject>
  /** Secrets of the accepted HMAC keys by access id. */
  hmacKeys?: Record<string, string>
  /** Validates bearer tokens. Without this option, no token is required, as in other emulators. */
  isKnownToken?: (token: string) => boolean
  tls?: { key: string; cert: string }
}

interface Call {
  kind: BucketCall
  request: IncomingMessage
  response: ServerResponse
  url: URL
  object: string
  fault?: Fault
}

/**
 * An emulator of Google Cloud Storage with one in-memory bucket and part of the JSON API. It verifies V4 signatures, CRC32C,
 * preconditions, ranges and the resumable protocol, and injects faults. Google may behave differently.
 */
export class BucketEmulator {
  readonly objects = new Objects()
  readonly sessions = new Sessions(this.objects)
  readonly faults = new FaultPlan()
  readonly calls: BucketCall[] = []
  readonly traceparents: string[] = []
  /** Omits a size of 0, like emulators written in Go. */
  omitsZeroSize = false
  readonly #sockets = new Set<Socket>()
  readonly #underWay = new Set<ServerResponse>()
  #server?: http.Server
  #port = 0

  constructor(private readonly options: BucketOptions) {}

  static async start(options: BucketOptions): Promise<BucketEmulator> {
    const bucket = new BucketEmulator(options)
    await bucket.start()
    return bucket
  }

  get url(): string {
    return `${this.options.tls ? 'https' : 'http'}://127.0.0.1:${this.#port}`
  }

  get connections(): number {
    return this.#sockets.size
  }

  /** Number of requests without a complete response. */
  get busy(): number {
    return this.#underWay.size
  }

  get isUp(): boolean {
    return this.#server !== undefined
  }

  /** Starts the emulator on the same port as before. */
  async start(): Promise<void> {
    const onRequest: http.RequestListener = (request, response) => void this.#handleRequest(request, response)
    const { tls } = this.options
    const server = tls ? https.createServer(tls, onRequest) : http.createServer(onRequest)
    // Idle connections stay open because closing one would be an unplanned fault.
    server.keepAliveTimeout = 0
    server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
    // Reuses a port that stays free while the emulator is stopped.
    this.#port ||= Number(await findFreePort())
    await once(server.listen(this.#port, '127.0.0.1'), 'listening')
    this.#server = server
  }

  /** Stops listening and closes every connection. */
  async stop(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (!server) return
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  async #handleRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#underWay.add(response)
    response.on('close', () => this.#underWay.delete(response))
    const url = new URL(request.url ?? '/', this.url)
    try {
      const { kind, object } = this.#route(request, url)
      this.calls.push(kind)
      if (request.headers.traceparent) this.traceparents.push(String(request.headers.traceparent))
      this.#assertToken(kind, request)
      await this.#runCall({ kind, object, url, request, response, fault: this.faults.takeNext(kind) })
    } catch (error) {
      if (response.headersSent || response.destroyed) return
      const status = error instanceof BucketError ? error.status : 500
      sendJson(response, status, { error: { code: status, message: String((error as Error).message), errors: [] } })
    }
  }

  #route(request: IncomingMessage, url: URL): { kind: BucketCall; object: string } {
    const api = /^(\/upload)?\/storage\/v1\/b\/([^/]+)\/o(?:\/(.+))?$/.exec(url.pathname)
    if (!api) return this.#routeSignedUrl(url)
    const copied = /^(.+)\/rewriteTo\/b\/[^/]+\/o\/[^/]+$/.exec(api[3] ?? '')
    if (copied) return { kind: 'copy', object: decodeURIComponent(copied[1]!) }
    if (api[2] !== this.options.name) throw new BucketError(404, 'The specified bucket does not exist.')
    const object = decodeURIComponent(api[3] ?? '')
    const { method } = request
    if (api[1])
      return {
        kind: url.searchParams.has('upload_id')
          ? 'chunk'
          : url.searchParams.get('uploadType') === 'resumable'
            ? 'session'
            : 'upload',
        object,
      }
    if (method === 'DELETE') return { kind: 'delete', object }
    if (!object) return { kind: 'list', object }
    return { kind: url.searchParams.get('alt') === 'media' ? 'media' : 'metadata', object }
  }

  // A signature or a session URL is sufficient authorization.
  #assertToken(kind: BucketCall, { headers }: IncomingMessage): void {
    const { isKnownToken: knowsToken } = this.options
    if (!knowsToken || kind === 'signed' || kind === 'chunk') return
    if (!knowsToken(/^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? ''))
      throw new BucketError(401, 'Invalid Credentials')
  }

  #routeSignedUrl(url: URL): { kind: BucketCall; object: string } {
    const [, bucket, ...rest] = url.pathname.split('/')
    if (bucket !== this.options.name) throw new BucketError(404, 'The specified bucket does not exist.')
    return { kind: 'signed', object: decodeURIComponent(rest.join('/')) }
  }

  async #runCall(call: Call): Promise<void> {
    const { fault, request, response } = call
    // Reads the request because otherwise the server would not detect a closed connection.
    if (fault?.kind === 'silent') return void request.resume()
    if (fault?.kind === 'cut' && !hasRequestBody(call.kind)) {
      if (Number(request.headers['content-length'] ?? 1) > 0) request.once('data', () => request.socket.destroy())
      else request.socket.destroy()
      return
    }
    const body = await readBody(request)
    if (fault?.kind === 'slow') await sleep(fault.ms)
    if (fault?.kind === 'status') {
      if (!fault.headers && fault.body === undefined) throw new BucketError(fault.status, 'Error injected by the test.')
      return void response.writeHead(fault.status, fault.headers).end(fault.body)
    }
    if (fault?.kind === 'held') {
      if (fault.done) await this.#perform({ ...call, response: new http.ServerResponse(request) }, body)
      return fault.reached()
    }
    if (fault?.kind === 'lost') {
      const response = new http.ServerResponse(request)
      await this.#perform({ ...call, response: response }, body)
      // Destroys the socket because the request has already ended.
      request.socket.destroy()
      return
    }
    await this.#perform(call, body)
    if (!response.writableEnded) response.end()
  }

  async #perform(call: Call, body: Buffer): Promise<void> {
    const { request, response, url, object } = call
    const query = url.searchParams
    const fault = call.fault?.kind
    const wrong = fault === 'wrong-crc32c' || fault === 'wrong-size' ? fault : undefined
    const respondWithObject = (stored: StoredObject) =>
      sendJson(response, 200, this.#describeObject(stored, wrong), fault === 'half')
    const doing: Record<BucketCall, () => void | Promise<void>> = {
      upload: () => respondWithObject(storeMultipart(this.objects, request, body, query)),
      session: () =>
        void response.writeHead(200, { Location: `${url.href}&upload_id=${this.sessions.begin(request, body, query)}` }).end(),
      chunk: () => this.#receiveChunk(call, body, respondWithObject),
      metadata: () => respondWithObject(this.objects.get(object)),
      media: () => this.#sendObject(call, {}),
      signed: () => this.#serveSignedUrl(call),
      list: () => {
        const { items, nextPageToken } = this.objects.listPage(query)
        sendJson(
          response,
          200,
          { kind: 'storage#objects', items: items.map((item) => this.#describeObject(item)), nextPageToken },
          fault === 'half',
        )
      },
      copy: () => {
        const name = decodeURIComponent(/[^/]+$/.exec(url.pathname)![0])
        const { bytes, contentType, metadata } = this.objects.get(object)
        this.objects.assertGeneration(name, query.get('ifGenerationMatch'))
        const { size } = toObjectResource(this.objects.store({ name, contentType, metadata }, bytes))
        sendJson(
          response,
          200,
          { kind: 'storage#rewriteResponse', done: true, objectSize: size, totalBytesRewritten: size },
          fault === 'half',
        )
      },
      delete: () => {
        this.objects.get(object)
        this.objects.assertGeneration(object, query.get('ifGenerationMatch'))
        this.objects.remove(object)
        response.writeHead(204).end()
      },
    }
    await doing[call.kind]()
  }

  #describeObject(stored: StoredObject, wrong?: 'wrong-crc32c' | 'wrong-size') {
    const { size, ...rest } = toObjectResource(stored, wrong)
    return this.omitsZeroSize && size === '0' ? rest : { ...rest, size }
  }

  #receiveChunk({ request, response, url }: Call, body: Buffer, respondWithObject: (stored: StoredObject) => void): void {
    const id = url.searchParams.get('upload_id') ?? ''
    if (request.method === 'DELETE') {
      this.sessions.cancel(id)
      response.writeHead(499).end()
      return
    }
    const state = this.sessions.receiveChunk(id, request, body)
    if (typeof state === 'number') sendIncomplete(response, state)
    else respondWithObject(state)
  }

  #serveSignedUrl(call: Call): Promise<void> {
    const { request, url } = call
    const headers = { ...(request.headers as Record<string, string>), host: url.hostname }
    const signed = { method: request.method ?? '', target: request.url ?? '', headers }
    const problem = findSignatureError(signed, {
      getKey: (email) => this.options.accounts?.[email],
      getSecret: (accessId) => this.options.hmacKeys?.[accessId],
      now: new Date(),
    })
    if (problem) throw new BucketError(403, `SignatureDoesNotMatch: ${problem}`)
    const query = url.searchParams
    return this.#sendObject(call, {
      ...(query.has('response-content-disposition') && {
        'Content-Disposition': query.get('response-content-disposition') as string,
      }),
      ...(query.has('response-content-type') && { 'Content-Type': query.get('response-content-type') as string }),
    })
  }

  async #sendObject({ request, response, object, fault }: Call, headers: Record<string, string>): Promise<void> {
    const { bytes, contentType } = this.objects.get(object)
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '')
    if (range && Number(range[1]) >= bytes.length) throw new BucketError(416, 'The requested range cannot be satisfied.')
    const part = range ? bytes.subarray(Number(range[1]), range[2] ? Number(range[2]) + 1 : undefined) : bytes
    if (range) response.setHeader('Content-Range', `bytes ${range[1]}-${Number(range[1]) + part.length - 1}/${bytes.length}`)
    response.writeHead(range ? 206 : 200, { 'Content-Type': contentType, 'Content-Length': part.length, ...headers })
    if (fault?.kind !== 'cut') return void response.end(request.method === 'HEAD' ? undefined : part)
    await new Promise<void>((resolve) => response.write(part.subarray(0, Math.max(1, part.length / 2)), () => resolve()))
    await sleep(20)
    request.socket.destroy()
  }
}

const hasRequestBody = (kind: BucketCall) => kind === 'media' || kind === 'signed'

async function readBody(request: IncomingMessage): Promise<Buffer> {
  return Buffer.concat(await request.toArray())
}

function sendJson(response: ServerResponse, status: number, body: unknown, half = false): void {
  const text = JSON.stringify(body)
  response
    .writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' })
    .end(half ? text.slice(0, text.length / 2) : text)
}
