// Beyond this a commit waits for something else than a disk of the machine's own: time in which another group can be on its way.
export const slowCommitMs = 5
/** How long a group waits for what is about to come. */
const gatherMs = 2

/**
 * When the next group begins: at once where none is on its way and nothing is known to be about to come, so that the cost of a commit is
 * shared and none that is alone waits for a timer; and where a commit is slow, beside it, so that what arrives meanwhile does not wait for two.
 * What is about to come is waited for once, and only what was known of when the group was first wanted.
 */
export class Turns {
  readonly #most: number
  readonly #wanted: () => boolean
  readonly #turn: () => Promise<void>
  #running = 0
  #beganAt = 0
  #gathering = false
  #timer: NodeJS.Timeout | undefined
  #patience: NodeJS.Timeout | undefined
  /** How much is about to come; and of that, what the group waits for. */
  #coming = { left: 0 }
  #awaited: { left: number } | undefined

  constructor(parts: { most: number; wanted: () => boolean; turn: () => Promise<void> }) {
    this.#most = parts.most
    this.#wanted = parts.wanted
    this.#turn = parts.turn
  }

  get idle(): boolean {
    return this.#running === 0 && !this.#gathering
  }

  /** That something waits for a turn. What arrives in this turn of the event loop belongs to the same group. */
  wake(): void {
    if (this.#running > 0) this.#beside()
    else if (!this.#gathering) {
      this.#gathering = true
      setImmediate(() => this.#gather())
    }
  }

  /** Work that something for a group comes right behind. */
  async before<T>(work: Promise<T>): Promise<T> {
    const coming = this.#coming
    coming.left++
    try {
      return await work
    } finally {
      // When it is there, or will not come.
      setImmediate(() => {
        if (--coming.left === 0 && coming === this.#awaited) this.#gathered()
      })
    }
  }

  #gather(): void {
    this.#gathering = true
    if (this.#wanted() && this.#coming.left > 0) {
      this.#awaited = this.#coming
      this.#coming = { left: 0 }
      this.#patience = setTimeout(() => this.#gathered(), gatherMs)
    } else this.#gathered()
  }

  #gathered(): void {
    clearTimeout(this.#patience)
    this.#awaited = undefined
    this.#gathering = false
    this.#begin()
  }

  #begin(): void {
    if (!this.#wanted()) return
    this.#running++
    this.#beganAt = performance.now()
    void this.#turn().finally(() => {
      this.#running--
      if (this.#running === 0) this.#gather()
      else this.#beside()
    })
    this.#beside()
  }

  #beside(): void {
    if (this.#timer || this.#running >= this.#most || !this.#wanted()) return
    const remaining = Math.max(1, this.#beganAt + slowCommitMs - performance.now())
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (this.#running > 0 && this.#running < this.#most) this.#begin()
    }, remaining)
  }
}
