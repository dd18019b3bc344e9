import type { Pool, PoolClient } from 'pg'
import { getSqlErrorKind } from '../platform/db/sql-errors.js'
import { AssayError, createOutcomeUnknownError, databaseUnavailable } from '../platform/errors/errors.js'
import type { Entry } from './entry.js'
import { ensurePartitionsWithClient } from './partitions.js'

/** A prepared statement in the format of the `pg` library. */
export interface Statement {
  name: string
  text: string
  values: unknown[]
}

export class UnserializableError extends Error {
  override readonly name = 'UnserializableError'
}

// A commit that takes longer than this is probably waiting for more than a local disk, so the next group is committed
// concurrently.
const slowCommitMs = 5
/** Maximum time that a group waits for announced entries. */
const gatherMs = 2

/**
 * Decides when the next group is committed. A new entry is committed immediately, unless another group is being committed or
 * further entries are announced. If the running commit is slow, the next group is committed concurrently. A group waits only
 * once, and only for entries that were announced before the wait began.
 */
export class CommitScheduler {
  #running = 0
  #startedAt = 0
  #isGathering = false
  #slowTimer: NodeJS.Timeout | undefined
  #gatherTimer: NodeJS.Timeout | undefined
  /**
   * Number of announced entries that no group is waiting for yet. `#awaited` counts the entries that the next group is waiting
   * for.
   */
  #announced = { count: 0 }
  #awaited: { count: number } | undefined

  constructor(private readonly parts: { maxConcurrent: number; hasEntries: () => boolean; commitNext: () => Promise<void> }) {}

  get isIdle(): boolean {
    return this.#running === 0 && !this.#isGathering
  }

  /** Must be called after an entry has been queued. Entries queued in the same event loop iteration join the same group. */
  wake(): void {
    if (this.#running > 0) this.#scheduleConcurrentCommit()
    else if (!this.#isGathering) {
      this.#isGathering = true
      setImmediate(() => this.#startGathering())
    }
  }

  /** Announces that `work` will be followed by an entry. The next group waits briefly for that entry. */
  async announceEntryAfter<T>(work: Promise<T>): Promise<T> {
    const announced = this.#announced
    announced.count++
    try {
      return await work
    } finally {
      // One event loop iteration later, the announced entry has been queued, or the caller will not queue it at all.
      setImmediate(() => {
        if (--announced.count === 0 && announced === this.#awaited) this.#endGathering()
      })
    }
  }

  #startGathering(): void {
    this.#isGathering = true
    if (this.parts.hasEntries() && this.#announced.count > 0) {
      this.#awaited = this.#announced
      this.#announced = { count: 0 }
      this.#gatherTimer = setTimeout(() => this.#endGathering(), gatherMs)
    } else this.#endGathering()
  }

  #endGathering(): void {
    clearTimeout(this.#gatherTimer)
    this.#awaited = undefined
    this.#isGathering = false
    this.#startCommit()
  }

  #startCommit(): void {
    if (!this.parts.hasEntries()) return
    this.#running++
    this.#startedAt = performance.now()
    void this.parts.commitNext().finally(() => {
      this.#running--
      if (this.#running === 0) this.#startGathering()
      else this.#scheduleConcurrentCommit()
    })
    this.#scheduleConcurrentCommit()
  }

  /** Commits the next group concurrently if the running commit is slow. */
  #scheduleConcurrentCommit(): void {
    if (this.#slowTimer || this.#running >= this.parts.maxConcurrent || !this.parts.hasEntries()) return
    const remaining = Math.max(1, this.#startedAt + slowCommitMs - performance.now())
    this.#slowTimer = setTimeout(() => {
      this.#slowTimer = undefined
      if (this.#running > 0 && this.#running < this.parts.maxConcurrent) this.#startCommit()
    }, remaining)
  }
}

/** An entry with the callbacks that resolve or reject its caller's promise. */
export interface PendingEntry {
  entry: Entry
  resolve: () => void
  reject: (error: unknown) => void
}

/** Thrown if a group waited too long for a lock. No entry of the group was written. */
export class LockTimeoutError extends Error {
  override readonly name = 'LockTimeoutError'
}

/**
 * Calls `write` with a connection. If `write` fails, closes the connection and rejects the entries that `getUnansweredEntries`
 * returns.
 */
export async function writeWithConnection(
  pool: Pool,
  write: (client: PoolClient) => Promise<void>,
  getUnansweredEntries: () => Pick<PendingEntry, 'reject'>[],
): Promise<void> {
  let client: PoolClient | undefined
  let broken: Error | undefined
  try {
    client = await pool.connect()
    await write(client)
  } catch (error) {
    broken = error as Error
    const isUnwritten = !client || error instanceof LockTimeoutError
    const failure = isUnwritten ? toUnavailableError(error) : createOutcomeUnknownError(error)
    for (const { reject } of getUnansweredEntries()) reject(failure)
  } finally {
    client?.release(broken)
  }
}

const maxAttempts = 5

/**
 * Writes a group in one transaction. Retries it after a deadlock, and creates a missing partition. If an entry is invalid, writes
 * the entries one by one. Throws `LockTimeoutError` if the lock was not acquired in time, in which case nothing was written.
 * After any other error, the outcome of the pending entries is unknown.
 */
export async function commitGroup(
  client: PoolClient,
  group: PendingEntry[],
  write: (client: PoolClient, group: PendingEntry[]) => Promise<void>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    let cause: unknown
    try {
      return await write(client, group)
    } catch (error) {
      if (!isStatementRejection(error)) throw error
      cause = error
    }
    const fault = getSqlErrorKind(cause)
    if (fault === 'locked')
      throw new LockTimeoutError('The lock timeout expired while another transaction held the lock.', { cause })
    if (attempt < maxAttempts && fault === 'contention') continue
    if (attempt < maxAttempts && fault === 'missing_partition') {
      await ensurePartitionsWithClient(client)
      continue
    }
    if (group.length === 1 || fault === 'hardship') {
      for (const { reject } of group) reject(fault === 'other' || fault === 'duplicate' ? cause : toUnavailableError(cause))
      return
    }
    // Write the entries one by one, so that only invalid ones fail. After a lock timeout, reject only this entry, because other
    // entries of the group may already have been written.
    for (const waiting of group)
      await commitGroup(client, [waiting], write).catch((error) => {
        if (!(error instanceof LockTimeoutError)) throw error
        waiting.reject(toUnavailableError(error))
      })
    return
  }
}

/** Returns true if PostgreSQL rejected the statement but the connection is still usable. A FATAL error closes the connection. */
function isStatementRejection(error: unknown): boolean {
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  return error instanceof UnserializableError || (severity === 'ERROR' && typeof code === 'string' && !/^(08|57P)/.test(code))
}

const toUnavailableError = (error: unknown) =>
  error instanceof AssayError || getSqlErrorKind(error) === 'unreachable'
    ? error
    : databaseUnavailable('The call could not be stored in the database. Retry later.', error)
