import type { Pool, PoolClient } from 'pg'
import { overloaded } from '../errors.js'
import { appendStatement } from './append.js'
import { commitGroup, inDoubt, LockedOut, unavailable, type Waiting } from './commit-group.js'

const mostLocked = 10

/**
 * Entries that only add, of any tenants: one statement, one commit, no lock. Those that arrive while a group is being committed go
 * in the next one, so that the cost of a durable commit is shared and none waits for a timer. One group at a time: two gained a quarter
 * where a commit takes 20 ms, and cost half where it takes none.
 */
export class AppendLane {
  readonly #pool: Pool
  readonly #maxGroup: number
  readonly #maxWaiting: number
  readonly #onWritten: (group: Waiting[]) => void
  #waiting: Waiting[] = []
  #running = false

  constructor(parts: { pool: Pool; maxGroup: number; maxWaiting: number; onWritten: (group: Waiting[]) => void }) {
    this.#pool = parts.pool
    this.#maxGroup = parts.maxGroup
    this.#maxWaiting = parts.maxWaiting
    this.#onWritten = parts.onWritten
  }

  get waiting(): number {
    return this.#waiting.length
  }

  get idle(): boolean {
    return !this.#running
  }

  push(waiting: Waiting): void {
    if (this.#waiting.length < this.#maxWaiting) this.#waiting.push(waiting)
    else waiting.reject(overloaded('Too many calls wait to be recorded; try again in a moment.'))
    if (!this.#running) void this.#run()
  }

  async #run(): Promise<void> {
    this.#running = true
    // What arrives in this turn of the event loop belongs to the first group already.
    await new Promise(setImmediate)
    while (this.#waiting.length > 0) await this.#commit(this.#waiting.splice(0, this.#maxGroup))
    this.#running = false
  }

  async #commit(group: Waiting[]): Promise<void> {
    let client: PoolClient | undefined
    let broken: Error | undefined
    try {
      client = await this.#pool.connect()
      await this.#write(client, group)
    } catch (error) {
      broken = error as Error
      const told = client && !(error instanceof LockedOut) ? inDoubt(error) : unavailable(error)
      for (const waiting of group) waiting.reject(told)
    } finally {
      client?.release(broken)
    }
  }

  // Only a change of the log's partitions makes it wait, and that is over in moments.
  async #write(client: PoolClient, group: Waiting[]): Promise<void> {
    for (let attempt = 1; ; attempt++)
      try {
        return await commitGroup(client, group, async (on, part) => {
          await on.query(appendStatement(part.map(({ entry }) => entry)))
          this.#onWritten(part)
        })
      } catch (error) {
        if (!(error instanceof LockedOut) || attempt === mostLocked) throw error
      }
  }
}
