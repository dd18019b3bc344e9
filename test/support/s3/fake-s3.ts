import { createHash, randomUUID } from 'node:crypto'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** S3 requests that can fail. */
export type S3Call = 'put' | 'get' | 'head' | 'delete' | 'list' | 'create' | 'part' | 'complete' | 'abort' | 'uploads' | 'copy'

export type S3Fault =
  | { kind: 'status'; status: number; code?: string; headers?: Record<string, string> }
  | { kind: 'slow'; ms: number }
  | { kind: 'silent' }
  /** Closes the connection in the middle of the request or response body. */
  | { kind: 'cut' }
  /** Executes the request and closes the connection without a response. */
  | { kind: 'lost' }
  /** Executes the request and returns truncated XML as a complete response. */
  | { kind: 'half' }

interface Stored {
  bytes: Buffer
  headers: Record<string, string>
  storedAt: Date
}

interface Upload {
  name: string
  headers: Record<string, string>
  parts: Map<number, Buffer>
  initiated: Date
}

interface Request {
  name: string
  query: URLSearchParams
  headers: http.IncomingHttpHeaders
  body: Buffer
}

interface Answer {
  status: number
  headers?: Record<string, string>
  body?: Buffer | string
}

class Rejected extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
  ) {
    super(code)
  }
}

/**
 * A fake S3 server in memory that injects faults and verifies hashes but not signatures. Real servers are tested in
 * test/contract.
 */
export class FakeS3 {
  readonly objects = new Map<string, Stored>()
  readonly uploads = new Map<string, Upload>()
  readonly calls: S3Call[] = []
  /** Simulates a store that ignores write conditions. */
  ignoresConditions = false
  ignoresHashes = false
  /** Objects that list responses do not contain yet. */
  readonly unlisted = new Set<string>()
  clockOffsetMs = 0
  readonly #planned = new Map<S3Call, S3Fault[]>()
  readonly #sockets = new Set<Socket>()
  #server: http.Server | undefined
  #port = 0

