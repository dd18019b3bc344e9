// A Buffer costs about a hundred bytes, however few it holds.
const small = 4_096

/** Chunks that are kept until they are used. Small ones are copied together, so that bytes bound the number of Buffers too. */
export class Batch {
  size = 0
  #chunks: Buffer[] = []
  #block: Buffer | undefined
  #used = 0

  add(chunk: Buffer): void {
    this.size += chunk.length
    if (chunk.length >= small) {
      this.#closeBlock()
      this.#chunks.push(chunk)
      return
    }
    if (this.#used + chunk.length > small) this.#closeBlock()
    this.#block ??= Buffer.allocUnsafe(small)
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
