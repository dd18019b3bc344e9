// A Buffer needs about 100 bytes in addition to its content.
const blockBytes = 4_096

/** Collects chunks until they are taken. Copies small chunks into blocks, which limits the number of Buffers. */
export class Batch {
  size = 0
  #chunks: Buffer[] = []
  #block: Buffer | undefined
  #used = 0

  add(chunk: Buffer): void {
    this.size += chunk.length
    if (chunk.length >= blockBytes) {
      this.#closeBlock()
      this.#chunks.push(chunk)
      return
    }
    if (this.#used + chunk.length > blockBytes) this.#closeBlock()
    this.#block ??= Buffer.allocUnsafe(blockBytes)
    this.#used += chunk.copy(this.#block, this.#used)
  }

  take(): Buffer[] {
    this.#closeBlock()
    const chunks = this.#chunks
    this.#chunks = []
    this.size = 0
    return chunks
  }

  #closeBlock(): void {
    if (this.#block && this.#used > 0) this.#chunks.push(this.#block.subarray(0, this.#used))
    this.#block = undefined
    this.#used = 0
  }
}
