import type { Pool, PoolClient } from 'pg'
import { outcomeUnknown, overloaded } from '../platform/errors/errors.js'
import { appendStatement } from './append.js'
import { commitGroup, LockedOut, unavailable, type Waiting } from './commit-group.js'
import { slowCommitMs, Turns } from './turns.js'

const maxLockAttempts = 10
const maxRunning = 2

/**
 * Commits entries that only append rows. Entries of any tenants share one statement and one commit, without a lock. Entries that
 * arrive while a group commits form the next group.
 */
export class AppendLane {
  readonly turns: Turns
  readonly #pool: Pool
  readonly #maxGroup: number
  readonly #maxWaiting: number
  readonly #onWritten: (group: Waiting[]) => Promise<void>
  #waiting: Waiting[] = []

  constructor(parts: {
    pool: Pool
    maxGroup: number
    maxWaiting: number
    onWritten: (group: Waiting[]) => Promise<void>
  }) {
    this.#pool = parts.pool
    this.#maxGroup = parts.maxGroup
    this.#maxWaiting = parts.maxWaiting
    this.#onWritten = parts.onWritten
    this.turns = new Turns({
      most: maxRunning,
      wanted: () => this.#waiting.length > 0,
      turn: () => this.#commit(this.#waiting.splice(0, this.#maxGroup)),
    })
  }

  get waiting(): number {
    return this.#waiting.length
  }

  get idle(): boolean {
    return this.turns.idle && this.#waiting.length === 0
  }

  push(waiting: Waiting): void {
    if (this.#waiting.length < this.#maxWaiting) this.#waiting.push(waiting)
    else waiting.reject(overloaded('The service is overloaded. Retry later.'))
    this.turns.wake()
  }

  async #commit(group: Waiting[]): Promise<void> {
    const began = performance.now()
    let client: PoolClient | undefined
    let broken: Error | undefined
    let answered: Promise<void>[] = []
    try {
      client = await this.#pool.connect()
      answered = await this.#write(client, group)
    } catch (error) {
      broken = error as Error
      const told = client && !(error instanceof LockedOut) ? outcomeUnknown(error) : unavailable(error)
      for (const waiting of group) waiting.reject(told)
    } finally {
      client?.release(broken)
    }
    // Callers that are answered together may call again together. If commits are slow, they share the next one.
    if (performance.now() - began > slowCommitMs)
      await Promise.all(answered).then(() => new Promise((resolve) => setImmediate(resolve)))
  }

  // Only a change of the log's partitions locks it, for a moment.
  async #write(client: PoolClient, group: Waiting[]): Promise<Promise<void>[]> {
    const answered: Promise<void>[] = []
    for (let attempt = 1; ; attempt++)
      try {
        await commitGroup(client, group, async (on, part) => {
          await on.query(appendStatement(part.map(({ entry }) => entry)))
          answered.push(this.#onWritten(part))
        })
        return answered
      } catch (error) {
        if (!(error instanceof LockedOut) || attempt === maxLockAttempts) throw error
      }
  }
}
