import type { Queries } from '../db/client.js'

/** An event of the journal as it is sent. */
export interface Event {
  sequence: number
  eventId: string
  type: string
  body: Buffer
}

interface Wanted {
  tenantId: string
  webhookId: string
  types: readonly string[]
  contexts: readonly string[]
  after: number
}

const eventsAtOnce = 20
// So many are looked through in one statement for those that are wanted.
const stretch = 10_000

/** The next events that a webhook wants, and how far the journal was looked through for them; `atEnd`: to its end. */
export async function readEvents(
  pool: Queries,
  { tenantId, webhookId, types, contexts, after }: Wanted,
): Promise<{ events: Event[]; through: number; atEnd: boolean }> {
  const { rows } = await pool.query<{ length: number; sequence: number | null; eventId: string; type: string; entry: string }>({
    name: 'webhook-events',
    text: `SELECT h.journal_length AS length, j.sequence, j.event_id AS "eventId", j.type, j.entry FROM tenant_heads h
      LEFT JOIN LATERAL (SELECT sequence, event_id, type, entry FROM journal WHERE tenant_id = $1 AND sequence > $2 AND sequence <= $2 + ${stretch}
        AND ($3 OR type = ANY($4) OR split_part(type, '.', 1) = ANY($5)) AND (cardinality($6::text[]) = 0 OR context_key IS NULL OR context_key = ANY($6))
        AND NOT (type = 'webhook.created' AND subject = $7) ORDER BY sequence LIMIT ${eventsAtOnce}) j ON true
      WHERE h.tenant_id = $1 ORDER BY j.sequence`,
    values: [
      tenantId,
      after,
      types.includes('*'),
      types.filter((type) => !type.endsWith('.*')),
      types.flatMap((type) => (type.endsWith('.*') ? [type.slice(0, -2)] : [])),
      contexts,
      webhookId,
    ],
  })
  const events = rows.flatMap(({ sequence, eventId, type, entry }) =>
    sequence === null ? [] : [{ sequence, eventId, type, body: bodyOf(sequence, entry) }],
  )
  const length = rows[0]?.length ?? 0
  const through = events.length === eventsAtOnce ? events.at(-1)!.sequence : Math.min(length, after + stretch)
  return { events, through, atEnd: through >= length }
}

/** What is sent of an event: Standard Webhooks' `type`, `timestamp` and `data`. */
export function bodyOf(sequence: number | null, entry: string): Buffer {
  const { type, occurred_at, data } = JSON.parse(entry) as { type: string; occurred_at: string; data: Record<string, unknown> }
  return Buffer.from(JSON.stringify({ type, timestamp: occurred_at, data: { ...data, sequence } }))
}
