/** Takes chunks one after another; its faults are its own. */
export interface ChunkSink {
  /** What it gives is waited for before the next. */
  write(chunk: Buffer): Promise<void> | undefined
  end(): void
  fail(error: unknown): void
}

/** The chunks of one part, for a sink that may come later than they do, and may take its time. */
export class PartChunks {
  /** Whether more of the part may come. */
  isOpen = true
  readonly #onReady: () => void
  readonly #waiting: Buffer[] = []
  #sink: ChunkSink | undefined
  #isBusy = false
  #end: (() => void) | undefined

  /** `onReady` is called when all that came is used. */
  constructor(onReady: () => void) {
    this.#onReady = onReady
  }

  /** Whether a chunk would be used at once. */
  get isReady(): boolean {
    return this.#sink !== undefined && !this.#isBusy && this.#waiting.length === 0
  }

  push(chunk: Buffer): void {
    if (!this.isReady) this.#waiting.push(chunk)
    else this.#use(chunk)
  }

  end(): void {
    this.#close(() => this.#sink!.end())
  }

  /** What waits is used all the same. */
  fail(error: unknown): void {
    this.#close(() => this.#sink!.fail(error))
  }

  into(sink: ChunkSink): void {
    this.#sink = sink
    this.#goOn()
  }

  #close(end: () => void): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.#end = end
    if (this.isReady) end()
  }

  #use(chunk: Buffer): void {
    const busy = this.#sink!.write(chunk)
    if (!busy) return
    this.#isBusy = true
    void busy.then(() => {
      this.#isBusy = false
      this.#goOn()
    })
  }

  #goOn(): void {
    while (this.#waiting.length > 0 && !this.#isBusy) this.#use(this.#waiting.shift()!)
    if (this.#isBusy) return
    this.#end?.()
    this.#onReady()
  }
}
