import { setTimeout as sleep } from 'node:timers/promises'
import { AssayError } from '../../errors/errors.js'
import { faultPoint } from '../../fault-points.js'
import type { Content } from '../../spool/content.js'
import { megabyte } from '../../units.js'
import { BlobExists } from '../blob-storage.js'
import type { GcsAccess } from './access.js'
import { type BucketReply, type StreamedBody, textOf } from './connection.js'
import { hashPart, type ObjectFacts, objectFacts, partOf } from './content.js'
import { Crc32c } from './crc32c.js'
import { answerOf, BucketAnswer, refusalOf, unavailable } from './deadline.js'

/** What the bucket says it keeps, and the CRC32C that we have sent. */
export interface StoredObject extends ObjectFacts {
  expectedCrc32c: string
}

export interface ResumableUpload {
  /** In the bucket, with its prefix. */
  name: string
  path: string
  content: Content
  upload: { contentType: string; id: string }
  signal?: AbortSignal
  access: GcsAccess
  facts(): Promise<ObjectFacts | null>
}

/** A multiple of 256 KiB, as the protocol asks for. */
const chunkSize = 8 * megabyte
const maxStalls = 4

/**
 * Sends a large upload in chunks, each repeated from where the bucket has got to. A content can be read again from
 * anywhere, and an upload that is given up stops and is cancelled.
 * https://cloud.google.com/storage/docs/performing-resumable-uploads
 */
export async function uploadResumable(upload: ResumableUpload): Promise<StoredObject> {
  try {
    return await uploadOnce(upload)
  } catch (error) {
    if (!(error instanceof AssayError) || !staleStatuses.has(refusalOf(error) ?? 0) || upload.signal?.aborted) throw error
    return uploadOnce(upload)
  }
}

// A checksum that did not fit, a session that is gone, an object in the way that is not there: a fresh session may do.
const staleStatuses = new Set([400, 404, 410, 412])

async function uploadOnce(upload: ResumableUpload): Promise<StoredObject> {
  const session = await openSession(upload)
  faultPoint('bucket.session')
  try {
    return await sendAll(upload, session)
  } catch (error) {
    // Best effort: a session that is not cancelled expires by itself and never becomes an object.
    await cancel(upload, session).catch(() => {})
    throw error
  }
}

async function openSession({ name, path, content, upload, access, signal, facts }: ResumableUpload): Promise<string> {
  const query = new URLSearchParams({ uploadType: 'resumable', name, ifGenerationMatch: '0' })
  const headers = {
    'Content-Type': 'application/json',
    'X-Upload-Content-Type': upload.contentType,
    'X-Upload-Content-Length': content.size,
  }
  const body = Buffer.from(JSON.stringify({ metadata: { upload: upload.id } }))
  return access.call({ doing: `store '${path}'`, signal }, async () => {
    // The caller's signal does not apply: the session must be known, so that it can be cancelled.
    const request = { method: 'POST', headers, body, signal: AbortSignal.timeout(2 * access.limits.requestMs) } as const
    const reply = await access.send(`/upload/storage/v1/b/${access.bucketName}/o?${query}`, request)
    const text = await textOf(reply)
    const { location } = reply.headers
    if (reply.status === 200 && location) return location
    if (reply.status === 412 && (await facts()) !== null) throw new BlobExists(path)
    throw reply.status === 200 ? new BucketAnswer(502, 'no upload session') : answerOf(reply, text)
  })
}

async function sendAll(upload: ResumableUpload, session: string): Promise<StoredObject> {
  const { content, path, access, signal } = upload
  const crc32c = new Crc32c()
  let hashed = 0
  let stalls = 0
  for (let offset = 0; ; ) {
    const end = Math.min(offset + chunkSize, content.size)
    // Read twice, the second time while it is sent: the last chunk's head names the sum of all.
    if (end > hashed || end === 0) await hashPart(content, { start: hashed, end }, crc32c)
    hashed = Math.max(hashed, end)
    const part = { session, offset, chunk: partOf(content, { start: offset, end }), crc32c: crc32c.toString() }
    const answer = await sendChunk(upload, part).catch((error) => {
      if (end < content.size) throw error
      return ourOwn(upload, error)
    })
    if ('stored' in answer) return { ...answer.stored, expectedCrc32c: crc32c.toString() }
    if (answer.received > hashed)
      throw unavailable(`store '${path}'`, new Error(`the bucket reports ${answer.received} bytes, but ${hashed} were sent`))
    faultPoint('bucket.chunk')
    stalls = answer.received > offset ? 0 : stalls + 1
    if (stalls > maxStalls) throw unavailable(`store '${path}'`, new Error(`the upload makes no progress at byte ${offset}`))
    if (stalls > 0) await sleep(access.limits.pauseMs * 2 ** stalls, undefined, { signal }).catch(() => signal?.throwIfAborted())
    offset = answer.received
  }
}

/** Sends it once; where the answer fails, asks how far the bucket has got. Each chunk has the call's time for itself, so the whole is bounded by its size. */
async function sendChunk(upload: ResumableUpload, part: Part): Promise<Answer> {
  const { path, access, signal, content } = upload
  let sent = false
  return access.call({ doing: `store '${path}'`, signal, attemptMs: access.limits.callMs }, async (attemptSignal) => {
    const headers = sent ? { 'Content-Range': `bytes */${content.size}` } : headersOf(part, content.size)
    const body = sent ? undefined : part.chunk
    sent = true
    return readAnswer(await access.connection.send({ method: 'PUT', url: part.session, headers, body, signal: attemptSignal }))
  })
}

/** The last answer may have been lost, and the session forgotten since: then the object at the path is this very upload's. */
async function ourOwn({ upload, facts, path }: ResumableUpload, error: Error): Promise<Answer> {
  const there = [404, 410, 412].includes(refusalOf(error) ?? 0) ? await facts() : null
  if (there?.upload === upload.id) return { stored: there }
  throw there !== null && refusalOf(error) === 412 ? new BlobExists(path) : error
}

interface Part {
  session: string
  offset: number
  chunk: Buffer | StreamedBody
  crc32c: string
}

function headersOf({ offset, chunk, crc32c }: Part, size: number): Record<string, string> {
  const end = offset + chunk.byteLength
  const range = { 'Content-Range': `bytes ${offset}-${end - 1}/${size}` }
  // With the last chunk the bucket refuses by itself what did not arrive as it was sent.
  return end === size ? { ...range, 'X-Goog-Hash': `crc32c=${crc32c}` } : range
}

async function cancel({ access }: ResumableUpload, session: string): Promise<void> {
  const reply = await access.connection.send({ method: 'DELETE', url: session, headers: {}, signal: AbortSignal.timeout(2000) })
  reply.body.resume()
}

type Answer = { stored: ObjectFacts } | { received: number }

async function readAnswer(reply: BucketReply): Promise<Answer> {
  const text = await textOf(reply)
  if (reply.status === 308) {
    const range = /-(\d+)$/.exec(String(reply.headers.range ?? ''))
    return { received: range ? Number(range[1]) + 1 : 0 }
  }
  if (reply.status !== 200 && reply.status !== 201) throw answerOf(reply, text)
  return { stored: objectFacts(parsed(text)) }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
