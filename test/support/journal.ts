import type { Pool, PoolClient } from 'pg'
import { computeCompleteSubtreeRoot, getStoredHashes, hashLeaf } from '../../packages/proofs/src/merkle.js'

/** Adds events to a tenant's journal until it has the given length. */
export async function growJournal(pool: Pool, tenantId: string, length: number): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    // Waits for earlier rejections, which are written after their response.
    await client.query('SELECT FROM tenant_heads WHERE tenant_id = $1 FOR UPDATE', [tenantId])
    await appendEntries(client, tenantId, length)
    await client.query('COMMIT')
    client.release()
  } catch (error) {
    client.release(true)
    throw error
  }
}

async function appendEntries(client: PoolClient, tenantId: string, length: number): Promise<void> {
  const { rows } = await client.query<{ leaf: Buffer }>('SELECT leaf FROM journal WHERE tenant_id = $1 ORDER BY sequence', [
    tenantId,
  ])
  const leaves = rows.map(({ leaf }) => leaf)
  if (leaves.length >= length) return
  const first = leaves.length + 1
  const occurredAt = new Date().toISOString()
  const entries = Array.from({ length: length - leaves.length }, (_, at) =>
    JSON.stringify({
      data: {},
      event_id: `evt_${first + at}`,
      occurred_at: occurredAt,
      sequence: first + at,
      type: 'tenant.updated',
    }),
  )
  leaves.push(...entries.map(hashLeaf))
  const levels = [leaves]
  while (levels.at(-1)!.length >= 256)
    levels.push(
      Array.from({ length: Math.floor(levels.at(-1)!.length / 256) }, (_, at) =>
        computeCompleteSubtreeRoot(levels.at(-1)!.slice(at * 256, at * 256 + 256)),
      ),
    )
  const frontier = getStoredHashes({ from: 0, to: length }).map(({ level, place, count }) =>
    computeCompleteSubtreeRoot(levels[level]!.slice(place, place + count)),
  )
  await client.query(
    `INSERT INTO journal (tenant_id, sequence, event_id, type, subject, occurred_at, entry, leaf)
     SELECT $1, $2 - 1 + n, entry::jsonb->>'event_id', 'tenant.updated', $1, $5::timestamptz, entry, leaf
     FROM unnest($3::text[], $4::bytea[]) WITH ORDINALITY AS e(entry, leaf, n)`,
    [tenantId, first, entries, leaves.slice(first - 1), occurredAt],
  )
  for (const [level, hashes] of levels.entries())
    if (level > 0)
      await client.query(
        `INSERT INTO journal_nodes (tenant_id, level, place, hash) SELECT $1, $2, n - 1, hash
         FROM unnest($3::bytea[]) WITH ORDINALITY AS h(hash, n) ON CONFLICT DO NOTHING`,
        [tenantId, level, hashes],
      )
  await client.query('UPDATE tenant_heads SET journal_length = $2, journal_frontier = $3::bytea[] WHERE tenant_id = $1', [
    tenantId,
    length,
    frontier,
  ])
}