  static async start(): Promise<FakeS3> {
    const fakeS3 = new FakeS3()
    await fakeS3.start()
    return fakeS3
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  get connections(): number {
    return this.#sockets.size
  }

  async start(): Promise<void> {
    if (this.#server) return
    const server = http.createServer((request, response) => void this.#handleRequest(request, response))
    server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (server.address() as AddressInfo).port
    this.#server = server
  }

  async stop(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (!server) return
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }

  plan(call: S3Call, fault: S3Fault, times = 1): void {
    this.#planned.set(call, [...(this.#planned.get(call) ?? []), ...Array.from({ length: times }, () => fault)])
  }

  async #handleRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', this.url)
    const name = decodeURIComponent(url.pathname.split('/').slice(2).join('/'))
    const call = toCall(request, name, url.searchParams)
    this.calls.push(call)
    const fault = this.#planned.get(call)?.shift()
    response.on('error', () => {})
    if (fault?.kind === 'silent') return void request.resume()
    if (fault?.kind === 'cut' && call !== 'get') return void request.once('data', () => request.socket.destroy()).resume()
    let body: Buffer
    try {
      body = Buffer.concat(await request.toArray())
    } catch {
      return
    }
    if (fault?.kind === 'slow') await sleep(fault.ms)
    const answer = this.#performOrReject(call, fault, { name, query: url.searchParams, headers: request.headers, body })
    if (fault?.kind === 'lost') return void request.socket.destroy()
    const sent = Buffer.from(answer.body ?? '')
    const bytes = fault?.kind === 'half' ? sent.subarray(0, sent.length / 2) : sent
    const date = new Date(Date.now() + this.clockOffsetMs).toUTCString()
    response.writeHead(answer.status, { Date: date, 'Content-Length': bytes.length, ...answer.headers })
    if (fault?.kind !== 'cut') return void response.end(request.method === 'HEAD' ? undefined : bytes)
    response.write(bytes.subarray(0, bytes.length / 2), () => setTimeout(() => request.socket.destroy(), 20))
  }

  #performOrReject(call: S3Call, fault: S3Fault | undefined, request: Request): Answer {
    try {
      if (fault?.kind === 'status') throw Object.assign(new Rejected(fault.status, fault.code ?? 'AsPlanned'), fault)
      return this.#perform(call, request)
    } catch (error) {
      if (!(error instanceof Rejected)) throw error
      const { headers } = error as { headers?: Record<string, string> }
      const body = toXmlDocument(`<Error><Code>${error.code}</Code><Message>The request was rejected.</Message></Error>`)
      return { status: error.status, body, ...(headers && { headers }) }
    }
  }

  #perform(call: S3Call, request: Request): Answer {
    const { name, query, headers, body } = request
    const perform: Record<S3Call, () => Answer> = {
      put: () => {
        this.#verify(request)
        this.#store(name, body, toStoredHeaders(headers), headers['if-none-match'])
        return { status: 200, headers: { ETag: computeEtag(body) } }
      },
      get: () => this.#read(request),
      head: () => {
        const { bytes, headers: stored } = this.#get(name)
        return { status: 200, headers: { ...stored, 'Content-Length': String(bytes.length) } }
      },
      delete: () => {
        this.objects.delete(name)
        return { status: 204 }
      },
      list: () => this.#listObjects(query),
      create: () => {
        const id = randomUUID()
        this.uploads.set(id, { name, headers: toStoredHeaders(headers), parts: new Map(), initiated: new Date() })
        const result = `<Bucket>blobs</Bucket><Key>${escapeXml(name)}</Key><UploadId>${id}</UploadId>`
        return { status: 200, body: toXmlDocument(`<InitiateMultipartUploadResult>${result}</InitiateMultipartUploadResult>`) }
      },
      part: () => {
        this.#verify(request)
        this.#getUpload(query).parts.set(Number(query.get('partNumber')), body)
        return { status: 200, headers: { ETag: computeEtag(body) } }
      },
      complete: () => this.#completeUpload(request),
      abort: () => {
        this.#getUpload(query)
        this.uploads.delete(query.get('uploadId')!)
        return { status: 204 }
      },
      uploads: () => this.#listUploads(query),
      copy: () => {
        const source = decodeURIComponent(String(headers['x-amz-copy-source'])).split('/').slice(1).join('/')
        const { bytes, headers: stored } = this.#get(source)
        this.#store(name, bytes, stored, undefined)
        return { status: 200, body: toXmlDocument(`<CopyObjectResult><ETag>${computeEtag(bytes)}</ETag></CopyObjectResult>`) }
      },
    }
    return perform[call]()
  }

