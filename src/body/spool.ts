import { createHash, hash as digestOf, webcrypto } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { AssayError, storageUnavailable } from '../errors.js'
import { newId } from '../ids.js'
import { megabyte } from '../units.js'
import { Digests } from '../workers/digests.js'
import { copyShared, formBytes, Slabs } from '../workers/slabs.js'
import { Batch } from './batch.js'
import { BehindWriter } from './behind-writer.js'
import { chunks } from './chunks.js'
import type { Content, Follow, Follower } from './content.js'
import { doneWithChunk } from './early-collection.js'

export interface SpoolOptions {
  directory: string
  /** Up to so many bytes stay in memory though their number is not announced: those that are may be as many as a slab holds. */
  memoryLimit?: number
  /** Bytes that all uploads in memory may take together; beyond it even small ones go to files. */
  memoryBudget?: number
  /** Whether temporary files are brought to the disk while they are judged: for a store that keeps them as they are. */
  syncAhead?: boolean
}

export interface Taking {
  /** Bytes that are announced: what is too much for memory goes to a file from its first byte. It need not be true. */
  expected?: number
  /** Is asked for what looks at the file, with each block that is written, until it gives one. */
  follow?: Follow | undefined
}

/** A measured upload. `content` is absent where the sender sent more than the limit: the rest was never kept. */
export interface Spooled {
  content?: Content
  /** Bytes seen; beyond the limit, as many as had been read by then. */
  sizeBytes: number
  /** Gives memory and temporary file back. Safe to call twice, and after a store took the file. */
  dispose(): Promise<void>
}

/** Streams uploads into memory or temporary files while counting and hashing them. One per process. */
export class Spool {
  readonly directory: string
  readonly #memoryLimit: number
  readonly #syncAhead: boolean
  readonly #slabs: Slabs
  readonly #digests = new Digests()

  constructor(options: SpoolOptions) {
    this.directory = join(options.directory, `${process.pid}-${newId('req').slice(4)}`)
    this.#memoryLimit = options.memoryLimit ?? 256 * 1024
    this.#slabs = new Slabs(options.memoryBudget ?? 32 * megabyte)
    this.#syncAhead = options.syncAhead ?? false
  }

  /** Makes the directory, and removes what processes that are gone have left in it. */
  static async open(options: SpoolOptions): Promise<Spool> {
    await mkdir(options.directory, { recursive: true, mode: 0o700 })
    for (const name of await readdir(options.directory)) {
      // What a spool did not name is not ours to remove.
      const pid = Number(/^(\d+)-[0-9a-z]{26}$/.exec(name)?.[1])
      if (pid && (pid === process.pid || !isAlive(pid))) await rm(join(options.directory, name), { recursive: true, force: true })
    }
    const spool = new Spool(options)
    await mkdir(spool.directory, { mode: 0o700 })
    return spool
  }

  async ready(): Promise<void> {
    const file = join(this.directory, newId('req'))
    try {
      await (await this.#create(file)).close()
      await rm(file, { force: true })
    } catch (error) {
      throw storageUnavailable(`The spool '${this.directory}' cannot be written (${(error as { code?: string }).code}).`, error)
    }
  }

  // The folder may have been removed under us, by a cleaner of temporary files.
  async #create(file: string): Promise<FileHandle> {
    return open(file, 'wx', 0o600).catch(async (error) => {
      if (error.code !== 'ENOENT') throw error
      await mkdir(this.directory, { recursive: true, mode: 0o700 })
      return open(file, 'wx', 0o600)
    })
  }

  close(): Promise<void> {
    this.#digests.close()
    return rm(this.directory, { recursive: true, force: true })
  }

