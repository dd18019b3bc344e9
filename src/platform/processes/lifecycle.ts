/** Called with the signal that stops the process, before the components are closed. */
export type PrepareShutdown = (signal: NodeJS.Signals) => Promise<void>

/**
 * Opens the components of a process, and closes each of them once, in reverse order. `close` waits for a component that is still
 * being opened.
 */
export class Lifecycle {
  readonly #closers: (() => Promise<unknown>)[] = []
  #opening: Promise<unknown> = Promise.resolve()
  #closed: Promise<void> | undefined
  #prepareShutdown: PrepareShutdown = async () => {}

  get isClosing(): boolean {
    return this.#closed !== undefined
  }

  /** Opens a component and registers its `close` function. */
  async open<T>(open: () => Promise<T>, close: (opened: T) => Promise<unknown>): Promise<T> {
    this.assertNotClosing()
    const opening = open().then((opened) => {
      this.#closers.push(() => close(opened))
      return opened
    })
    this.#opening = opening.catch(() => {})
    const opened = await opening
    this.assertNotClosing()
    return opened
  }

  assertNotClosing(): void {
    if (this.isClosing) throw new Error('The service was stopped during startup.')
  }

  /** Sets the function that `shutDown` calls first. */
  onShutdown(prepareShutdown: PrepareShutdown): void {
    this.#prepareShutdown = prepareShutdown
  }

  async shutDown(signal: NodeJS.Signals): Promise<void> {
    await this.#prepareShutdown(signal)
    await this.close()
  }

  /** Closes all components, even if some fail to close. Then throws the first error. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    await this.#opening
    const errors: unknown[] = []
    for (const close of this.#closers.reverse()) await close().catch((error) => errors.push(error))
    if (errors.length > 0) throw errors[0]
  }
}
