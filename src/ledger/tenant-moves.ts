import type { PoolClient } from 'pg'
import type { Entry } from './entry.js'
import { movesJson } from './move.js'
import type { Refusal } from './refusals.js'
import { Unwritable } from './statement.js'

/**
 * What became of a tenant's group: it is durable, less what was refused; or nothing of it is written, since another transaction keeps
 * the tenant's lock, or since something in it is at fault.
 */
export type Outcome = { refusals: Refusal[] } | 'locked' | 'faulty'

type Answer = { tenant: string } & ({ refusals: Refusal[] } | { left: true } | { again: true })

/**
 * Groups of several tenants, each in a transaction of its own, and one wait for the disk at the end of all: a tenant's lock is not held
 * meanwhile. A group whose tenant another ledger moves just now is moved by that one or the next, with all that is pending by then.
 * An error leaves them in doubt, all of them.
 */
export async function moveGroups(
  client: PoolClient,
  groups: ReadonlyMap<string, Entry[]>,
  patienceMs: number,
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
    values: [`[${moves.join(', ')}]`, `${patienceMs}ms`],
  })
  for (const answer of rows[0]!.answers)
    outcomes.set(answer.tenant, 'refusals' in answer ? answer : 'left' in answer ? 'locked' : 'faulty')
  return outcomes
}
