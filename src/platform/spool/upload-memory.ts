// Smaller blocks hardly affect the garbage collector.
const minReusedBytes = 64 * 1024

/**
 * Limits the memory of all uploads of a process, and reuses its blocks. V8 counts a new block against its heap limit. Without
 * reuse, it marked the whole heap for every 16 uploads of 1 MiB, which took half of the CPU time.
 */
export class UploadMemory {
  /** Budget that is not in use by a block, in bytes. */
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

  /** Frees the memory of a block that may still be read. */
  release(block: Buffer): void {
    this.#free += block.length
  }

  /** Returns a block that is not read any more. The next upload overwrites it. */
  reuse(block: Buffer): void {
    if (block.length >= minReusedBytes) this.#idle.push(block)
    else this.release(block)
  }
}
