import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Content } from '../../platform/spool/content.js'

export function memoryContent(bytes: Buffer): Content {
  return {
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    bytes,
    stream: (range) => Readable.from([range ? bytes.subarray(range.start, range.end + 1) : bytes]),
  }
}

/** The bytes from `start` up to, not including, `end`, as far as there are any. For a few KiB of a head or a tail. */
export async function readRange(content: Content, start: number, end: number): Promise<Buffer> {
  const from = Math.max(0, start)
  const to = Math.min(content.size, end)
  if (from >= to) return Buffer.alloc(0)
  if (content.bytes) return content.bytes.subarray(from, to)
  const chunks: Buffer[] = []
  for await (const chunk of content.stream({ start: from, end: to - 1 })) chunks.push(chunk)
  return Buffer.concat(chunks)
}
