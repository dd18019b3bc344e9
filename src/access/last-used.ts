import { now } from '../platform/clock.js'

export interface KeyUse {
  apiKeyId: string
  at: Date
}

const everyMs = 5_000

/** `last_used_at` without a write per call: the latest use of each key, written together every few seconds. */
export class LastUsed {
  #uses = new Map<string, number>()
  /** Of the last round, until the next: what was read from the database while they were written knows nothing of them. */
  #written = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  /** `write` keeps what is later than what is stored: `… set last_used_at = greatest(last_used_at, at) from unnest(…)`. */
  readonly #write: (uses: KeyUse[]) => Promise<void>
  readonly #onError: ((error: Error) => void) | undefined

  constructor(write: (uses: KeyUse[]) => Promise<void>, onError?: (error: Error) => void) {
    this.#write = write
    this.#onError = onError
  }

  start(): void {
    this.#timer = setInterval(() => void this.flush(), everyMs).unref()
  }

  touch(apiKeyId: string): void {
    this.#uses.set(apiKeyId, now())
  }

  /** Where the use that is kept is older than one of this replica, which may not be written yet, that one. */
  latest(apiKeyId: string, kept: Date | null): Date | null {
    const at = this.#uses.get(apiKeyId) ?? this.#written.get(apiKeyId) ?? 0
    return at > (kept?.getTime() ?? 0) ? new Date(at) : kept
  }

  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#writeAll())
    return this.#writing
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  async #writeAll(): Promise<void> {
    const uses = this.#uses
    this.#written = uses
    if (uses.size === 0) return
    this.#uses = new Map()
    try {
      // In the order of the ids, so that two replicas never wait for each other in a circle.
      const sorted = [...uses].sort(([one], [other]) => (one < other ? -1 : 1))
      await this.#write(sorted.map(([apiKeyId, at]) => ({ apiKeyId, at: new Date(at) })))
    } catch (error) {
      for (const [id, at] of uses) if (!this.#uses.has(id)) this.#uses.set(id, at)
      this.#onError?.(error as Error)
    }
  }
}
