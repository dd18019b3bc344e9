import { setTimeout as sleep } from 'node:timers/promises'
import { reachFaultPoint } from '../../fault-points.js'
import { megabyte } from '../../units.js'
import type { BucketUpload } from '../bucket/bucket-api.js'
import { type BucketResponse, readText, type StreamedBody } from '../bucket/connection.js'
import { getPart, updateChecksum } from '../bucket/content.js'
import { BucketError, createUnavailableError, toBucketError } from '../bucket/retry.js'
import { type GcsAccess, type ObjectMetadata, parseJson, parseObject } from './access.js'
import { Crc32c } from './crc32c.js'

export interface StoredObject extends ObjectMetadata {
  expectedCrc32c: string
}

interface ResumableUpload extends BucketUpload {
  access: GcsAccess
}

/** The protocol requires chunk sizes that are multiples of 256 KiB. */
const chunkSize = 8 * megabyte
const maxStalls = 4

/** Sends a large upload in chunks: https://cloud.google.com/storage/docs/performing-resumable-uploads */
export async function uploadInChunks(upload: ResumableUpload): Promise<StoredObject> {
  const session = await openSession(upload)
  reachFaultPoint('bucket.session')
  try {
    return await sendChunks(upload, session)
  } catch (error) {
    // Ignore errors, because a session that is not cancelled expires and never becomes an object.
    await cancelSession(upload, session).catch(() => {})
    throw error
  }
}

async function openSession(upload: ResumableUpload): Promise<string> {
  const { name, path, content, contentType, id, access, signal } = upload
  const query = new URLSearchParams({ uploadType: 'resumable', name, ifGenerationMatch: '0' })
  const headers = {
    'Content-Type': 'application/json',
    'X-Upload-Content-Type': contentType,
    'X-Upload-Content-Length': content.size,
  }
  const body = Buffer.from(JSON.stringify({ metadata: { upload: id } }))
  return access.withRetries({ action: `store '${path}'`, signal }, async () => {
    // Ignore the caller's signal, because a session can be cancelled only after its URL is known.
    const request = { method: 'POST', headers, body, signal: AbortSignal.timeout(2 * access.limits.requestMs) } as const
    const response = await access.send(`/upload/storage/v1/b/${access.bucketName}/o?${query}`, request)
    const text = await readText(response)
    const { location } = response.headers
    if (response.status === 200 && location) return location
    throw response.status === 200
      ? new BucketError(502, 'the response contains no upload session URL')
      : toBucketError(response, text)
  })
}

async function sendChunks(upload: ResumableUpload, session: string): Promise<StoredObject> {
  const { content, path, access, signal } = upload
  const crc32c = new Crc32c()
  let hashedBytes = 0
  let stalls = 0
  for (let offset = 0; ; ) {
    const end = Math.min(offset + chunkSize, content.size)
    // Each chunk is read twice, because the header of the last chunk must contain the checksum of all bytes.
    if (end > hashedBytes || end === 0) await updateChecksum(content, { start: hashedBytes, end }, crc32c)
    hashedBytes = Math.max(hashedBytes, end)
    const part = { session, offset, chunk: getPart(content, { start: offset, end }), crc32c: crc32c.toString() }
    const result = await sendChunk(upload, part)
    if ('stored' in result) return { ...result.stored, expectedCrc32c: crc32c.toString() }
    if (result.received > hashedBytes)
      throw createUnavailableError(
        `store '${path}'`,
        new Error(`the bucket reports ${result.received} bytes, but ${hashedBytes} were sent`),
      )
    reachFaultPoint('bucket.chunk')
    stalls = result.received > offset ? 0 : stalls + 1
    if (stalls > maxStalls)
      throw createUnavailableError(`store '${path}'`, new Error(`the upload makes no progress beyond byte ${offset}`))
    if (stalls > 0)
      await sleep(access.limits.retryDelayMs * 2 ** stalls, undefined, { signal }).catch(() => signal?.throwIfAborted())
    offset = result.received
  }
}

/** Sends one chunk. If the response is lost, queries the number of bytes that the bucket has received. */
async function sendChunk(upload: ResumableUpload, part: Part): Promise<ChunkResult> {
  const { path, access, signal, content } = upload
  let isSent = false
  return access.withRetries({ action: `store '${path}'`, signal, attemptMs: access.limits.callMs }, async (attemptSignal) => {
    const headers = isSent ? { 'Content-Range': `bytes */${content.size}` } : getChunkHeaders(part, content.size)
    const body = isSent ? undefined : part.chunk
    isSent = true
    return parseChunkResponse(
      await access.connection.send({ method: 'PUT', url: part.session, headers, body, signal: attemptSignal }),
    )
  })
}

interface Part {
  session: string
  offset: number
  chunk: Buffer | StreamedBody
  crc32c: string
}

function getChunkHeaders({ offset, chunk, crc32c }: Part, size: number): Record<string, string> {
  const end = offset + chunk.byteLength
  const range = { 'Content-Range': `bytes ${offset}-${end - 1}/${size}` }
  // Send the checksum of all bytes with the last chunk, so that the bucket verifies it.
  return end === size ? { ...range, 'X-Goog-Hash': `crc32c=${crc32c}` } : range
}

async function cancelSession({ access }: ResumableUpload, session: string): Promise<void> {
  const signal = AbortSignal.timeout(2000)
  const { body } = await access.connection.send({ method: 'DELETE', url: session, headers: {}, signal })
  body.resume()
}

type ChunkResult = { stored: ObjectMetadata } | { received: number }

async function parseChunkResponse(response: BucketResponse): Promise<ChunkResult> {
  const text = await readText(response)
  if (response.status === 308) {
    const range = /-(\d+)$/.exec(String(response.headers.range ?? ''))
    return { received: range ? Number(range[1]) + 1 : 0 }
  }
  if (response.status !== 200 && response.status !== 201) throw toBucketError(response, text)
  return { stored: parseObject(parseJson(text)) }
}
