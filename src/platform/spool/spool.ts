import { createHash, hash as digestOf, type Hash } from 'node:crypto'
import { type FileHandle, link, mkdir, open, readdir, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { finished, type Readable } from 'node:stream'
import { AssayError, storageUnavailable } from '../errors/errors.js'
import { newId } from '../ids.js'
import { isProcessAlive } from '../is-process-alive.js'
import { megabyte } from '../units.js'
import { createFileContent, createMemoryContent, type Spooled, UploadMemory } from './content.js'

// Maximum size of a multipart form, excluding the file.
const formBytes = 64 * 1024
// Maximum size of an upload in memory if the client declares its size.
const maxAnnouncedBytes = 4 * megabyte

export interface SpoolOptions {
  directory: string
  /** Maximum size of an upload in memory if the client declares no size. */
  memoryLimit?: number
  /** Maximum memory for all uploads. If it is exhausted, small uploads also use temporary files. */
  memoryBudget?: number
}

/**
 * Returns a new name for a file or directory in the spool folder. If the process crashes, the next start removes the file or
 * directory.
 */
export const createSpoolName = (): string => `${process.pid}-${newId('req').slice(4)}`

/** Receives uploads into memory or temporary files, and computes their sizes and hashes. Each process has one spool. */
export class Spool {
  readonly directory: string
  readonly #memoryLimit: number
  readonly #memory: UploadMemory

  constructor(options: SpoolOptions) {
    this.directory = join(options.directory, createSpoolName())
    this.#memoryLimit = options.memoryLimit ?? 256 * 1024
    this.#memory = new UploadMemory(options.memoryBudget ?? 32 * megabyte)
  }

  /** Creates the directory, and removes files left behind by processes that have exited. */
  static async open(options: SpoolOptions): Promise<Spool> {
    await mkdir(options.directory, { recursive: true, mode: 0o700 })
    for (const name of await readdir(options.directory)) {
      // Skip files with other names, because another program may have created them.
      const pid = Number(/^(\d+)-[0-9a-z]{26}$/.exec(name)?.[1])
      if (pid && (pid === process.pid || !isProcessAlive(pid)))
        await rm(join(options.directory, name), { recursive: true, force: true })
    }
    const spool = new Spool(options)
    await mkdir(spool.directory, { mode: 0o700 })
    return spool
  }

  async assertReady(): Promise<void> {
    const file = join(this.directory, newId('req'))
    try {
      await (await this.#createFile(file)).close()
      await rm(file, { force: true })
    } catch (error) {
      throw storageUnavailable(
        `The spool directory '${this.directory}' is not writable (${(error as { code?: string }).code}). Check its permissions and free disk space.`,
        error,
      )
    }
  }

  /**
   * Creates a hard link to a file. The caller must remove the link. Returns undefined if the link is not possible, for example
   * across file systems.
   */
  async createHardLink(source: string): Promise<string | undefined> {
    const file = join(this.directory, newId('req'))
    try {
      await this.#withDirectory(() => link(source, file))
      return file
    } catch (error) {
      if (['EXDEV', 'EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK'].includes((error as { code: string }).code)) return undefined
      throw error
    }
  }

  #createFile(file: string): Promise<FileHandle> {
    return this.#withDirectory(() => open(file, 'wx', 0o600))
  }

  // Recreates the directory if it is missing, because a program that deletes temporary files may have deleted it.
  async #withDirectory<T>(work: () => Promise<T>): Promise<T> {
    return work().catch(async (error) => {
      if (error.code !== 'ENOENT') throw error
      await mkdir(this.directory, { recursive: true, mode: 0o700 })
      return work()
    })
  }

  close(): Promise<void> {
    return rm(this.directory, { recursive: true, force: true })
  }

  /**
   * Reads `source` to its end, or destroys it at the first byte beyond `limit()`. If the declared size `expectedBytes` is large,
   * the upload goes directly to a file.
   */
  async receive(source: Readable, limit: () => number, { expectedBytes = 0 } = {}): Promise<Spooled> {
    const announced = expectedBytes > maxAnnouncedBytes + formBytes ? -1 : maxAnnouncedBytes
    const intake = new SpoolWriter({
      limit,
      expectedBytes,
      memoryLimit: expectedBytes > 0 ? announced : this.#memoryLimit,
      memory: this.#memory,
      file: join(this.directory, newId('req')),
      create: (file) => this.#createFile(file),
    })
    try {
      return (await intake.receive(source)) ? await intake.end() : await intake.discard()
    } catch (error) {
      await intake.discard()
      throw toReceiveError(error)
    }
  }
}

