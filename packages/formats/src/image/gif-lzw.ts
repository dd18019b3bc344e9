export class GifFrameData {
  private readonly clear: number
  private readonly lengths = new Uint32Array(4096)
  private width: number
  private next: number
  private previous = -1
  private bits = 0
  private held = 0
  private pixels = 0
  private ended = false
  private problem: string | undefined

  constructor(
    private readonly codeSize: number,
    private readonly wanted: number,
  ) {
    this.clear = 1 << codeSize
    this.width = codeSize + 1
    this.next = this.clear + 2
    this.lengths.fill(1, 0, this.clear)
  }

  addBytes(bytes: Buffer): void {
    if (this.ended || this.problem) return
    for (const byte of bytes) {
      this.held |= byte << this.bits
      this.bits += 8
      while (this.bits >= this.width) {
        const code = this.held & ((1 << this.width) - 1)
        this.held >>>= this.width
        this.bits -= this.width
        this.decodeCode(code)
        if (this.ended || this.problem) return
      }
    }
  }

  findProblem(): string | undefined {
    if (this.problem) return this.problem
    if (this.pixels < this.wanted) return `the data ends after ${this.pixels} of ${this.wanted} pixels`
    return undefined
  }

  private decodeCode(code: number): void {
    if (code === this.clear) {
      this.width = this.codeSize + 1
      this.next = this.clear + 2
      this.previous = -1
      return
    }
    if (code === this.clear + 1) {
      this.ended = true
      return
    }
    // A code that is not in the table yet is valid only if it is the next one to be defined.
    const known = code < this.clear || (code > this.clear + 1 && code < this.next)
    if (!known && !(code === this.next && this.previous >= 0 && this.next < 4096)) {
      // Readers stop decoding after the last pixel, so an undefined code after it does no harm.
      if (this.pixels >= this.wanted) this.ended = true
      else this.problem = `the data uses code ${code} before defining it`
      return
    }
    if (this.previous >= 0 && this.next < 4096) {
      this.lengths[this.next] = (this.lengths[this.previous] as number) + 1
      this.next++
      if (this.next === 1 << this.width && this.width < 12) this.width++
    }
    this.pixels += this.lengths[code] as number
    this.previous = code
  }
}