  /**
   * Reads `source` to its end, or to the first byte beyond `limit()`. The limit is asked for with every chunk, since it may
   * become known only while the body streams (the `context` part may come after the file). Beyond the limit the source is destroyed.
   */
  async take(source: Readable, limit: () => number, { expected = 0, follow }: Taking = {}): Promise<Spooled> {
    const mostInMemory = expected > this.#memoryLimit + formBytes ? 0 : this.#memoryLimit
    const file = join(this.directory, newId('req'))
    let writer: BehindWriter | undefined
    let follower: Follower | undefined
    const slab = expected > slabsFrom ? this.#slabs.take(expected) : undefined
    const letGo = slab?.hold()
    const hash = slab && createHash('sha256')
    const early = new Batch()
    let size = 0
    let reserved = 0
    const release = () => {
      this.#slabs.free(reserved)
      reserved = 0
      early.take()
      letGo?.()
    }
    const discard = async (): Promise<Spooled> => {
      release()
      follower?.stop()
      await writer?.abandon()
      if (writer) await discardFile(file)
      return { sizeBytes: size, dispose: async () => {} }
    }
    try {
      for await (const chunk of chunks(source)) {
        size += chunk.length
        doneWithChunk(chunk)
        if (size > limit()) return await discard()
        if (slab && size <= slab.bytes.length) {
          copyShared(chunk, slab.bytes, size - chunk.length)
          hash!.update(chunk)
          continue
        }
        if (!writer && !slab && size <= mostInMemory && this.#slabs.reserve(chunk.length)) {
          early.add(chunk)
          reserved += chunk.length
          continue
        }
        if (!writer) {
          const handle = await this.#create(file)
          // By then the parts before the file are known.
          const onWritten = follow && ((bytes: number) => (follower ??= follow(file))?.written(bytes))
          writer = new BehindWriter({
            handle,
            slabs: this.#slabs,
            digest: this.#digests.begin(),
            sync: this.#syncAhead,
            onWritten,
          })
          // More than was announced.
          if (slab) await writer.write(slab.bytes.subarray(0, size - chunk.length))
          for (const held of early.take()) await writer.write(held)
          release()
        }
        await writer.write(chunk)
      }
      // The limit may have become known after the last byte.
      if (size > limit()) return await discard()
      if (slab && !writer)
        return {
          content: memoryContent(slab.bytes.subarray(0, size), hash!.digest('hex')),
          sizeBytes: size,
          dispose: async () => release(),
        }
      if (!writer) {
        const held = early.take()
        const bytes = held.length === 1 ? held[0]! : Buffer.concat(held, size)
        return { content: memoryContent(bytes, await sha256Of(bytes)), sizeBytes: size, dispose: async () => release() }
      }
      const { sha256, ...synced } = await writer.end()
      const ahead = await follower?.end()
      return {
        content: { ...fileContent(file, size, sha256), ...synced, ...(ahead && { ahead }) },
        sizeBytes: size,
        dispose: () => discardFile(file),
      }
    } catch (error) {
      await discard()
      throw isDiskFault(error)
        ? storageUnavailable('There is no room to receive the upload at the moment; nothing was stored.', error)
        : error
    }
  }
}

// One chunk is kept as it came; several would be copied together, and copied again for a worker.
const slabsFrom = 64 * 1024
// From here on another thread computes the digest: it takes 0.7 ms for a megabyte, and to hand that over a tenth of it.
const digestedHere = 64 * 1024

const sha256Of = async (bytes: Buffer): Promise<string> =>
  bytes.length < digestedHere
    ? digestOf('sha256', bytes)
    : Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes)).toString('hex')

// Not `rm`, which looks at the file first.
const discardFile = (file: string): Promise<void> =>
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

const fileContent = (path: string, size: number, sha256: string): Content => ({
  size,
  sha256,
  path,
  stream: (range) => createReadStream(path, { ...range, highWaterMark: 256 * 1024 }),
})

const isDiskFault = (error: unknown): boolean =>
  !(error instanceof AssayError) &&
  ['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE', 'ENFILE', 'EFBIG'].includes((error as { code?: string }).code ?? '')

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM'
  }
}
