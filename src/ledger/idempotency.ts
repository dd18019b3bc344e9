import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { Actor } from '../auth/actor.js'
import { badUserInput, conflict, idempotencyMismatch, overloaded } from '../errors.js'
import { publicError } from '../public-error.js'
import type { IdempotentAnswer } from './entry.js'

/** How long an answer is replayed. */
const replayHours = 24
// Whoever has a key says so every few seconds. One that was killed is waited for no longer than this.
const leaseMs = 15_000
const renewMs = 4_000
const mostWaitMs = 60_000
const pollMs = 50

type Answer = (response: Record<string, unknown>) => IdempotentAnswer

interface Id {
  tenantId: string
  actorId: string
  key: string
}

interface Request {
  /** The Idempotency-Key; without one nothing is remembered. */
  key: string | undefined
  operation: string
  /** All that makes the request what it is; for an upload with the digest of its content. */
  request: unknown
}

/**
 * The same request twice is done once. The first takes the key, does its work, and its answer is committed in the transaction
 * of the work itself; a second one with the same key waits for it and is given that answer.
 */
export class IdempotencyService {
  readonly #pool: Pool

  constructor(pool: Pool) {
    this.#pool = pool
  }

  async once<T>(
    actor: Actor,
    { key, operation, request }: Request,
    {
      perform,
      replay,
    }: { perform: (answer: Answer | undefined) => Promise<T>; replay: (response: Record<string, unknown>) => T | Promise<T> },
  ): Promise<T> {
    if (key === undefined) return perform(undefined)
    if (!/^[\x21-\x7e]{1,255}$/.test(key))
      throw badUserInput([{ field: 'Idempotency-Key', message: 'must be 1 to 255 visible ASCII characters' }])
    const id = { tenantId: actor.tenantId, actorId: actor.id, key }
    const hash = createHash('sha256')
      .update(`${operation}\n${canonical(request)}`)
      .digest('hex')
    const known = await this.#take(id, operation, hash)
    if ('response' in known) return replay(known.response)
    const lease = this.#keep(id, known.until)
    try {
      return await perform((response) => {
        // The database was away for so long that another request may have taken the key: it must not be done twice.
        if (lease.isLost()) throw overloaded('This request took too long to be sure that it is done once; send it again.')
        return { ...id, response }
      })
    } catch (error) {
      if (!lease.isLost() && !isInDoubt(error)) await this.#free(id)
      throw error
    } finally {
      lease.end()
    }
  }

  /** What repeating the creation of a key is told. */
  secretIsGone(apiKeyId: string): never {
    throw conflict(
      `This Idempotency-Key made API key '${apiKeyId}' before; its secret was shown then and cannot be shown again.`,
      { api_key_id: apiKeyId },
    )
  }

  /** Drops what is older than 24 hours; gives how many. */
  async sweep(): Promise<number> {
    const { rowCount } = await this.#pool.query(
      `DELETE FROM idempotency_keys WHERE created_at < now() - make_interval(hours => $1)`,
      [replayHours],
    )
    return rowCount ?? 0
  }

  /** Takes the key for a while, or gives the answer that is known for it. Waits for whoever has it. */
  async #take(id: Id, operation: string, hash: string): Promise<{ until: number } | { response: Record<string, unknown> }> {
    for (const deadline = performance.now() + mostWaitMs; performance.now() < deadline; await sleep(pollMs)) {
      const askedAt = performance.now()
      const { rows } = await this.#pool.query<{ taken: boolean; request_hash: string; response: Record<string, unknown> | null }>(
        {
          name: 'idempotency-take',
          text: `WITH taken AS (
            INSERT INTO idempotency_keys AS i (tenant_id, actor_id, key, operation, request_hash, locked_until, created_at)
            VALUES ($1, $2, $3, $4, $5, now() + make_interval(secs => $6), now())
            ON CONFLICT (tenant_id, actor_id, key) DO UPDATE
              SET operation = excluded.operation, request_hash = excluded.request_hash, response = NULL, locked_until = excluded.locked_until, created_at = now()
              WHERE i.created_at < now() - make_interval(hours => $7) OR (i.response IS NULL AND i.locked_until < now())
            RETURNING true AS taken, request_hash, response)
          SELECT * FROM taken
          UNION ALL
          SELECT false, request_hash, response FROM idempotency_keys WHERE tenant_id = $1 AND actor_id = $2 AND key = $3 AND NOT EXISTS (SELECT 1 FROM taken)`,
          values: [id.tenantId, id.actorId, id.key, operation, hash, leaseMs / 1000, replayHours],
        },
      )
      const row = rows[0]
      // None: whoever had it failed between the two halves of the statement. Again.
      if (!row) continue
      if (row.taken) return { until: askedAt + leaseMs }
      if (row.request_hash !== hash) throw idempotencyMismatch(id.key)
      if (row.response) return { response: row.response }
    }
    throw overloaded('Another request with this Idempotency-Key is still under way; try again later.')
  }

  // A long upload to a slow store must not lose its key to the next one that asks.
  #keep(id: Id, until: number): { isLost(): boolean; end(): void } {
    let last = until
    const renew = async () => {
      const askedAt = performance.now()
      const { rowCount } = await this.#pool.query(
        'UPDATE idempotency_keys SET locked_until = now() + make_interval(secs => $4) WHERE tenant_id = $1 AND actor_id = $2 AND key = $3 AND response IS NULL AND locked_until > now()',
        [id.tenantId, id.actorId, id.key, leaseMs / 1000],
      )
      if (rowCount === 1) last = Math.max(last, askedAt + leaseMs)
    }
    const beat = setInterval(() => void renew().catch(() => {}), renewMs).unref()
    return { isLost: () => performance.now() > last, end: () => clearInterval(beat) }
  }

  /** Nothing was done, so that the next attempt starts afresh. Where this fails too, the lease runs out by itself. */
  async #free(id: Id): Promise<void> {
    await this.#pool
      .query('DELETE FROM idempotency_keys WHERE tenant_id = $1 AND actor_id = $2 AND key = $3 AND response IS NULL', [
        id.tenantId,
        id.actorId,
        id.key,
      ])
      .catch(() => {})
  }
}

/** A commit whose answer was lost may have been done, or be done in a moment: until the lease is over nobody knows. */
const isInDoubt = (error: unknown): boolean => publicError(error).code === 'database_unavailable'

/** JSON with its members in order: the same request, however it was spelled. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(
          Object.entries(inner)
            .filter(([, member]) => member !== undefined)
            .sort(([a], [b]) => (a < b ? -1 : 1)),
        )
      : inner,
  )
}
