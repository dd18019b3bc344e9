/** Closes what was opened, last first, once, also when asked to in the middle of opening. */
export class Lifecycle {
  readonly #closers: (() => Promise<unknown>)[] = []
  #opening: Promise<unknown> = Promise.resolve()
  #closed: Promise<void> | undefined

  get isClosing(): boolean {
    return this.#closed !== undefined
  }

  /** Opens one thing, and remembers how it is closed. */
  async open<T>(open: () => Promise<T>, close: (opened: T) => Promise<unknown>): Promise<T> {
    this.refuseToGoOn()
    const opening = open().then((opened) => {
      this.#closers.push(() => close(opened))
      return opened
    })
    this.#opening = opening.catch(() => {})
    const opened = await opening
    this.refuseToGoOn()
    return opened
  }

  refuseToGoOn(): void {
    if (this.isClosing) throw new Error('Stopped during start-up.')
  }

  /** Closes everything; a fault in one does not keep the others open, the first is thrown at the end. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    await this.#opening
    const faults: unknown[] = []
    for (const close of this.#closers.reverse()) await close().catch((error) => faults.push(error))
    if (faults.length > 0) throw faults[0]
  }
}
