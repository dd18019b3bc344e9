import type { PoolClient } from 'pg'
import { idTime, newId } from '../platform/ids.js'
import { usageOf } from './counters.js'
import type { Entry } from './entry.js'
import { type Statement, Unwritable } from './group-commit.js'
import type { Refusal } from './refusals.js'
import { auditRow, auditsOf, callRow, databaseJson, eventsOf, fileRow, removedRow } from './rows.js'

/** One statement for entries of one tenant. A database function checks them in order and writes them under the tenant's lock. */
export const moveStatement = (tenantId: string, entries: Entry[]): Statement => ({
  name: 'ledger-move',
  text: 'SELECT ledger_move($1, $2::jsonb) AS refusals',
  values: [tenantId, movesJson(entries)],
})

/** Argument of the database functions. */
export function movesJson(entries: Entry[]): string {
  try {
    return databaseJson(movesOf(entries))
  } catch (error) {
    throw new Unwritable('An entry cannot be written.', { cause: error })
  }
}

/** Rows by table, each with the index of its entry. The database function skips the rows of an entry that it rejects. */
function movesOf(entries: Entry[]): Record<string, unknown> {
  const moves: Record<string, unknown> = { entries: entries.length }
  const put = (kind: string, n: number, rows: object[]) => {
    if (rows.length === 0) return
    const known = (moves[kind] ??= []) as object[]
    for (const row of rows) known.push({ n, ...row })
  }
  entries.forEach((entry, n) => {
    const call = entry.call && callRow(entry.call)
    if (call) put('calls', n, [call.row])
    put(entry.blocked ? 'blocked' : 'usage', n, usageOf(entry, call?.at ?? idTime(newId('call'))))
    if (entry.upload) put('uploads', n, [fileRow(entry.upload)])
    if (entry.deletion) put('deletions', n, [removedRow(entry.deletion)])
    put('audit', n, auditsOf(entry).map(auditRow))
    put('events', n, eventsOf(entry, call?.callId ?? null))
    if (entry.answer) {
      const { actorId, key, token, response } = entry.answer
      put('answers', n, [{ actor_id: actorId, key, token, response }])
    }
  })
  return moves
}

/**
 * Outcome of a tenant's group. With `refusals`, it is durable except for the rejected entries. `locked`: another transaction holds the
 * tenant's lock. `faulty`: an entry is invalid. In both cases nothing of the group is written.
 */
export type Outcome = { refusals: Refusal[] } | 'locked' | 'faulty'

type Answer = { tenant: string } & ({ refusals: Refusal[] } | { left: true } | { again: true })

/**
 * Writes groups of several tenants, each in its own transaction, and waits for the disk once at the end. No tenant's lock is held during
 * that wait. After an error the outcome of all groups is unknown.
 */
export async function moveGroups(
  client: PoolClient,
  groups: ReadonlyMap<string, Entry[]>,
  lockTimeoutMs: number,
): Promise<Map<string, Outcome>> {
  const outcomes = new Map<string, Outcome>()
  const moves: string[] = []
  for (const [tenant, entries] of groups)
    try {
      moves.push(`{"tenant": ${JSON.stringify(tenant)}, "moves": ${movesJson(entries)}}`)
    } catch (error) {
      if (!(error instanceof Unwritable)) throw error
      outcomes.set(tenant, 'faulty')
    }
  if (moves.length === 0) return outcomes
  const { rows } = await client.query<{ answers: Answer[] }>({
    name: 'ledger-groups',
    text: `CALL ledger_groups($1::jsonb, $2, '[]')`,
    values: [`[${moves.join(', ')}]`, `${lockTimeoutMs}ms`],
  })
  for (const answer of rows[0]!.answers)
    outcomes.set(answer.tenant, 'refusals' in answer ? answer : 'left' in answer ? 'locked' : 'faulty')
  return outcomes
}
