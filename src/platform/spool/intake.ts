import { createHash, hash as digestOf, type Hash } from 'node:crypto'
import { type FileHandle, unlink } from 'node:fs/promises'
import { finished, type Readable } from 'node:stream'
import { AssayError, storageUnavailable } from '../errors/errors.js'
import { fileContent, memoryContent, type Spooled } from './content.js'

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

interface IntakeOptions {
  /** Called with every chunk, because the limit may become known only while the body arrives. */
  limit(): number
  /** Size that the client announced, or 0. The block is allocated with that size. */
  expected: number
  /** An upload with more bytes goes to a temporary file. */
  memoryLimit: number
  memory: UploadMemory
  file: string
  create(file: string): Promise<FileHandle>
}

const fileBlockBytes = 128 * 1024

/**
 * Counts and hashes one upload, and stores it in memory or in a temporary file. Chunks are copied into one block, because pending chunks
 * would be promoted to the old generation and cause V8 to mark the whole heap.
 */
export class Intake {
  readonly #options: IntakeOptions
  #size = 0
  #block: Buffer = Buffer.alloc(0)
  #used = 0
  /** True if the block belongs to the upload memory. The block of a file does not. */
  #isCounted = false
  #handle: FileHandle | undefined
  #hash: Hash | undefined

  constructor(options: IntakeOptions) {
    this.#options = options
  }

  /** Returns false if the upload exceeds its limit. The source pauses only for the disk, because a pause per chunk is slow. */
  receive(source: Readable): Promise<boolean> {
    return new Promise((resolve, reject) => {
      let writing: Promise<void> | undefined
      const stop = () => {
        source.off('data', onData).destroy()
        resolve(false)
      }
      const onData = (chunk: Buffer) => {
        this.#size += chunk.length
        if (this.#size > this.#options.limit()) return stop()
        writing = this.#write(chunk)
        if (!writing) return
        source.pause()
        writing.then(
          () => source.resume(),
          (error) => {
            reject(error)
            stop()
          },
        )
      }
      finished(source, { writable: false }, (error) => {
        // A paused stream may end or fail while its last chunk is written.
        Promise.resolve(writing).then(() => (error ? reject(error) : resolve(true)), reject)
      })
      source.on('data', onData)
    })
  }

  async end(): Promise<Spooled> {
    const { limit, file, memoryLimit } = this.#options
    // The limit may have become known after the last byte.
    if (this.#size > limit()) return this.discard()
    const size = this.#size
    if (!this.#handle && memoryLimit >= size) {
      const bytes = this.#block.subarray(0, size)
      return {
        content: memoryContent(bytes, digestOf('sha256', bytes)),
        sizeBytes: size,
        dispose: async () => this.#release(),
        recycle: () => this.#release({ isUnread: true }),
      }
    }
    await this.#flush()
    await this.#handle!.close()
    return {
      content: fileContent(file, size, this.#hash!.digest('hex')),
      sizeBytes: size,
      dispose: () => deleteFile(file),
    }
  }

  async discard(): Promise<Spooled> {
    this.#release()
    if (this.#handle) {
      await this.#handle.close().catch(() => {})
      await deleteFile(this.#options.file)
    }
    return { sizeBytes: this.#size, dispose: async () => {} }
  }

  /** Doubles the block in memory. Returns false if the upload must go to a file. */
  #growTo(size: number): boolean {
    const { expected, memoryLimit, memory } = this.#options
    if (this.#handle || size > memoryLimit) return false
    const block = memory.take(Math.min(memoryLimit, Math.max(size, expected, 2 * this.#block.length)))
    if (!block) return false
    this.#block.copy(block, 0, 0, this.#used)
    this.#release({ isUnread: true })
    this.#block = block
    this.#isCounted = true
    return true
  }

  /** Returns undefined if the chunk was copied. Otherwise it writes the block to the file first. */
  #write(chunk: Buffer): Promise<void> | undefined {
    for (let at = 0; at < chunk.length; ) {
      if (this.#used === this.#block.length && !this.#growTo(this.#size))
        return this.#flush().then(() => this.#write(chunk.subarray(at)))
      const copied = chunk.copy(this.#block, this.#used, at)
      at += copied
      this.#used += copied
    }
    return undefined
  }

  async #flush(): Promise<void> {
    if (!this.#handle) {
      this.#handle = await this.#options.create(this.#options.file)
      this.#hash = createHash('sha256')
    }
    const bytes = this.#block.subarray(0, this.#used)
    this.#hash!.update(bytes)
    for (let at = 0; at < bytes.length; ) at += (await this.#handle.write(bytes, at)).bytesWritten
    this.#release({ isUnread: true })
    if (this.#block.length !== fileBlockBytes) this.#block = Buffer.allocUnsafeSlow(fileBlockBytes)
    this.#used = 0
  }

  #release({ isUnread = false } = {}): void {
    if (!this.#isCounted) return
    const { memory } = this.#options
    if (isUnread) memory.reuse(this.#block)
    else memory.release(this.#block)
    this.#block = Buffer.alloc(0)
    this.#isCounted = false
  }
}

// `rm` would read the attributes of the file before deleting it.
const deleteFile = (file: string): Promise<void> =>
  unlink(file).catch((error) => {
    if (error.code !== 'ENOENT') throw error
  })

const diskErrors = ['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE', 'ENFILE', 'EFBIG']

/** Converts errors of the disk to `storage_unavailable`. */
export const toIntakeError = (error: unknown): unknown =>
  !(error instanceof AssayError) && diskErrors.includes((error as { code?: string }).code ?? '')
    ? storageUnavailable('There is not enough disk space to receive the upload. Nothing was stored. Retry later.', error)
    : error