  #verify({ headers, body }: Request): void {
    const declared = headers['x-amz-content-sha256']
    if (!this.ignoresHashes && declared !== createHash('sha256').update(body).digest('hex'))
      throw new Rejected(400, 'XAmzContentSHA256Mismatch')
  }

  #store(name: string, bytes: Buffer, headers: Record<string, string>, condition: string | undefined): void {
    if (condition === '*' && this.objects.has(name) && !this.ignoresConditions) throw new Rejected(412, 'PreconditionFailed')
    this.objects.set(name, { bytes, headers, storedAt: new Date() })
  }

  #get(name: string): Stored {
    const stored = this.objects.get(name)
    if (!stored) throw new Rejected(404, 'NoSuchKey')
    return stored
  }

  #getUpload(query: URLSearchParams): Upload {
    const upload = this.uploads.get(query.get('uploadId') ?? '')
    if (!upload) throw new Rejected(404, 'NoSuchUpload')
    return upload
  }

  #read({ name, headers, query }: Request): Answer {
    const { bytes, headers: own } = this.#get(name)
    const disposition = query.get('response-content-disposition')
    const stored = disposition === null ? own : { ...own, 'Content-Disposition': disposition }
    const range = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '')
    if (!range) return { status: 200, headers: stored, body: bytes }
    const [start, end] = [Number(range[1]), Math.min(Number(range[2]), bytes.length - 1)]
    if (start >= bytes.length) throw new Rejected(416, 'InvalidRange')
    const part = { 'Content-Range': `bytes ${start}-${end}/${bytes.length}` }
    return { status: 206, headers: { ...stored, ...part }, body: bytes.subarray(start, end + 1) }
  }

  #completeUpload({ name, query, headers, body }: Request): Answer {
    const { parts, headers: stored } = this.#getUpload(query)
    const numbers = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber>/g)].map(([, number]) => Number(number))
    const bytes = Buffer.concat(numbers.map((number) => parts.get(number)!))
    this.#store(name, bytes, stored, headers['if-none-match'])
    this.uploads.delete(query.get('uploadId')!)
    const result = `<Key>${escapeXml(name)}</Key><ETag>${computeEtag(bytes)}</ETag>`
    return { status: 200, body: toXmlDocument(`<CompleteMultipartUploadResult>${result}</CompleteMultipartUploadResult>`) }
  }

  #listObjects(query: URLSearchParams): Answer {
    const after = query.get('continuation-token') ?? query.get('start-after') ?? ''
    const prefix = query.get('prefix') ?? ''
    const names = [...this.objects.keys()]
      .filter((name) => name.startsWith(prefix) && !this.unlisted.has(name) && compareBytes(name, after) > 0)
      .sort(compareBytes)
    const page = names.slice(0, 1000)
    const contents = page.map((name) => {
      const { bytes, storedAt } = this.objects.get(name)!
      const fields = `<Size>${bytes.length}</Size><LastModified>${storedAt.toISOString()}</LastModified>`
      return `<Contents><Key>${encodeURIComponent(name)}</Key>${fields}</Contents>`
    })
    const isTruncated = names.length > page.length
    const next = isTruncated ? `<NextContinuationToken>${escapeXml(page.at(-1)!)}</NextContinuationToken>` : ''
    const body = `<IsTruncated>${isTruncated}</IsTruncated>${next}${contents.join('')}`
    return { status: 200, body: toXmlDocument(`<ListBucketResult>${body}</ListBucketResult>`) }
  }

  #listUploads(query: URLSearchParams): Answer {
    const uploads = [...this.uploads]
      .filter(([, { name }]) => name.startsWith(query.get('prefix') ?? ''))
      .map(([id, { name, initiated }]) => {
        const fields = `<UploadId>${id}</UploadId><Initiated>${initiated.toISOString()}</Initiated>`
        return `<Upload><Key>${encodeURIComponent(name)}</Key>${fields}</Upload>`
      })
    const body = `<IsTruncated>false</IsTruncated>${uploads.join('')}`
    return { status: 200, body: toXmlDocument(`<ListMultipartUploadsResult>${body}</ListMultipartUploadsResult>`) }
  }
}

function toCall({ method, headers }: IncomingMessage, name: string, query: URLSearchParams): S3Call {
  if (name === '') return query.has('uploads') ? 'uploads' : 'list'
  if (method === 'POST') return query.has('uploads') ? 'create' : 'complete'
  if (method === 'PUT' && query.has('partNumber')) return 'part'
  if (method === 'PUT') return headers['x-amz-copy-source'] ? 'copy' : 'put'
  if (method === 'DELETE') return query.has('uploadId') ? 'abort' : 'delete'
  return method === 'HEAD' ? 'head' : 'get'
}

function toStoredHeaders(headers: http.IncomingHttpHeaders): Record<string, string> {
  const stored = Object.entries(headers).filter(([name]) => name === 'content-type' || name.startsWith('x-amz-meta-'))
  return Object.fromEntries(stored) as Record<string, string>
}

const computeEtag = (bytes: Buffer) => `"${createHash('md5').update(bytes).digest('hex')}"`
const toXmlDocument = (text: string) => `<?xml version="1.0" encoding="UTF-8"?>\n${text}`
const escapeXml = (text: string) => text.replace(/[&<>]/g, (letter) => `&#${letter.charCodeAt(0)};`)
const compareBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
