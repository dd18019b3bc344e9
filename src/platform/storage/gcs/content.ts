import { storageUnavailable } from '../../errors/errors.js'
import type { Content } from '../../spool/content.js'
import type { StreamedBody } from './connection.js'
import type { Crc32c } from './crc32c.js'
import { BucketAnswer } from './deadline.js'

/** An object, as the bucket describes it: https://cloud.google.com/storage/docs/json_api/v1/objects#resource */
export interface ObjectFacts {
  size: number
  crc32c: string
  generation: string
  /** Which upload of ours made it (`put`). */
  upload?: unknown
}

/** Throws a `BucketAnswer`, so that the request is repeated, if the response does not describe an object. */
export function objectFacts(resource: unknown): ObjectFacts {
  // Stand-ins made in Go leave out what is 0.
  const { size = 0, crc32c, generation, metadata } = (resource ?? {}) as Record<string, unknown>
  if (!/^\d+$/.test(String(size)) || !crc32c || !generation)
    throw new BucketAnswer(502, 'a response that does not describe an object')
  const { upload } = (metadata ?? {}) as { upload?: unknown }
  return { size: Number(size), crc32c: String(crc32c), generation: String(generation), upload }
}

/** Puts the bytes from `hashed` on to before `end` into `crc32c`; they are read and not kept. */
export async function hashPart(content: Content, part: { start: number; end: number }, crc32c: Crc32c): Promise<void> {
  for await (const _chunk of hashed(content, part, crc32c));
}

/** The bytes from `start` to before `end`, for one request: what is in memory as it is, a file while it is sent. */
export function partOf(content: Content, { start, end }: { start: number; end: number }): Buffer | StreamedBody {
  if (content.bytes) return content.bytes.subarray(start, end)
  if (end === start) return Buffer.alloc(0)
  return { byteLength: end - start, read: () => content.stream({ start, end: end - 1 }) }
}

/** All bytes, which are few, put into `crc32c` as they are read. */
export async function readHashed(content: Content, crc32c: Crc32c): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of hashed(content, { start: 0, end: content.size }, crc32c)) chunks.push(chunk)
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
}

// Chunk by chunk as they are read: the sum of 8 MiB at once would hold up the event loop.
async function* hashed(content: Content, { start, end }: { start: number; end: number }, crc32c: Crc32c): AsyncGenerator<Buffer> {
  let at = start
  for await (const chunk of end > start ? chunksOf(content, start, end) : []) {
    crc32c.update(chunk)
    at += chunk.length
    yield chunk
  }
  if (at === end) return
  throw storageUnavailable(`Only ${at} of ${end} received bytes could be read. Nothing was stored. Retry the upload.`)
}

const chunksOf = (content: Content, start: number, end: number): Iterable<Buffer> | AsyncIterable<Buffer> =>
  content.bytes ? [content.bytes.subarray(start, end)] : content.stream({ start, end: end - 1 })
