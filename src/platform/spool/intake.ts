import { createHash, type Hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { AssayError, storageUnavailable } from '../errors/errors.js'
import { Batch } from './batch.js'
import { BehindWriter } from './behind-writer.js'
import type { Content } from './content.js'
import type { Digests } from './digests.js'
import { doneWithChunk } from './early-collection.js'
import type { ChunkSink } from './part-chunks.js'
import { copyShared, formBytes, type Slab, type Slabs } from './slabs.js'
import { discardFile, fileContent, memoryContent, sha256Of } from './spooled-content.js'

/** A measured upload. `content` is absent where the sender sent more than the limit: the rest was never kept. */
export interface Spooled {
  content?: Content
  /** Bytes seen; beyond the limit, as many as had been read by then. */
  sizeBytes: number
  /** Gives memory and temporary file back. Safe to call twice, and after a store took the file. */
  dispose(): Promise<void>
}

export interface Taking {
  /** Bytes that are announced: what is too much for memory goes to a file from its first byte. It need not be true. */
  expected?: number
}

interface IntakeParts extends Taking {
  /** Is asked with every chunk, since it may become known only while the body streams (the `context` part may come after the file). */
  limit: () => number
  slabs: Slabs
  digests: Digests
  memoryLimit: number
  syncAhead: boolean
  file: string
  create(file: string): Promise<FileHandle>
}

// One chunk is kept as it came; several would be copied together, and copied again for a worker.
const slabsFrom = 64 * 1024

/** Counts and hashes one upload on its way into memory or a temporary file. */
export class Intake implements ChunkSink {
  readonly #parts: IntakeParts
  readonly #mostInMemory: number
  readonly #slab: Slab | undefined
  readonly #letGo: (() => void) | undefined
  readonly #hash: Hash | undefined
  readonly #early = new Batch()
  #size = 0
  #reserved = 0
  #writer: BehindWriter | undefined
  #isOver = false
  #resolve!: (spooled: Spooled | Promise<Spooled>) => void
  /** Settles when it is whole, has more than its limit, or failed: then nothing of it is left. */
  readonly result = new Promise<Spooled>((resolve) => {
    this.#resolve = resolve
  })

  constructor(parts: IntakeParts) {
    const { expected = 0, memoryLimit, slabs } = parts
    this.#parts = parts
    this.#mostInMemory = expected > memoryLimit + formBytes ? 0 : memoryLimit
    this.#slab = expected > slabsFrom ? slabs.take(expected) : undefined
    this.#letGo = this.#slab?.hold()
    this.#hash = this.#slab && createHash('sha256')
  }

  get isOver(): boolean {
    return this.#isOver
  }

  write(chunk: Buffer): Promise<void> | undefined {
    if (this.#isOver) return
    const before = this.#size
    this.#size += chunk.length
    doneWithChunk(chunk)
    if (this.#size > this.#parts.limit()) return this.#settle(this.#discard())
    if (this.#slab && this.#size <= this.#slab.bytes.length) {
      copyShared(chunk, this.#slab.bytes, before)
      this.#hash!.update(chunk)
    } else if (this.#writer) return this.#guarded(this.#writer.write(chunk))
    else if (!this.#slab && this.#size <= this.#mostInMemory && this.#parts.slabs.reserve(chunk.length)) {
      this.#early.add(chunk)
      this.#reserved += chunk.length
    } else return this.#guarded(this.#toFile(chunk, before))
  }

  end(): void {
    if (!this.#isOver) this.#settle(this.#whole().catch((error) => this.#failed(error)))
  }

  fail(error: unknown): void {
    if (!this.#isOver) this.#settle(this.#failed(error))
  }

  #settle(result: Promise<Spooled>): undefined {
    this.#isOver = true
    this.#resolve(result)
  }

  #guarded(work: Promise<void> | undefined): Promise<void> | undefined {
    return work?.catch((error) => this.fail(error))
  }

  async #toFile(chunk: Buffer, before: number): Promise<void> {
    const { create, file, slabs, digests, syncAhead } = this.#parts
    const handle = await create(file)
    const writer = new BehindWriter({ handle, slabs, digest: digests.begin(), sync: syncAhead })
    this.#writer = writer
    // More than was announced.
    if (this.#slab) await writer.write(this.#slab.bytes.subarray(0, before))
    for (const held of this.#early.take()) await writer.write(held)
    this.#release()
    await writer.write(chunk)
  }

  async #whole(): Promise<Spooled> {
    const size = this.#size
    // The limit may have become known after the last byte.
    if (size > this.#parts.limit()) return this.#discard()
    if (this.#writer) return this.#wholeFile(this.#writer)
    const dispose = async () => this.#release()
    if (this.#slab) {
      const bytes = this.#slab.bytes.subarray(0, size)
      return { content: memoryContent(bytes, this.#hash!.digest('hex')), sizeBytes: size, dispose }
    }
    const held = this.#early.take()
    const bytes = held.length === 1 ? held[0]! : Buffer.concat(held, size)
    return { content: memoryContent(bytes, await sha256Of(bytes)), sizeBytes: size, dispose }
  }

  async #wholeFile(writer: BehindWriter): Promise<Spooled> {
    const { file } = this.#parts
    const { sha256, ...synced } = await writer.end()
    return {
      content: { ...fileContent(file, this.#size, sha256), ...synced },
      sizeBytes: this.#size,
      dispose: () => discardFile(file),
    }
  }

  async #failed(error: unknown): Promise<never> {
    await this.#discard()
    throw isDiskFault(error)
      ? storageUnavailable('There is no room to receive the upload at the moment; nothing was stored.', error)
      : error
  }

  async #discard(): Promise<Spooled> {
    this.#release()
    await this.#writer?.abandon()
    if (this.#writer) await discardFile(this.#parts.file)
    return { sizeBytes: this.#size, dispose: async () => {} }
  }

  #release(): void {
    this.#parts.slabs.free(this.#reserved)
    this.#reserved = 0
    this.#early.take()
    this.#letGo?.()
  }
}

const isDiskFault = (error: unknown): boolean =>
  !(error instanceof AssayError) &&
  ['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE', 'ENFILE', 'EFBIG'].includes((error as { code?: string }).code ?? '')
