import type { PoolClient } from 'pg'
import { sqlFault } from '../platform/db/sql-errors.js'
import { AssayError, databaseUnavailable } from '../platform/errors/errors.js'
import type { Entry } from './entry.js'
import { ensurePartitionsOn } from './partitions.js'

/** A prepared statement, as `pg` takes it. */
export interface Statement {
  name: string
  text: string
  values: unknown[]
}

/** An entry cannot be serialized for the database. */
export class Unwritable extends Error {
  override readonly name = 'Unwritable'
}

// A commit that takes longer does not wait for a local disk only. Another group can be committed in the meantime.
export const slowCommitMs = 5
/** Time that a group waits for announced work. */
const gatherMs = 2

/**
 * Decides when the next group starts. If no group runs and no work is announced, it starts immediately, so that a single entry does not
 * wait for a timer. If a commit is slow, the next group starts beside it, so that new entries do not wait for two commits. A group waits
 * once for announced work, and only for work that was announced before the group was first wanted.
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
  /** Number of announced pieces of work, and those of them that the group waits for. */
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

  /** To be called when an entry waits. Entries of the same turn of the event loop belong to the same group. */
  wake(): void {
    if (this.#running > 0) this.#beside()
    else if (!this.#gathering) {
      this.#gathering = true
      setImmediate(() => this.#gather())
    }
  }

  /** Announces work that is followed by an entry for a group. */
  async before<T>(work: Promise<T>): Promise<T> {
    const coming = this.#coming
    coming.left++
    try {
      return await work
    } finally {
      // By then the entry waits, or will not come.
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

/** An entry and the call that waits for it. */
export interface Waiting {
  entry: Entry
  resolve: () => void
  reject: (error: unknown) => void
}

/** The group waited too long for a lock. Nothing of it is in the database. */
export class LockedOut extends Error {
  override readonly name = 'LockedOut'
}

const maxAttempts = 5

/**
 * Writes a group by one statement, which is one transaction. Repeats it after a deadlock, creates a missing partition, and writes the
 * entries one by one if one of them is invalid. Entries that fail are rejected here. Throws `LockedOut` if nothing of the group is
 * written, or the error that broke the connection: then the outcome of the unsettled entries is unknown.
 */
export async function commitGroup(
  client: PoolClient,
  group: Waiting[],
  write: (client: PoolClient, group: Waiting[]) => Promise<void>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    let cause: unknown
    try {
      return await write(client, group)
    } catch (error) {
      if (!isRejection(error)) throw error
      cause = error
    }
    const fault = sqlFault(cause)
    if (fault === 'locked') throw new LockedOut('Another transaction holds a lock.', { cause })
    if (attempt < maxAttempts && fault === 'contention') continue
    if (attempt < maxAttempts && fault === 'missing_partition') {
      await ensurePartitionsOn(client)
      continue
    }
    if (group.length === 1 || fault === 'hardship') {
      for (const { reject } of group) reject(fault === 'other' || fault === 'duplicate' ? cause : unavailable(cause))
      return
    }
    // One by one, so that only the invalid entry fails. An entry that is written must not be tried again with the rest.
    for (const waiting of group)
      await commitGroup(client, [waiting], write).catch((error) => {
        if (!(error instanceof LockedOut)) throw error
        waiting.reject(unavailable(error))
      })
    return
  }
}

/** PostgreSQL rejected the statement and the connection stays usable, or the entry never reached PostgreSQL. FATAL is not a rejection. */
function isRejection(error: unknown): boolean {
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  return error instanceof Unwritable || (severity === 'ERROR' && typeof code === 'string' && !/^(08|57P)/.test(code))
}

export const unavailable = (error: unknown) =>
  error instanceof AssayError || sqlFault(error) === 'unreachable'
    ? error
    : databaseUnavailable('The database did not store this call. Retry later.', error)
