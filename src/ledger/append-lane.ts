import type { Pool, PoolClient } from 'pg'
import { outcomeUnknown, overloaded } from '../platform/errors/errors.js'
import { appendStatement, type Reading } from './append.js'
import { commitGroup, isRefusal, LockedOut, unavailable, type Waiting } from './commit-group.js'
import type { Entry } from './entry.js'
import type { Statement } from './statement.js'
import { slowCommitMs, Turns } from './turns.js'

const mostLocked = 10
const mostAtOnce = 2
/** After so many calls that read the same, the next is taken for one of them. */
const manyAlike = 16

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
  /** Of what was asked for last: its key, and how many before it had the same, one after the other. */
  #lastKey: string | undefined
  #alike = 0

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
   * Records the entry by the statement that reads: one round trip and not two. Undefined where it was not: others come that do not read
   * the same, it failed, or `isRecorded` says so of the rows.
   */
  read(entry: Entry, reading: Reading, isRecorded: (rows: object[]) => boolean = () => true): Promise<object[] | undefined> {
    const isOne = this.#isOneOfMany(reading.shared?.key)
    if (!isOne && !this.isAlone) return Promise.resolve(undefined)
    const asked: NonNullable<Waiting['reading']> = { ...reading, isRecorded }
    return new Promise((resolve, reject) => this.push({ entry, reading: asked, resolve: () => resolve(asked.rows), reject }))
  }

  /** Whether all that comes reads the same. */
  #isOneOfMany(key: string | undefined): boolean {
    this.#alike = key !== undefined && key === this.#lastKey ? this.#alike + 1 : 0
    this.#lastKey = key
    return this.#alike >= manyAlike
  }

  /** Work that reads by itself, and that an entry comes right behind. */
  before<T>(work: Promise<T>): Promise<T> {
    this.#alike = 0
    return this.turns.before(work)
  }

  push(waiting: Waiting): void {
    if (this.#waiting.length < this.#maxWaiting) this.#waiting.push(waiting)
    else waiting.reject(overloaded('Too many calls wait to be recorded; try again in a moment.'))
    this.turns.wake()
  }

  /** A reading that others have come to gives way, unless it can be read with them. */
  #nextGroup(): Waiting[] {
    const group = this.#waiting.splice(0, this.#maxGroup)
    this.#together = Math.max(group.length, this.#together - 1)
    if (group.length === 1) return group
    const key = group.find(({ reading }) => reading)?.reading?.shared?.key
    for (const waiting of group) if (waiting.reading && (!key || waiting.reading.shared?.key !== key)) leave(waiting)
    return group
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
          const written = await record(on, part)
          if (written.length > 0) answered.push(this.#onWritten(written))
        })
        return answered
      } catch (error) {
        if (!(error instanceof LockedOut) || attempt === mostLocked) throw error
      }
  }
}

/** It is then read, and its call recorded, by themselves. */
function leave({ reading, resolve }: Waiting): void {
  reading!.isLeft = true
  resolve()
}

/** By one statement; gives those that it recorded. */
async function record(client: PoolClient, all: Waiting[]): Promise<Waiting[]> {
  const group = all.filter(({ reading }) => !reading?.isLeft)
  if (group.length === 0) return []
  const readers = group.filter(({ reading }) => reading)
  try {
    const { rows } = await client.query<object>(statementOf(group, readers[0]?.reading))
    for (const { reading, resolve } of readers)
      if (reading!.isRecorded(rows)) reading!.rows = rows
      else resolve()
    return group.filter(({ reading }) => !reading || reading.rows)
  } catch (error) {
    if (readers.length === 0 || group.length === 1 || !isRefusal(error)) throw error
    // What only records does not suffer by what reads.
    readers.forEach(leave)
    return record(client, group)
  }
}

function statementOf(group: Waiting[], reading: Reading | undefined): Statement {
  const entries = group.map(({ entry }) => entry)
  if (!reading) return appendStatement(entries)
  return group.length === 1 ? reading.alone(entries[0]!) : reading.shared!.together(entries)
}

/** Refused, it is not written: what it reads is then read, and its call recorded, by themselves. */
const undoneWhereRefused = (waiting: Waiting): Waiting => (waiting.reading ? { ...waiting, reject: waiting.resolve } : waiting)
