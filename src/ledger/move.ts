import { idTime, newId } from '../platform/ids.js'
import { usageOf } from './counters.js'
import { databaseJson } from './database-json.js'
import type { Entry } from './entry.js'
import { eventsOf } from './events.js'
import { auditRow, auditsOf, callRow, fileRow, removedRow } from './rows.js'
import { type Statement, Unwritable } from './statement.js'

/** Entries of one tenant, judged in order and written under its lock by one call of a function in the database: one round trip. */
export const moveStatement = (tenantId: string, entries: Entry[]): Statement => ({
  name: 'ledger-move',
  text: 'SELECT ledger_move($1, $2::jsonb) AS refusals',
  values: [tenantId, movesJson(entries)],
})

/** What the functions of the database take. */
export function movesJson(entries: Entry[]): string {
  try {
    return databaseJson(movesOf(entries))
  } catch (error) {
    throw new Unwritable('An entry cannot be written.', { cause: error })
  }
}

/** Its rows by table, each with the place of its entry: the function leaves out those of an entry that it refuses. */
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
