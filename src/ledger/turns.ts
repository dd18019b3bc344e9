// Beyond this a commit waits for something else than a disk of the machine's own: time in which another group can be on its way.
export const slowCommitMs = 5
/** How long a group waits for what is about to come. */
const gatherMs = 2

/**
 * When the next group begins: at once where none is on its way and nothing is known to be about to come, so that the cost of a commit is
 * shared and none that is alone waits for a timer; and where a commit is slow, beside it, so that what arrives meanwhile does not wait for two.
 */
export class Turns {
  readonly #most: number
  readonly #wanted: () => boolean
  readonly #turn: () => Promise<void>
  readonly #more: () => boolean
  #running = 0
  #beganAt = 0
  #gathering = false
  #timer: NodeJS.Timeout | undefined
  #patience: NodeJS.Timeout | undefined

  constructor(parts: { most: number; wanted: () => boolean; turn: () => Promise<void>; more?: () => boolean }) {
    this.#most = parts.most
    this.#wanted = parts.wanted
    this.#turn = parts.turn
    this.#more = parts.more ?? (() => false)
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

  /** That what is about to come has come, or will not. */
  arrived(): void {
    if (this.#patience && !this.#more()) this.#gathered()
  }

  #gather(): void {
    this.#gathering = true
    if (this.#wanted() && this.#more()) this.#patience = setTimeout(() => this.#gathered(), gatherMs)
    else this.#gathered()
  }

  #gathered(): void {
    clearTimeout(this.#patience)
    this.#patience = undefined
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
