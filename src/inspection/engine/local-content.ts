import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { type Content, fileContent, memoryContent } from '../../platform/spool/content.js'

const maxBytesInMemory = 256 * 1024

/** A file of this machine, as an upload of it would be: in memory if it is small. */
export async function openLocalContent(path: string): Promise<Content> {
  const { size } = await stat(path)
  if (size <= maxBytesInMemory) return memoryContent(await readFile(path))
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return fileContent(path, size, hash.digest('hex'))
}
