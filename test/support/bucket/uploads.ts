import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { BucketError, type ObjectDraft, type Objects, type StoredObject } from './objects.js'

interface Session {
  draft: ObjectDraft
  ifGenerationMatch: string | null
  received: Buffer[]
  stored?: StoredObject
}

/** Stores the object from a single multipart request. */
export function storeMultipart(objects: Objects, request: IncomingMessage, body: Buffer, query: URLSearchParams): StoredObject {
  const boundary = /boundary="?([^";]+)/.exec(request.headers['content-type'] ?? '')?.[1]
  if (!boundary) throw new BucketError(400, 'The Content-Type has no boundary.')
  const [description, content] = parseParts(body, boundary)
  if (!description || !content) throw new BucketError(400, 'The body must have two parts.')
  const draft = { ...JSON.parse(description.body.toString()), name: query.get('name') } as ObjectDraft
  objects.assertGeneration(draft.name, query.get('ifGenerationMatch'))
  return objects.store({ ...draft, contentType: draft.contentType ?? content.type }, content.body)
}

function parseParts(body: Buffer, boundary: string): { type: string; body: Buffer }[] {
  const found = []
  const mark = `--${boundary}`
  for (let at = body.indexOf(mark); ; ) {
    const head = at + mark.length + 2
    const next = body.indexOf(`\r\n${mark}`, head)
    if (next < 0) return found
    const begins = body.indexOf('\r\n\r\n', head) + 4
    const type = /content-type: *([^\r\n]+)/i.exec(body.toString('latin1', head, begins))?.[1] ?? ''
    found.push({ type, body: body.subarray(begins, next) })
    at = next + 2
  }
}

/** Sessions of resumable uploads with their chunks and positions. */
export class Sessions {
  readonly #byId = new Map<string, Session>()

  constructor(private readonly objects: Objects) {}

  get open(): number {
    return [...this.#byId.values()].filter((session) => !session.stored).length
  }

  begin(request: IncomingMessage, body: Buffer, query: URLSearchParams): string {
    const described = body.length > 0 ? (JSON.parse(body.toString()) as ObjectDraft) : {}
    const draft = { ...described, name: query.get('name') ?? '', contentType: request.headers['x-upload-content-type'] as string }
    this.objects.assertGeneration(draft.name, query.get('ifGenerationMatch'))
    const id = randomUUID()
    this.#byId.set(id, { draft, ifGenerationMatch: query.get('ifGenerationMatch'), received: [] })
    return id
  }

  cancel(id: string): void {
    this.#byId.delete(id)
  }

  /** Returns the object after the last chunk, otherwise the number of stored bytes. */
  receiveChunk(id: string, request: IncomingMessage, body: Buffer): StoredObject | number {
    const session = this.#byId.get(id)
    if (!session) throw new BucketError(404, 'The upload session does not exist.')
    if (session.stored) return session.stored
    const range = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+)$/.exec(request.headers['content-range'] ?? '')
    if (!range) throw new BucketError(400, `Invalid Content-Range '${request.headers['content-range']}'`)
    const getReceivedBytes = () => session.received.reduce((sum, chunk) => sum + chunk.length, 0)
    if (range[1] === undefined) return getReceivedBytes()
    const [start, end, total] = [Number(range[1]), Number(range[2]), Number(range[3])]
    if (end - start + 1 !== body.length || start !== getReceivedBytes())
      throw new BucketError(
        400,
        `Chunk ${start}-${end} of ${body.length} bytes does not follow the ${getReceivedBytes()} stored bytes.`,
      )
    const last = end + 1 === total
    if (!last && body.length % (256 * 1024) !== 0) throw new BucketError(400, 'The chunk size is not a multiple of 256 KiB.')
    session.received.push(body)
    if (!last) return getReceivedBytes()
    this.objects.assertGeneration(session.draft.name, session.ifGenerationMatch)
    const promised = /crc32c=([^,]+)/.exec(String(request.headers['x-goog-hash'] ?? ''))?.[1]
    session.stored = this.objects.store(
      { ...session.draft, crc32c: promised ?? session.draft.crc32c },
      Buffer.concat(session.received),
    )
    session.received = []
    return session.stored
  }
}

export function sendIncomplete(response: ServerResponse, storedBytes: number): void {
  if (storedBytes > 0) response.setHeader('Range', `bytes=0-${storedBytes - 1}`)
  response.writeHead(308).end()
}
