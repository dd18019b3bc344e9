import { overloaded } from '../platform/errors/errors.js'

const mostAtOnce = 500
const mostWaiting = 5_000
// After statements that found nothing the next waits for more to ask: guesses are then some twenty statements a second, however many come.
const pauseMs = 5
const mostPauseMs = 50

interface Waiting<Asked, Found> {
  asked: Asked
  resolve(found: Found | null): void
  reject(error: unknown): void
}

/**
 * Look-ups of what the process does not know: those that wait go to the database together, one statement at a time. A flood of
 * guessed credentials costs it no more than one connection and few statements, and a good one among them waits for two of them at most.
 */
export class LookupLane<Asked, Found> {
  readonly #load: (asked: readonly Asked[]) => Promise<readonly (Found | null)[]>
  readonly #minPauseMs: number
  #waiting: Waiting<Asked, Found>[] = []
  #isRunning = false
  #fruitless = 0
  #notBefore = 0

  /** `minPauseMs`: pause after every statement, for lookups that are probably guesses. */
  constructor(load: (asked: readonly Asked[]) => Promise<readonly (Found | null)[]>, { minPauseMs = 0 } = {}) {
    this.#load = load
    this.#minPauseMs = minPauseMs
  }

  find(asked: Asked): Promise<Found | null> {
    if (this.#waiting.length >= mostWaiting)
      return Promise.reject(overloaded('Too many unknown credentials are looked up at once; try again in a moment.'))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ asked, resolve, reject })
      if (!this.#isRunning) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#waiting.length > 0) {
      const wait = this.#notBefore - performance.now()
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
      const batch = this.#waiting.splice(0, mostAtOnce)
      try {
        const found = await this.#load(batch.map(({ asked }) => asked))
        this.#pace(found)
        for (const [at, { resolve }] of batch.entries()) resolve(found[at] ?? null)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#isRunning = false
  }

  #pace(found: readonly (Found | null)[]): void {
    this.#fruitless = found.some((each) => each !== null) ? 0 : this.#fruitless + 1
    this.#notBefore = performance.now() + Math.max(this.#minPauseMs, Math.min(mostPauseMs, this.#fruitless * pauseMs))
  }
}
