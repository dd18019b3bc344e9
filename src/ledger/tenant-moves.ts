import type { PoolClient } from 'pg'
import { isRefusal } from './commit-group.js'
import type { Entry } from './entry.js'
import { moveStatement, movesJson } from './move.js'
import type { Refusal } from './refusals.js'

/** What one transaction did with a group. */
export interface Moved {
  refusals: Refusal[]
  /** How many groups of other ledgers were moved in the same commit. */
  others: number
}

/** What the functions of `ledger_move_3` answer with. */
type Answer = Moved | { pending: number } | { again: true } | { left: true }

/** How many groups of others are waited for, and how long at most. */
export interface Gather {
  expected: number
  mostMs: number
}

const mostWithdrawals = 10

/** Small groups of several tenants in one commit; undefined for a tenant that was left out, its lock being held. */
export async function moveTogether(client: PoolClient, groups: Map<string, Entry[]>): Promise<Map<string, Moved | undefined>> {
  const moves = [...groups].map(([tenant, entries]) => `{"tenant": ${JSON.stringify(tenant)}, "moves": ${movesJson(entries)}}`)
  const { rows } = await client.query<{ answers: (Answer & { tenant: string })[] }>({
    name: 'ledger-moves-3',
    text: 'SELECT ledger_moves_3($1::jsonb) AS answers',
    values: [`[${moves.join(', ')}]`],
  })
  return new Map(rows[0]!.answers.map((answer) => [answer.tenant, 'refusals' in answer ? answer : undefined]))
}

/**
 * A group of one tenant. Where another ledger holds the lock, the group is left pending: the transaction that is given the lock next
 * moves all that is pending, so that ledgers which share a busy tenant share its commits, and do not take turns at them.
 */
export async function moveAlone(client: PoolClient, tenantId: string, entries: Entry[], gather: Gather): Promise<Moved> {
  const { expected, mostMs } = gather
  const first = await ask(client, 'ledger_move_or_wait_3($1, $2::jsonb, $3, $4)', [
    tenantId,
    movesJson(entries),
    expected,
    mostMs,
  ])
  const answer = first && 'pending' in first ? await moved(client, tenantId, first.pending, gather) : first
  if (answer && 'refusals' in answer) return answer
  // Another could not write it, as it may be at fault: by ourselves, so that the fault is ours to tell.
  const { rows } = await client.query<{ refusals: Refusal[] }>(moveStatement(tenantId, entries))
  return { refusals: rows[0]!.refusals, others: 0 }
}

async function moved(client: PoolClient, tenantId: string, pending: number, { expected, mostMs }: Gather): Promise<Answer> {
  try {
    const answer = await ask(client, 'ledger_moved_3($1, $2, $3, $4)', [tenantId, pending, expected, mostMs])
    if (answer) return answer
  } catch (error) {
    if (!isRefusal(error)) throw error
    // The lock was not to be had, or what is pending is at fault: certainly not moved once it is withdrawn.
    const answer = await withdraw(client, tenantId, pending)
    if (answer === null) throw error
    if (answer) return answer
  }
  throw new Error('What was pending is gone, and it is not known whether it was moved.')
}

/** Null where it was not moved and no longer will be; undefined where it is gone. Waits for a transaction that has it in hand. */
async function withdraw(client: PoolClient, tenantId: string, pending: number): Promise<Answer | null | undefined> {
  for (let attempt = 1; ; attempt++)
    try {
      const { rows } = await client.query<{ answer: Answer | null }>(
        'DELETE FROM pending_moves WHERE tenant_id = $1 AND pending_id = $2 RETURNING answer',
        [tenantId, pending],
      )
      return rows[0]?.answer
    } catch (error) {
      if (!isRefusal(error)) throw error
      if (attempt === mostWithdrawals) throw new Error('What is pending could not be withdrawn.', { cause: error })
    }
}

async function ask(client: PoolClient, call: string, values: unknown[]): Promise<Answer | null> {
  const { rows } = await client.query<{ answer: Answer | null }>({ name: call, text: `SELECT ${call} AS answer`, values })
  return rows[0]!.answer
}
