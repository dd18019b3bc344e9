import { now } from '../platform/clock.js'

export interface KeyUse {
  apiKeyId: string
  at: Date
}

const everyMs = 5_000

/** Collects `last_used_at` of API keys and writes it every few seconds instead of at each call. */
export class LastUsed {
  #uses = new Map<string, number>()
  /** Uses of the previous write, kept until the next one, because values read from the database in the meantime may not include them. */
  #written = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  /** `write` stores the later of the stored and the new time: `… set last_used_at = greatest(last_used_at, at) from unnest(…)`. */
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

  /** Returns the later of the stored use and a use in this replica that may not be written yet. */
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
      // Sorted by id, so that two replicas cannot deadlock.
      const sorted = [...uses].sort(([one], [other]) => (one < other ? -1 : 1))
      await this.#write(sorted.map(([apiKeyId, at]) => ({ apiKeyId, at: new Date(at) })))
    } catch (error) {
      for (const [id, at] of uses) if (!this.#uses.has(id)) this.#uses.set(id, at)
      this.#onError?.(error as Error)
    }
  }
}
