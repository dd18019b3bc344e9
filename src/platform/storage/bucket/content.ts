import { storageUnavailable } from '../../errors/errors.js'
import type { Content } from '../../spool/content.js'
import type { StreamedBody } from './connection.js'

/** A checksum that is being computed, such as a `Hash` from node:crypto. */
export interface Checksum {
  update(bytes: Buffer): unknown
}

/** Adds the bytes from `start` to `end` (exclusive) to the checksum. */
export async function updateChecksum(content: Content, part: { start: number; end: number }, checksum: Checksum): Promise<void> {
  for await (const _chunk of hashChunks(content, part, checksum));
}

/** Returns the bytes from `start` to `end` (exclusive) as a request body. */
export function getPart(content: Content, { start, end }: { start: number; end: number }): Buffer | StreamedBody {
  if (content.bytes) return content.bytes.subarray(start, end)
  if (end === start) return Buffer.alloc(0)
  return { byteLength: end - start, read: () => content.stream({ start, end: end - 1 }) }
}

/** Reads small content into memory and updates the checksum. */
export async function readWithChecksum(content: Content, checksum: Checksum): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of hashChunks(content, { start: 0, end: content.size }, checksum)) chunks.push(chunk)
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
}

// Yields small chunks, because hashing 8 MiB in one step would block the event loop.
async function* hashChunks(
  content: Content,
  { start, end }: { start: number; end: number },
  checksum: Checksum,
): AsyncGenerator<Buffer> {
  let at = start
  for await (const chunk of end > start ? streamChunks(content, start, end) : []) {
    checksum.update(chunk)
    at += chunk.length
    yield chunk
  }
  if (at === end) return
  throw storageUnavailable(`Only ${at} of ${end} received bytes could be read. Nothing was stored. Retry the upload.`)
}

const streamChunks = (content: Content, start: number, end: number): Iterable<Buffer> | AsyncIterable<Buffer> =>
  content.bytes ? [content.bytes.subarray(start, end)] : content.stream({ start, end: end - 1 })
