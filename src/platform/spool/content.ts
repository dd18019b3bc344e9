import { createHash, hash as digestOf } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { badUserInput } from '../errors/errors.js'
import { invisibleCharacters } from '../text.js'

/** The bytes of one upload, in memory or in a temporary file. The creator of the content disposes of it. */
export interface Content {
  readonly size: number
  /** Hexadecimal. */
  readonly sha256: string
  readonly bytes?: Buffer
  /** The temporary file. A local store may turn it into the blob by a hard link or a rename. */
  readonly path?: string
  /** Opens a stream of all bytes, or of the bytes from `start` to `end`, both inclusive. */
  stream(range?: { start: number; end: number }): Readable
}

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

/** Reads the existing bytes from `start` to `end`, exclusive. For a few KiB at the beginning or the end. */
export async function readRange(content: Content, start: number, end: number): Promise<Buffer> {
  const from = Math.max(0, start)
  const to = Math.min(content.size, end)
  if (from >= to) return Buffer.alloc(0)
  if (content.bytes) return content.bytes.subarray(from, to)
  return Buffer.concat(await content.stream({ start: from, end: to - 1 }).toArray())
}

/** A received upload. `content` is undefined if the upload exceeded its limit. */
export interface Spooled {
  content?: Content
  /** Number of received bytes. */
  sizeBytes: number
  /** Releases the memory or deletes the temporary file. It can be called twice, and after a store has taken the file. */
  dispose(): Promise<void>
  /**
   * Makes the memory available to the next upload, which overwrites it. Do not call this if a scanner or a store may still read the
   * content.
   */
  recycle?(): void
}

// Smaller blocks hardly affect the garbage collector.
const minReusedBytes = 64 * 1024

/**
 * Limits the memory of all uploads of a process, and reuses its blocks. V8 counts a new block against its heap limit. Without
 * reuse, it marked the whole heap for every 16 uploads of 1 MiB, which took half of the CPU time.
 */
export class UploadMemory {
  /** Part of the budget that no block uses, in bytes. */
  #free: number
  readonly #idle: Buffer[] = []

  /** `bytes` limits the blocks in use and the idle blocks together. */
  constructor(bytes: number) {
    this.#free = bytes
  }

  /** Returns a block of `bytes` to `2 * bytes` bytes with arbitrary content, or undefined if the memory is in use. */
  take(bytes: number): Buffer | undefined {
    const index = this.#idle.findLastIndex(({ length }) => length >= bytes && length <= 2 * bytes)
    if (index >= 0) return this.#idle.splice(index, 1)[0]
    while (this.#free < bytes && this.#idle.length > 0) this.#free += this.#idle.shift()!.length
    if (this.#free < bytes) return undefined
    this.#free -= bytes
    return Buffer.allocUnsafeSlow(bytes)
  }

  /** Frees a block that may still be read. It is not reused. */
  release(block: Buffer): void {
    this.#free += block.length
  }

  /** Returns a block that is no longer read. The next upload overwrites it. */
  reuse(block: Buffer): void {
    if (block.length >= minReusedBytes) this.#idle.push(block)
    else this.release(block)
  }
}

type Receive = (limit: () => number) => Promise<Spooled>

/** A file of a request whose bytes may still arrive. */
export class IncomingFile {
  readonly #name: string | Promise<string>
  readonly #receive: Receive
  #isReceived = false

  constructor(name: string | Promise<string>, receive: Receive) {
    this.#name = name
    this.#receive = receive
  }

  /** Untrusted name from the client. See `cleanFilename`. */
  async name(): Promise<string> {
    return this.#name
  }

  /** Receives up to `limit()` bytes. The caller must dispose of the result. */
  async receive(limit: () => number): Promise<Spooled> {
    // The first field has already disposed of the content.
    if (this.#isReceived)
      throw badUserInput([{ field: 'file', message: 'must be used by only one field. Send the file once for each field' }])
    this.#isReceived = true
    return this.#receive(limit)
  }
}

const maxNameBytes = 255

/** Returns the last path segment in NFC, with at most 255 bytes and without control and invisible characters. */
export function cleanFilename(name: string): string {
  const segment = name.toWellFormed().split(/[/\\]/).at(-1)!
  // Normalize last, because a removed character may have separated a letter from its accent.
  const clean = segment
    .replace(invisibleCharacters, '')
    .replace(/[\p{Cc}\u2028\u2029\ufffd]/gu, '')
    .normalize('NFC')
    .trim()
  if (clean === '' || clean === '.' || clean === '..') throw badUserInput([{ field: 'file', message: 'must have a file name' }])
  return truncateName(clean)
}

// Shorten the stem, because the extension selects the checks.
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

/** Opens a local file in the same form as an upload: in memory if it is small. */
export async function openLocalContent(path: string): Promise<Content> {
  const { size } = await stat(path)
  if (size <= maxBytesInMemory) return memoryContent(await readFile(path))
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return fileContent(path, size, hash.digest('hex'))
}