interface SpoolWriterOptions {
  /** Called for every chunk, because the limit may not be known until the body arrives. */
  limit(): number
  /** Size that the client declared, or 0. It determines the size of the allocated block. */
  expectedBytes: number
  /** Maximum number of bytes in memory. Larger uploads go to a temporary file. */
  memoryLimit: number
  memory: UploadMemory
  file: string
  create(file: string): Promise<FileHandle>
}

const fileBlockBytes = 128 * 1024

/**
 * Stores one upload in memory or in a temporary file, and computes its size and hash. Chunks are copied into one block.
 * Otherwise, V8 would promote pending chunks to the old generation and mark the whole heap.
 */
class SpoolWriter {
  #size = 0
  #block: Buffer = Buffer.alloc(0)
  #used = 0
  /** True if the block counts towards the memory budget for uploads. The write buffer of a temporary file does not count. */
  #isCounted = false
  #handle: FileHandle | undefined
  #hash: Hash | undefined

  constructor(private readonly options: SpoolWriterOptions) {}

  /**
   * Receives the upload. Returns false if it exceeds its limit. Pauses the source only for disk writes, because frequent pauses
   * are slow.
   */
  receive(source: Readable): Promise<boolean> {
    return new Promise((resolve, reject) => {
      let writing: Promise<void> | undefined
      const stop = () => {
        source.off('data', onData).destroy()
        resolve(false)
      }
      const onData = (chunk: Buffer) => {
        this.#size += chunk.length
        if (this.#size > this.options.limit()) return stop()
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
        // Wait for the last write, because a paused stream may end or fail while its last chunk is being written.
        Promise.resolve(writing).then(() => (error ? reject(error) : resolve(true)), reject)
      })
      source.on('data', onData)
    })
  }

  async end(): Promise<Spooled> {
    const { limit, file, memoryLimit } = this.options
    // Check the limit again, because it may have become known only after the last byte arrived.
    if (this.#size > limit()) return this.discard()
    const size = this.#size
    if (!this.#handle && memoryLimit >= size) {
      const bytes = this.#block.subarray(0, size)
      return {
        content: createMemoryContent(bytes, digestOf('sha256', bytes)),
        sizeBytes: size,
        dispose: async () => this.#release(),
        recycle: () => this.#release({ isReusable: true }),
      }
    }
    await this.#flush()
    await this.#handle!.close()
    return {
      content: createFileContent(file, size, this.#hash!.digest('hex')),
      sizeBytes: size,
      dispose: () => deleteFile(file),
    }
  }

  async discard(): Promise<Spooled> {
    this.#release()
    if (this.#handle) {
      await this.#handle.close().catch(() => {})
      await deleteFile(this.options.file)
    }
    return { sizeBytes: this.#size, dispose: async () => {} }
  }

  /** Enlarges the block in memory to at least `size` bytes. Returns false if the upload must be written to a file. */
  #growTo(size: number): boolean {
    const { expectedBytes, memoryLimit, memory } = this.options
    if (this.#handle || size > memoryLimit) return false
    const block = memory.acquireBlock(Math.min(memoryLimit, Math.max(size, expectedBytes, 2 * this.#block.length)))
    if (!block) return false
    this.#block.copy(block, 0, 0, this.#used)
    this.#release({ isReusable: true })
    this.#block = block
    this.#isCounted = true
    return true
  }

  /** Copies the chunk into the block. If the block is full, first writes it to the file and returns a promise for this write. */
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
      this.#handle = await this.options.create(this.options.file)
      this.#hash = createHash('sha256')
    }
    const bytes = this.#block.subarray(0, this.#used)
    this.#hash!.update(bytes)
    for (let at = 0; at < bytes.length; ) at += (await this.#handle.write(bytes, at)).bytesWritten
    this.#release({ isReusable: true })
    if (this.#block.length !== fileBlockBytes) this.#block = Buffer.allocUnsafeSlow(fileBlockBytes)
    this.#used = 0
  }

  #release({ isReusable = false } = {}): void {
    if (!this.#isCounted) return
    const { memory } = this.options
    if (isReusable) memory.recycleBlock(this.#block)
    else memory.releaseBlock(this.#block)
    this.#block = Buffer.alloc(0)
    this.#isCounted = false
  }
}

// Use `unlink`, because `rm` would first read the attributes of the file.
const deleteFile = (file: string): Promise<void> =>
  unlink(file).catch((error) => {
    if (error.code !== 'ENOENT') throw error
  })

const diskErrors = ['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE', 'ENFILE', 'EFBIG']

/** Converts disk errors to `storage_unavailable`. */
const toReceiveError = (error: unknown): unknown =>
  !(error instanceof AssayError) && diskErrors.includes((error as { code?: string }).code ?? '')
    ? storageUnavailable('There is not enough disk space to receive the upload. Nothing was stored. Retry later.', error)
    : error
