import type { PoolClient } from 'pg'
import { faultPoint } from '../fault-points.js'
import { type Admitted, admit, type Outcome } from './admission.js'
import type { Entry } from './entry.js'
import { Unwritable, write } from './write.js'

/** The group is certainly not in the database: it may be tried again without being there twice. `cause` says what went wrong. */
export class RolledBack extends Error {
  override readonly name = 'RolledBack'
}

const nothingAdmitted: Admitted = { removed: new Map(), contextOf: new Map() }

/**
 * Commits a group in one transaction, with a number of statements that does not depend on its size. Throws `RolledBack` where
 * the group is certainly not in the database, and anything else where nobody knows (the connection broke).
 */
export async function commitGroup(client: PoolClient, entries: Entry[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = entries.map(() => ({ done: true }))
  if (!entries.some((entry) => entry.upload || entry.deletion || entry.download)) {
    // One statement is one transaction: the group of a service that is only read costs one round trip.
    await write(client, entries, outcomes, nothingAdmitted).catch((error) => {
      throw isRefusal(error) ? new RolledBack('The group was refused.', { cause: error }) : error
    })
    return outcomes
  }
  try {
    await client.query('BEGIN')
    faultPoint('commit.begun')
    await write(client, entries, outcomes, await admit(client, entries, outcomes))
    faultPoint('commit.written')
    await client.query('COMMIT')
    faultPoint('commit.durable')
    return outcomes
  } catch (error) {
    if (!isRefusal(error)) throw error
    await client.query('ROLLBACK')
    throw new RolledBack('The group was refused.', { cause: error })
  }
}

/** PostgreSQL answered and goes on living, or the entry never reached it. A dying server's FATAL is no answer. */
function isRefusal(error: unknown): boolean {
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  return error instanceof Unwritable || (severity === 'ERROR' && typeof code === 'string' && !/^(08|57P)/.test(code))
}
