import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { Content } from '../../platform/spool/content.js'

const inMemory = 256 * 1024

/** A file of this machine as an upload would arrive: small ones in memory, larger ones on disk. */
export async function openLocalContent(path: string): Promise<Content> {
  const { size } = await stat(path)
  if (size <= inMemory) {
    const bytes = await readFile(path)
    return {
      size: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      bytes,
      stream: (range) => Readable.from([range ? bytes.subarray(range.start, range.end + 1) : bytes]),
    }
  }
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return { size, sha256: hash.digest('hex'), path, stream: (range) => createReadStream(path, range) }
}
