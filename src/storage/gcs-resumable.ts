import { setTimeout as sleep } from 'node:timers/promises'
import { CRC32C, type File } from '@google-cloud/storage'
import type { Content } from '../content.js'
import { BlobExists } from './blob-storage.js'
import { type BucketConnection, type BucketReply, textOf } from './gcs-connection.js'
import { readHashed } from './gcs-content.js'
import { BucketAnswer, type GcsLimits, repeated, statusOf, unavailable } from './gcs-deadline.js'

/** What the bucket says it keeps, and the CRC32C that we have sent. */
export interface StoredObject {
  size: number
  crc32c: string
  generation: string
  expectedCrc32c: string
}

export interface ResumableUpload {
  file: File
  path: string
  content: Content
  upload: { contentType: string; id: string }
  signal?: AbortSignal
  limits: GcsLimits
  connection: BucketConnection
}

/** A multiple of 256 KiB, as the protocol asks for; held in memory while it is under way. */
const chunkSize = 8 * 1024 * 1024
const maxStalls = 4

/**
 * Sends a large upload in chunks, each repeated from where the bucket has got to. The session is the library's; the chunks
 * are ours, since a content can be read again from anywhere, and an upload that is given up must stop, and be cancelled.
 * https://cloud.google.com/storage/docs/performing-resumable-uploads
 */
export async function uploadResumable(upload: ResumableUpload): Promise<StoredObject> {
  const session = await openSession(upload)
  try {
    return await sendAll(upload, session)
  } catch (error) {
    // Best effort: a session that is not cancelled expires by itself and never becomes an object.
    await cancel(upload, session).catch(() => {})
    throw error
  }
}

async function openSession({ file, path, content, upload, limits, signal }: ResumableUpload): Promise<string> {
  return repeated({ doing: `keep '${path}'`, limits, signal }, async () => {
    try {
      const [uri] = await file.createResumableUpload({
        metadata: { contentType: upload.contentType, contentLength: content.size, metadata: { upload: upload.id } },
        preconditionOpts: { ifGenerationMatch: 0 },
      })
      return uri
    } catch (error) {
      throw statusOf(error) === 412 ? new BlobExists(path) : error
    }
  })
}

async function sendAll(upload: ResumableUpload, session: string): Promise<StoredObject> {
  const { content, path, limits } = upload
  const crc32c = new CRC32C()
  let hashed = 0
  let stalls = 0
  for (let offset = 0; ; ) {
    const end = Math.min(offset + chunkSize, content.size)
    const chunk = await readHashed(content, { start: offset, end, hashed }, crc32c)
    hashed = Math.max(hashed, end)
    const answer = await sendChunk(upload, { session, offset, chunk, crc32c: crc32c.toString() })
    if ('stored' in answer) return { ...answer.stored, expectedCrc32c: crc32c.toString() }
    if (answer.received > hashed)
      throw unavailable(`keep '${path}'`, new Error(`the bucket says that it has ${answer.received} bytes of ${hashed} sent`))
    stalls = answer.received > offset ? 0 : stalls + 1
    if (stalls > maxStalls) throw unavailable(`keep '${path}'`, new Error(`the upload stands still at byte ${offset}`))
    if (stalls > 0) await sleep(limits.pauseMs * 2 ** stalls, undefined, { signal: upload.signal })
    offset = answer.received
  }
}

/** Sends it once; where the answer fails, asks how far the bucket has got. Each chunk has the call's time for itself, so the whole is bounded by its size. */
async function sendChunk(upload: ResumableUpload, part: Part): Promise<Answer> {
  const { path, limits, signal, connection, content } = upload
  let sent = false
  return repeated({ doing: `keep '${path}'`, limits, signal, attemptMs: limits.callMs }, async (attemptSignal) => {
    const headers = sent ? { 'Content-Range': `bytes */${content.size}` } : headersOf(part, content.size)
    const body = sent ? undefined : part.chunk
    sent = true
    return readAnswer(await connection.send({ method: 'PUT', url: part.session, headers, body, signal: attemptSignal }), path)
  })
}

interface Part {
  session: string
  offset: number
  chunk: Buffer
  /** Of everything up to the chunk's end. */
  crc32c: string
}

function headersOf({ offset, chunk, crc32c }: Part, size: number): Record<string, string> {
  const end = offset + chunk.length
  const range = { 'Content-Range': `bytes ${offset}-${end - 1}/${size}` }
  // With the last chunk the bucket refuses by itself what did not arrive as it was sent.
  return end === size ? { ...range, 'X-Goog-Hash': `crc32c=${crc32c}` } : range
}

async function cancel({ connection }: ResumableUpload, session: string): Promise<void> {
  const reply = await connection.send({ method: 'DELETE', url: session, headers: {}, signal: AbortSignal.timeout(2000) })
  reply.body.resume()
}

type Answer = { stored: Omit<StoredObject, 'expectedCrc32c'> } | { received: number }

async function readAnswer(reply: BucketReply, path: string): Promise<Answer> {
  const text = await textOf(reply)
  if (reply.status === 308) {
    const range = /-(\d+)$/.exec(String(reply.headers.range ?? ''))
    return { received: range ? Number(range[1]) + 1 : 0 }
  }
  if (reply.status === 412) throw new BlobExists(path)
  if (reply.status !== 200 && reply.status !== 201) throw new BucketAnswer(reply.status, text)
  const { size, crc32c, generation } = JSON.parse(text) as { size: string; crc32c: string; generation: string }
  return { stored: { size: Number(size), crc32c, generation } }
}
