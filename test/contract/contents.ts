import { createCipheriv, createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { Content } from '../../src/platform/spool/content.js'

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

export const inMemory = (bytes: Buffer): Content => ({
  size: bytes.length,
  sha256: sha256(bytes),
  bytes,
  stream: (range) => Readable.from([range ? bytes.subarray(range.start, range.end + 1) : bytes]),
})

export async function inFile(path: string, bytes: Buffer): Promise<Content> {
  await writeFile(path, bytes)
  return { size: bytes.length, sha256: sha256(bytes), path, stream: (range) => createReadStream(path, range) }
}

/** Creates an upload whose source fails after `good` bytes. */
export const breaking = (bytes: Buffer, good: number): Content => ({
  size: bytes.length,
  sha256: sha256(bytes),
  stream: (range) =>
    Readable.from(
      (function* () {
        const [start, end] = [range?.start ?? 0, range?.end ?? bytes.length - 1]
        for (let at = start; at <= Math.min(end, good - 1); at += 65536)
          yield bytes.subarray(at, Math.min(at + 65536, end + 1, good))
        if (end >= good) throw new Error('the source failed')
      })(),
    ),
})

/** Generates random bytes from a seed. */
export const noise = (length: number, seed = 1): Buffer =>
  createCipheriv('aes-128-ctr', Buffer.alloc(16, seed), Buffer.alloc(16)).update(Buffer.alloc(length))

export async function readBytes(stream: Readable): Promise<Buffer> {
  return Buffer.concat(await stream.toArray())
}
