import type { Pool } from 'pg'

interface Followed {
  /** As its readers have found it. */
  length: number
  listeners: Set<Listener>
}

const pollMs = 500

/** One that follows a journal. */
export class Listener {
  readonly #close: () => void
  readonly #onFound: (length: number) => void
  #isWoken = false
  #resolve = () => {}

  constructor(parts: { onFound: (length: number) => void; close: () => void }) {
    this.#onFound = parts.onFound
    this.#close = parts.close
  }

  /** From here on a wake counts: to be called before the journal is read. */
  arm(): void {
    this.#isWoken = false
  }

  wake(): void {
    this.#isWoken = true
    this.#resolve()
  }

  /** Until the journal is longer than it was found, which may have happened since `arm`. */
  async wait(length: number): Promise<void> {
    this.#onFound(length)
    if (this.#isWoken) return
    await new Promise<void>((resolve) => {
      this.#resolve = resolve
    })
  }

  close(): void {
    this.wake()
    this.#close()
  }
}

/**
 * Wakes those that follow a journal: at once by a commit of this process, and within half a second by one of another, which one poll
 * finds for all of them. NOTIFY would make commits wait for each other.
 */
export class JournalWakes {
  readonly #pool: Pool
  readonly #followed = new Map<string, Followed>()
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(pool: Pool) {
    this.#pool = pool
  }

  listen(tenantId: string): Listener {
    const followed = this.#followed.get(tenantId) ?? { length: 0, listeners: new Set() }
    this.#followed.set(tenantId, followed)
    const listener: Listener = new Listener({
      onFound: (length) => {
        followed.length = Math.max(followed.length, length)
      },
      close: () => {
        followed.listeners.delete(listener)
        if (followed.listeners.size === 0 && this.#followed.get(tenantId) === followed) this.#followed.delete(tenantId)
      },
    })
    followed.listeners.add(listener)
    this.#poll()
    return listener
  }

  wake(tenantId: string): void {
    for (const listener of this.#followed.get(tenantId)?.listeners ?? []) listener.wake()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    for (const tenantId of this.#followed.keys()) this.wake(tenantId)
  }

  #poll(): void {
    if (this.#timer !== undefined || this.#closed || this.#followed.size === 0) return
    this.#timer = setTimeout(async () => {
      // While the database is away there is nothing new.
      await this.#look().catch(() => {})
      this.#timer = undefined
      this.#poll()
    }, pollMs).unref()
  }

  async #look(): Promise<void> {
    const { rows } = await this.#pool.query<{ tenantId: string; length: number }>({
      name: 'journals-followed',
      text: 'SELECT tenant_id AS "tenantId", journal_length AS length FROM tenant_heads WHERE tenant_id = ANY ($1)',
      values: [[...this.#followed.keys()]],
    })
    for (const { tenantId, length } of rows) if (length > (this.#followed.get(tenantId)?.length ?? length)) this.wake(tenantId)
  }
}
