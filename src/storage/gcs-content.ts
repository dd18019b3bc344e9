import type { CRC32C } from '@google-cloud/storage'
import type { Content } from '../content.js'
import { storageUnavailable } from '../errors.js'

/**
 * The bytes from `start` to before `end`, those from `hashed` on put into `crc32c`: piece by piece as they are read, since
 * the sum of 8 MiB at once would hold up the event loop.
 */
export async function readHashed(
  content: Content,
  part: { start: number; end: number; hashed: number },
  crc32c: CRC32C,
): Promise<Buffer> {
  const { start, end, hashed } = part
  const pieces: Buffer[] = []
  let at = start
  for await (const piece of end > start ? piecesOf(content, start, end) : []) {
    pieces.push(piece)
    if (at + piece.length > hashed) crc32c.update(piece.subarray(Math.max(0, hashed - at)))
    at += piece.length
  }
  if (at === end) return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
  throw storageUnavailable(
    `The upload ended at byte ${at} when it was read again, where ${end} were received; nothing was stored.`,
  )
}

const piecesOf = (content: Content, start: number, end: number): Iterable<Buffer> | AsyncIterable<Buffer> =>
  content.bytes ? [content.bytes.subarray(start, end)] : content.stream({ start, end: end - 1 })
