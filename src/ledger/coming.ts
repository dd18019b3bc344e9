/**
 * What a group waits for: entries that were about to come when it was first wanted. Later ones are the next group's, so that the wait has
 * an end also where there are always some.
 */
export class Coming {
  readonly #onArrived: () => void
  #begun = 0
  #ended = 0
  #awaited: number | undefined

  constructor(onArrived: () => void) {
    this.#onArrived = onArrived
  }

  /** Work that an entry comes right behind. */
  async before<T>(work: Promise<T>): Promise<T> {
    this.#begun++
    try {
      return await work
    } finally {
      // When the entry is there.
      setImmediate(() => {
        this.#ended++
        this.#onArrived()
      })
    }
  }

  /** Whether any entry is about to come. */
  get expected(): boolean {
    return this.#ended < this.#begun
  }

  /** Whether the group that is wanted waits on. */
  get more(): boolean {
    this.#awaited ??= this.#begun
    return this.#ended < this.#awaited
  }

  /** The group begins. */
  begin(): void {
    this.#awaited = undefined
  }
}
