import { createHash, hash as digestOf } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { invalidField } from '../errors/errors.js'
import { invisibleCharacters } from '../text.js'

/** Content of one upload, in memory or in a temporary file. Its creator must dispose of it. */
export interface Content {
  readonly size: number
  /** SHA-256 of the content, in hexadecimal. */
  readonly sha256: string
  readonly bytes?: Buffer
  /** Path of the temporary file. A local store may link or rename this file to create the blob. */
  readonly path?: string
  /** Opens a stream of all bytes, or of the bytes from `start` to `end`, both inclusive. */
  stream(range?: { start: number; end: number }): Readable
}

export const createMemoryContent = (bytes: Buffer, sha256 = digestOf('sha256', bytes)): Content => ({
  size: bytes.length,
  sha256,
  bytes,
  stream: (range) =>
    Readable.from(bytes.length === 0 ? [] : [range ? bytes.subarray(range.start, range.end + 1) : bytes], { objectMode: false }),
})

export const createFileContent = (path: string, size: number, sha256: string): Content => ({
  size,
  sha256,
  path,
  stream: (range) => createReadStream(path, { ...range, highWaterMark: 256 * 1024 }),
})

/**
 * Reads the bytes from `start` to `end` (exclusive) and ignores positions outside the content. Intended for a few KiB at the
 * start or end of the content, because the result is in memory.
 */
export async function readRange(content: Content, start: number, end: number): Promise<Buffer> {
  const from = Math.max(0, start)
  const to = Math.min(content.size, end)
  if (from >= to) return Buffer.alloc(0)
  if (content.bytes) return content.bytes.subarray(from, to)
  return Buffer.concat(await content.stream({ start: from, end: to - 1 }).toArray())
}

/** A received upload. `content` is undefined if the upload exceeded its size limit. */
export interface Spooled {
  content?: Content
  /** Number of received bytes. */
  sizeBytes: number
  /** Releases the memory or deletes the temporary file. Can be called repeatedly, even after a store has moved the file. */
  dispose(): Promise<void>
  /** Makes the memory available to the next upload. Do not call this if a scanner or a store may still read the content. */
  recycle?(): void
}

// Minimum size of blocks to reuse. Smaller blocks hardly affect the garbage collector.
const minReusedBytes = 64 * 1024

/**
 * Limits the memory of all uploads in a process, and reuses its blocks. V8 counts new blocks against its heap limit. Without
 * reuse, it marked the whole heap for every 16 uploads of 1 MiB, which took half of the CPU time.
 */
export class UploadMemory {
  /** Number of bytes in the budget that no block uses. */
  #free: number
  readonly #idle: Buffer[] = []

  /** `bytes` limits the total size of used and idle blocks. */
  constructor(bytes: number) {
    this.#free = bytes
  }

  /** Returns a block of `bytes` to `2 * bytes` bytes with arbitrary content, or undefined if too little memory is free. */
  acquireBlock(bytes: number): Buffer | undefined {
    const index = this.#idle.findLastIndex(({ length }) => length >= bytes && length <= 2 * bytes)
    if (index >= 0) return this.#idle.splice(index, 1)[0]
    while (this.#free < bytes && this.#idle.length > 0) this.#free += this.#idle.shift()!.length
    if (this.#free < bytes) return undefined
    this.#free -= bytes
    return Buffer.allocUnsafeSlow(bytes)
  }

  /** Returns the size of a block to the budget. The block itself is not reused, because it may still be read. */
  releaseBlock(block: Buffer): void {
    this.#free += block.length
  }

  /** Makes a block available to the next upload. Nothing may read the block's old content afterwards. */
  recycleBlock(block: Buffer): void {
    if (block.length >= minReusedBytes) this.#idle.push(block)
    else this.releaseBlock(block)
  }
}

type Receive = (limit: () => number) => Promise<Spooled>

/** A file in a request. The request may still be receiving it. */
export class IncomingFile {
  #isReceived = false

  constructor(
    private readonly name: string | Promise<string>,
    private readonly receiveFile: Receive,
  ) {}

  /** Returns the untrusted file name from the client. See `sanitizeFilename`. */
  async getName(): Promise<string> {
    return this.name
  }

  /** Receives up to `limit()` bytes. The caller must dispose of the result. */
  async receive(limit: () => number): Promise<Spooled> {
    // The first field that used the file has already disposed of its content, so the file cannot be received again.
    if (this.#isReceived)
      throw invalidField('file', 'must be used in only one GraphQL field. Send a separate file part for each field')
    this.#isReceived = true
    return this.receiveFile(limit)
  }
}

const maxNameBytes = 255

/** Returns the last path segment of a file name in NFC, limited to 255 bytes, without control or invisible characters. */
export function sanitizeFilename(name: string): string {
  const segment = name.toWellFormed().split(/[/\\]/).at(-1)!
  // Normalize last, because a removed character may have separated a letter from its accent.
  const clean = segment
    .replace(invisibleCharacters, '')
    .replace(/[\p{Cc}\u2028\u2029\ufffd]/gu, '')
    .normalize('NFC')
    .trim()
  if (clean === '' || clean === '.' || clean === '..') throw invalidField('file', 'must have a file name')
  return truncateName(clean)
}

// Shorten the name, but keep the extension, because the extension determines the checks.
function truncateName(name: string): string {
  if (Buffer.byteLength(name) <= maxNameBytes) return name
  const dot = name.lastIndexOf('.')
  const extension = dot > 0 && Buffer.byteLength(name.slice(dot)) <= 64 ? name.slice(dot) : ''
  const maxStemBytes = maxNameBytes - Buffer.byteLength(extension)
  let stem = ''
  let bytes = 0
  for (const character of extension ? name.slice(0, dot) : name) {
    bytes += Buffer.byteLength(character)
    if (bytes > maxStemBytes) break
    stem += character
  }
  return (stem + extension).trimEnd()
}

const maxBytesInMemory = 256 * 1024

/** Opens a local file as content. Like an upload, a small file is read into memory. */
export async function openLocalContent(path: string): Promise<Content> {
  const { size } = await stat(path)
  if (size <= maxBytesInMemory) return createMemoryContent(await readFile(path))
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return createFileContent(path, size, hash.digest('hex'))
}
