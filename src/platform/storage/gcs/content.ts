import { storageUnavailable } from '../../errors/errors.js'
import type { Content } from '../../spool/content.js'
import type { StreamedBody } from '../bucket/connection.js'
import { BucketError } from '../bucket/retry.js'
import type { Crc32c } from './crc32c.js'

/** Metadata of an object: https://cloud.google.com/storage/docs/json_api/v1/objects#resource */
export interface ObjectMetadata {
  size: number
  crc32c: string
  generation: string
  /** Id that `put` assigned to the upload. */
  upload?: unknown
}

/** Throws a `BucketError`, which causes a retry, if the response does not describe an object. */
export function parseObject(resource: unknown): ObjectMetadata {
  // Emulators in Go omit a size of 0.
  const { size = 0, crc32c, generation, metadata } = (resource ?? {}) as Record<string, unknown>
  if (!/^\d+$/.test(String(size)) || !crc32c || !generation)
    throw new BucketError(502, 'a response that does not describe an object')
  const { upload } = (metadata ?? {}) as { upload?: unknown }
  return { size: Number(size), crc32c: String(crc32c), generation: String(generation), upload }
}

/** Adds the bytes from `start` to `end`, exclusive, to `crc32c`. */
export async function updateChecksum(content: Content, part: { start: number; end: number }, crc32c: Crc32c): Promise<void> {
  for await (const _chunk of hashChunks(content, part, crc32c));
}

/** Returns the bytes from `start` to `end`, exclusive, as a request body. */
export function getPart(content: Content, { start, end }: { start: number; end: number }): Buffer | StreamedBody {
  if (content.bytes) return content.bytes.subarray(start, end)
  if (end === start) return Buffer.alloc(0)
  return { byteLength: end - start, read: () => content.stream({ start, end: end - 1 }) }
}

/** Reads a small content completely, and adds it to `crc32c`. */
export async function readWithChecksum(content: Content, crc32c: Crc32c): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of hashChunks(content, { start: 0, end: content.size }, crc32c)) chunks.push(chunk)
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
}

// Adding 8 MiB in one step would block the event loop.
async function* hashChunks(
  content: Content,
  { start, end }: { start: number; end: number },
  crc32c: Crc32c,
): AsyncGenerator<Buffer> {
  let at = start
  for await (const chunk of end > start ? streamChunks(content, start, end) : []) {
    crc32c.update(chunk)
    at += chunk.length
    yield chunk
  }
  if (at === end) return
  throw storageUnavailable(`Only ${at} of ${end} received bytes could be read. Nothing was stored. Retry the upload.`)
}

const streamChunks = (content: Content, start: number, end: number): Iterable<Buffer> | AsyncIterable<Buffer> =>
  content.bytes ? [content.bytes.subarray(start, end)] : content.stream({ start, end: end - 1 })
