import type { FileHandle } from 'node:fs/promises'
import type { Digest } from './digests.js'
import { copyShared, type Slabs } from './slabs.js'

const blockBytes = 512 * 1024
const syncedBytes = 16 * 1024 * 1024

interface Block {
  bytes: Buffer
  letGo(): void
}

interface WriterParts {
  handle: FileHandle
  slabs: Slabs
  digest: Digest
  /** Whether it is brought to the disk, beginning while more is received. */
  sync: boolean
}

/**
 * Writes one block while the next is received: disk and network do not wait for each other, and no more than two blocks are held. Chunks
 * are copied into them: those that were kept until they are written would outlive their turn, for which the garbage collector marks
 * the whole heap again and again.
 */
export class BehindWriter {
  readonly #handle: FileHandle
  readonly #slabs: Slabs
  readonly #digest: Digest
  readonly #sync: boolean
  #written = 0
  #syncBegun = 0
  /** Of what failed to be written, the system reports only once. */
  #synced: Promise<void> | undefined
  #isSyncing = false
  #block: Block | undefined
  #used = 0
  #writing: Promise<void> = Promise.resolve()
  /** Not any more where a write failed. */
  #isIdle = true

  constructor({ handle, slabs, digest, sync }: WriterParts) {
    this.#handle = handle
    this.#slabs = slabs
    this.#digest = digest
    this.#sync = sync
  }

  /** What it gives is to be awaited before the next. */
  write(chunk: Buffer): Promise<void> | undefined {
    for (let at = 0; at < chunk.length; ) {
      this.#block ??= this.#newBlock()
      const { bytes } = this.#block
      const taken = copyShared(chunk.subarray(at), bytes, this.#used)
      at += taken
      this.#used += taken
      if (this.#used < bytes.length) break
      if (!this.#isIdle) return this.#flush().then(() => this.write(chunk.subarray(at)))
      this.#begin()
    }
    return undefined
  }

  /** Gives the digest of all that was written. Where it is synced, not all of it is on the disk yet: that is what `synced` waits for. */
  async end(): Promise<{ sha256: string; synced?: Promise<void> }> {
    await this.#flush()
    await this.#writing
    if (!this.#sync) {
      await this.#handle.close()
      return { sha256: await this.#digest.end() }
    }
    const synced = bothOf(this.#synced ?? Promise.resolve(), this.#handle.datasync()).finally(() => this.#handle.close())
    // Not awaited where the file is refused.
    synced.catch(() => {})
    return { sha256: await this.#digest.end(), synced }
  }

  async abandon(): Promise<void> {
    await this.#writing.catch(() => {})
    this.#block?.letGo()
    this.#block = undefined
    this.#digest.drop()
    await this.#handle.close().catch(() => {})
  }

  #newBlock(): Block {
    const slab = this.#slabs.take(blockBytes)
    return slab
      ? { bytes: slab.bytes, letGo: slab.hold() }
      : { bytes: Buffer.from(new SharedArrayBuffer(blockBytes)), letGo: () => {} }
  }

  async #flush(): Promise<void> {
    await this.#writing
    this.#begin()
  }

  #begin(): void {
    const block = this.#block
    if (!block) return
    const bytes = block.bytes.subarray(0, this.#used)
    const written = writeWhole(this.#handle, bytes).then(() => this.#hasWritten(bytes.length))
    this.#isIdle = false
    this.#writing = bothOf(written, this.#digest.update(bytes))
      .finally(block.letGo)
      .then(() => {
        this.#isIdle = true
      })
    this.#block = undefined
    this.#used = 0
    // Thrown where it is awaited next; until then it must not count as unhandled.
    this.#writing.catch(() => {})
  }

  #hasWritten(bytes: number): void {
    this.#written += bytes
    if (!this.#sync || this.#isSyncing || this.#written - this.#syncBegun < syncedBytes) return
    this.#syncBegun = this.#written
    this.#isSyncing = true
    const begun = this.#handle.datasync().finally(() => {
      this.#isSyncing = false
    })
    this.#synced = bothOf(this.#synced ?? Promise.resolve(), begun)
    this.#synced.catch(() => {})
  }
}

/** Settles when both have: what fails may not let go of what the other still reads. */
async function bothOf(...works: [Promise<void>, Promise<void>]): Promise<void> {
  await Promise.allSettled(works)
  await Promise.all(works)
}

async function writeWhole(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten
}
