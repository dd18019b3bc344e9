import type { FileHandle } from 'node:fs/promises'
import type { Slabs } from '../workers/slabs.js'

const blockBytes = 512 * 1024

interface Block {
  bytes: Buffer
  letGo(): void
}

/**
 * Writes one block while the next is received: disk and network do not wait for each other, and no more than two blocks are held. Chunks
 * are copied into them: those that were kept until they are written would outlive their turn, for which the garbage collector marks
 * the whole heap again and again.
 */
export class BehindWriter {
  readonly #handle: FileHandle
  readonly #slabs: Slabs
  #block: Block | undefined
  #used = 0
  #writing: Promise<void> = Promise.resolve()

  constructor(handle: FileHandle, slabs: Slabs) {
    this.#handle = handle
    this.#slabs = slabs
  }

  /** To be awaited before the next. */
  async write(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      this.#block ??= this.#newBlock()
      const { bytes } = this.#block
      const taken = chunk.copy(bytes, this.#used, at)
      at += taken
      this.#used += taken
      if (this.#used === bytes.length) await this.#flush()
    }
  }

  async end(): Promise<void> {
    await this.#flush()
    await this.#writing
    await this.#handle.close()
  }

  /** Ends as well, but for what the disk still has to do. */
  async endSyncing(): Promise<{ synced: Promise<void> }> {
    await this.#flush()
    await this.#writing
    const synced = this.#handle.datasync().finally(() => this.#handle.close())
    // Not awaited where the file is refused.
    synced.catch(() => {})
    return { synced }
  }

  async abandon(): Promise<void> {
    await this.#writing.catch(() => {})
    this.#block?.letGo()
    this.#block = undefined
    await this.#handle.close().catch(() => {})
  }

  #newBlock(): Block {
    const slab = this.#slabs.take(blockBytes)
    return slab ? { bytes: slab.bytes, letGo: slab.hold() } : { bytes: Buffer.allocUnsafeSlow(blockBytes), letGo: () => {} }
  }

  async #flush(): Promise<void> {
    await this.#writing
    const block = this.#block
    if (!block) return
    this.#writing = writeWhole(this.#handle, block.bytes.subarray(0, this.#used)).finally(block.letGo)
    this.#block = undefined
    this.#used = 0
    // Thrown where it is awaited next; until then it must not count as unhandled.
    this.#writing.catch(() => {})
  }
}

async function writeWhole(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten
}
