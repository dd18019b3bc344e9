import type { CRC32C } from '@google-cloud/storage'
import type { Content } from '../../body/content.js'
import { storageUnavailable } from '../../errors.js'
import { BucketAnswer } from './deadline.js'

/** An object, as the bucket describes it: https://cloud.google.com/storage/docs/json_api/v1/objects#resource */
export interface ObjectFacts {
  size: number
  crc32c: string
  generation: string
  /** Which upload of ours made it (`put`). */
  upload?: unknown
}

/** Half an answer, or a proxy's page with status 200, is none: the library hands on as text what it cannot parse. Asked again. */
export function objectFacts(resource: unknown): ObjectFacts {
  // Stand-ins made in Go leave out what is 0.
  const { size = 0, crc32c, generation, metadata } = (resource ?? {}) as Record<string, unknown>
  if (!/^\d+$/.test(String(size)) || !crc32c || !generation)
    throw new BucketAnswer(502, 'an answer that does not describe an object')
  const { upload } = (metadata ?? {}) as { upload?: unknown }
  return { size: Number(size), crc32c: String(crc32c), generation: String(generation), upload }
}

/**
 * The bytes from `start` to before `end`, those from `hashed` on put into `crc32c`: chunk by chunk as they are read, since
 * the sum of 8 MiB at once would hold up the event loop.
 */
export async function readHashed(
  content: Content,
  part: { start: number; end: number; hashed: number },
  crc32c: CRC32C,
): Promise<Buffer> {
  const { start, end, hashed } = part
  const chunks: Buffer[] = []
  let at = start
  for await (const chunk of end > start ? chunksOf(content, start, end) : []) {
    chunks.push(chunk)
    if (at + chunk.length > hashed) crc32c.update(chunk.subarray(Math.max(0, hashed - at)))
    at += chunk.length
  }
  if (at === end) return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
  throw storageUnavailable(
    `The upload ended at byte ${at} when it was read again, where ${end} were received; nothing was stored.`,
  )
}

const chunksOf = (content: Content, start: number, end: number): Iterable<Buffer> | AsyncIterable<Buffer> =>
  content.bytes ? [content.bytes.subarray(start, end)] : content.stream({ start, end: end - 1 })
