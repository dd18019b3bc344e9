import { hash as digestOf, webcrypto } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { unlink } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { Content } from './content.js'

// From here on another thread computes the digest: it takes 0.7 ms for a megabyte, and to hand that over a tenth of it.
const digestedHere = 64 * 1024

export const sha256Of = async (bytes: Buffer): Promise<string> =>
  bytes.length < digestedHere
    ? digestOf('sha256', bytes)
    : Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes)).toString('hex')

// Not `rm`, which looks at the file first.
export const discardFile = (file: string): Promise<void> =>
  unlink(file).catch((error) => {
    if (error.code !== 'ENOENT') throw error
  })

export const memoryContent = (bytes: Buffer, sha256 = digestOf('sha256', bytes)): Content => ({
  size: bytes.length,
  sha256,
  bytes,
  stream: (range) =>
    Readable.from(bytes.length === 0 ? [] : [range ? bytes.subarray(range.start, range.end + 1) : bytes], { objectMode: false }),
})

export const fileContent = (path: string, size: number, sha256: string): Content => ({
  size,
  sha256,
  path,
  stream: (range) => createReadStream(path, { ...range, highWaterMark: 256 * 1024 }),
})
