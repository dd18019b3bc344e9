import type { Pool, PoolClient } from 'pg'
import { overloaded } from '../errors.js'
import { appendStatement } from './append.js'
import { commitGroup, inDoubt, LockedOut, unavailable, type Waiting } from './commit-group.js'
import type { Entry } from './entry.js'
import type { Statement } from './statement.js'
import { slowCommitMs, Turns } from './turns.js'

const mostLocked = 10
const mostAtOnce = 2

/** Entries that only add, of any tenants: one statement, one commit, no lock. Those that arrive meanwhile go in the next group. */
export class AppendLane {
  readonly turns: Turns
  readonly #pool: Pool
  readonly #maxGroup: number
  readonly #maxWaiting: number
  readonly #onWritten: (group: Waiting[]) => Promise<void>
  #waiting: Waiting[] = []
  /** How many came together of late: as many as in the largest group, one less with each since. */
  #together = 0

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
      most: mostAtOnce,
      wanted: () => this.#waiting.length > 0,
      turn: () => this.#commit(this.#nextGroup()),
    })
  }

  get waiting(): number {
    return this.#waiting.length
  }

  get idle(): boolean {
    return this.turns.idle && this.#waiting.length === 0
  }

  /** Whether calls come one at a time, and an entry now would be all of its group. */
  get isAlone(): boolean {
    return this.#together <= 1 && this.idle && !this.turns.expecting
  }

  /**
   * Records the entry by the statement that reads, where calls come one at a time: one round trip and not two. Undefined where they do
   * not, since a group of calls is cheaper, or where nothing was recorded: it failed, or `isRecorded` says so of the rows.
   */
  read(
    entry: Entry,
    statement: (entry: Entry) => Statement,
    isRecorded: (rows: object[]) => boolean = () => true,
  ): Promise<object[] | undefined> {
    if (!this.isAlone) return Promise.resolve(undefined)
    let rows: object[] | undefined
    const reading = async (client: PoolClient) => {
      const found = (await client.query<object>(statement(entry))).rows
      if (isRecorded(found)) rows = found
      return rows !== undefined
    }
    return new Promise((resolve, reject) => this.push({ entry, reading, resolve: () => resolve(rows), reject }))
  }

  push(waiting: Waiting): void {
    if (this.#waiting.length < this.#maxWaiting) this.#waiting.push(waiting)
    else waiting.reject(overloaded('Too many calls wait to be recorded; try again in a moment.'))
    this.turns.wake()
  }

  /** A reading that others have come to gives way. */
  #nextGroup(): Waiting[] {
    const group = this.#waiting.splice(0, this.#maxGroup)
    this.#together = Math.max(group.length, this.#together - 1)
    if (group.length === 1) return group
    for (const { reading, resolve } of group) if (reading) resolve()
    return group.filter(({ reading }) => !reading)
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
      const told = client && !(error instanceof LockedOut) ? inDoubt(error) : unavailable(error)
      for (const waiting of group) waiting.reject(told)
    } finally {
      client?.release(broken)
    }
    // Those answered together may come together again: where a commit is dear they share the next one.
    if (performance.now() - began > slowCommitMs)
      await Promise.all(answered).then(() => new Promise((resolve) => setImmediate(resolve)))
  }

  // Only a change of the log's partitions makes it wait, and that is over in moments.
  async #write(client: PoolClient, group: Waiting[]): Promise<Promise<void>[]> {
    const answered: Promise<void>[] = []
    for (let attempt = 1; ; attempt++)
      try {
        await commitGroup(client, group.map(undoneWhereRefused), async (on, part) => {
          const [{ reading, resolve }] = part as [Waiting]
          if (!reading) await on.query(appendStatement(part.map(({ entry }) => entry)))
          else if (!(await reading(on))) return resolve()
          answered.push(this.#onWritten(part))
        })
        return answered
      } catch (error) {
        if (!(error instanceof LockedOut) || attempt === mostLocked) throw error
      }
  }
}

/** Refused, it is not written: what it reads is then read, and its call recorded, by themselves. */
const undoneWhereRefused = (waiting: Waiting): Waiting => (waiting.reading ? { ...waiting, reject: waiting.resolve } : waiting)
