// A smaller block costs the garbage collector next to nothing.
const minReusedBytes = 64 * 1024

/**
 * Memory that all uploads of a process may hold, in blocks that are reused. V8 counts a new block against the limit of its heap: it
 * marked the whole heap for every 16 uploads of 1 MiB, which took half of the CPU time of an upload.
 */
export class UploadMemory {
  /** Bytes that are in no block. */
  #free: number
  readonly #idle: Buffer[] = []

  /** `bytes` limits the blocks in use and the idle blocks together. */
  constructor(bytes: number) {
    this.#free = bytes
  }

  /** Returns a block of `bytes` bytes, or up to twice as many, with arbitrary content. Undefined if the memory is in use. */
  take(bytes: number): Buffer | undefined {
    const index = this.#idle.findLastIndex(({ length }) => length >= bytes && length <= 2 * bytes)
    if (index >= 0) return this.#idle.splice(index, 1)[0]
    while (this.#free < bytes && this.#idle.length > 0) this.#free += this.#idle.shift()!.length
    if (this.#free < bytes) return undefined
    this.#free -= bytes
    return Buffer.allocUnsafeSlow(bytes)
  }

  /** For a block that may still be read: only its bytes are free again. */
  release(block: Buffer): void {
    this.#free += block.length
  }

  /** For a block that is not read any more: the next upload overwrites it. */
  reuse(block: Buffer): void {
    if (block.length >= minReusedBytes) this.#idle.push(block)
    else this.release(block)
  }
}
