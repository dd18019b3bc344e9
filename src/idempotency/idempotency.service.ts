import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { Actor } from '../auth/actor.js'
import { badUserInput, conflict, idempotencyMismatch, overloaded } from '../errors.js'
import type { IdempotentAnswer } from '../ledger/entry.js'

/** How long an answer is replayed. */
export const replayHours = 24
const lockSeconds = 60
const mostWaitMs = 60_000

type Answer = (response: Record<string, unknown>) => IdempotentAnswer

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
    if (known) return replay(known)
    // A long upload to a slow store must not lose its key to the next one that asks.
    const beat = setInterval(() => void this.#extend(id).catch(() => {}), (lockSeconds * 1000) / 3).unref()
    try {
      return await perform((response) => ({ ...id, response }))
    } catch (error) {
      // Nothing was done, so that the next attempt starts afresh. Where this fails too, the lock runs out by itself.
      await this.#pool
        .query('DELETE FROM idempotency_keys WHERE tenant_id = $1 AND actor_id = $2 AND key = $3 AND response IS NULL', [
          id.tenantId,
          id.actorId,
          id.key,
        ])
        .catch(() => {})
      throw error
    } finally {
      clearInterval(beat)
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

  /** Takes the key, or gives the answer that is known for it. Waits for whoever has it. */
  async #take(
    id: { tenantId: string; actorId: string; key: string },
    operation: string,
    hash: string,
  ): Promise<Record<string, unknown> | undefined> {
    for (const deadline = Date.now() + mostWaitMs; Date.now() < deadline; await sleep(50)) {
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
          values: [id.tenantId, id.actorId, id.key, operation, hash, lockSeconds, replayHours],
        },
      )
      const row = rows[0]
      // None: whoever had it failed between the two halves of the statement. Again.
      if (!row) continue
      if (row.taken) return undefined
      if (row.request_hash !== hash) throw idempotencyMismatch(id.key)
      if (row.response) return row.response
    }
    throw overloaded('Another request with this Idempotency-Key is still under way; try again later.')
  }

  async #extend(id: { tenantId: string; actorId: string; key: string }): Promise<void> {
    await this.#pool.query(
      'UPDATE idempotency_keys SET locked_until = now() + make_interval(secs => $4) WHERE tenant_id = $1 AND actor_id = $2 AND key = $3 AND response IS NULL',
      [id.tenantId, id.actorId, id.key, lockSeconds],
    )
  }
}

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
