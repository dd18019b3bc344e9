import type { PoolClient } from 'pg'
import { sqlFault } from '../platform/db/sql-errors.js'
import { AssayError, databaseUnavailable } from '../platform/errors/errors.js'
import type { Entry } from './entry.js'
import { ensurePartitionsOn } from './partitions.js'
import { Unwritable } from './statement.js'

/** An entry and the call that waits for it. */
export interface Waiting {
  entry: Entry
  resolve: () => void
  reject: (error: unknown) => void
}

/** The group is certainly not in the database, and waited too long for a lock. */
export class LockedOut extends Error {
  override readonly name = 'LockedOut'
}

const mostAttempts = 5

/**
 * Writes a group by one statement, which is one transaction, and helps it where that undoes what went wrong: again after a
 * deadlock, with the month's partition where that was missing, one by one where an entry is at fault. Those that fail are rejected
 * here. Throws `LockedOut` where nothing of the group is written, or what broke the connection: then it is of no more use, and those not yet settled are in doubt.
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
      if (!isRefusal(error)) throw error
      cause = error
    }
    const fault = sqlFault(cause)
    if (fault === 'locked') throw new LockedOut('Another transaction holds a lock.', { cause })
    if (attempt < mostAttempts && fault === 'contention') continue
    if (attempt < mostAttempts && fault === 'missing_partition') {
      await ensurePartitionsOn(client)
      continue
    }
    if (group.length === 1 || fault === 'hardship') {
      for (const { reject } of group) reject(fault === 'other' || fault === 'duplicate' ? cause : unavailable(cause))
      return
    }
    // A poisoned group: one by one, so that only the culprit fails. What was written by then must not be tried with the rest again.
    for (const waiting of group)
      await commitGroup(client, [waiting], write).catch((error) => {
        if (!(error instanceof LockedOut)) throw error
        waiting.reject(unavailable(error))
      })
    return
  }
}

/** PostgreSQL answered and goes on living, or the entry never reached it. A dying server's FATAL is no answer. */
function isRefusal(error: unknown): boolean {
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  return error instanceof Unwritable || (severity === 'ERROR' && typeof code === 'string' && !/^(08|57P)/.test(code))
}

export const unavailable = (error: unknown) =>
  error instanceof AssayError || sqlFault(error) === 'unreachable'
    ? error
    : databaseUnavailable('The database did not store this call. Retry later.', error)
