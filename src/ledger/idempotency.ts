import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { canonicalJson } from '@assay/proofs'
import type { Pool } from 'pg'
import type { Actor } from '../platform/actor.js'
import { eachTenant } from '../platform/db/each-tenant.js'
import { badUserInput, conflict, idempotencyMismatch, overloaded } from '../platform/errors/errors.js'
import type { IdempotentAnswer } from './entry.js'
import { StaleWriteError } from './refusals.js'

/** How long an answer is replayed. */
const replayHours = 24
// A request that has a key renews that every few seconds. One that was killed is waited for no longer than this.
const leaseMs = 15_000
const renewMs = 4_000
const mostWaitMs = 60_000
// Asked again soon where the first request is a quick one, and seldom where it is not.
const pollMs = { first: 20, most: 640 }
const sweptAtOnce = 5_000

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
      .update(`${operation}\n${canonicalJson(request)}`)
      .digest('hex')
    for (;;) {
      const known = await this.#take(id, operation, hash)
      if ('response' in known) return replay(known.response)
      const { token } = known
      const renewed = this.#keep(id, token)
      try {
        return await perform((response) => ({ ...id, token, response }))
      } catch (error) {
        await this.#free(id, token)
        // Another request took the key while this one was held up, and was answered: its answer is the one that counts.
        if (!(error instanceof StaleWriteError) || error.reason !== 'answer') throw error
      } finally {
        clearInterval(renewed)
      }
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
  async sweep(goOn: () => boolean = () => true): Promise<number> {
    for (let dropped = 0; ; ) {
      const { rows } = await this.#pool.query<{ tenant_id: string; actor_id: string; key: string }>(
        `SELECT tenant_id, actor_id, key FROM idempotency_keys WHERE created_at < now() - make_interval(hours => ${replayHours}) LIMIT ${sweptAtOnce}`,
      )
      const counts = await eachTenant(rows, async (tenantId, own) => {
        const { rowCount } = await this.#pool.query(
          `DELETE FROM idempotency_keys i USING unnest($2::text[], $3::text[]) AS k(actor_id, key)
           WHERE i.tenant_id = $1 AND i.actor_id = k.actor_id AND i.key = k.key AND i.created_at < now() - make_interval(hours => ${replayHours})`,
          [tenantId, own.map((row) => row.actor_id), own.map((row) => row.key)],
        )
        return [rowCount ?? 0]
      })
      for (const count of counts) dropped += count
      if (rows.length < sweptAtOnce || !goOn()) return dropped
    }
  }

  /** Takes the key for a while, with a new token, or gives the answer that is known for it. Waits for the request that has it. */
  async #take(id: Id, operation: string, hash: string): Promise<{ token: string } | { response: Record<string, unknown> }> {
    const token = randomUUID()
    const deadline = performance.now() + mostWaitMs
    for (let pauseMs = pollMs.first; performance.now() < deadline; pauseMs = Math.min(2 * pauseMs, pollMs.most)) {
      const { rows } = await this.#pool.query<{ taken: boolean; request_hash: string; response: Record<string, unknown> | null }>(
        {
          name: 'idempotency-take',
          text: `WITH taken AS (
            INSERT INTO idempotency_keys AS i (tenant_id, actor_id, key, operation, request_hash, token, locked_until, created_at)
            VALUES ($1, $2, $3, $4, $5, $8, now() + make_interval(secs => $6), now())
            ON CONFLICT (tenant_id, actor_id, key) DO UPDATE
              SET operation = excluded.operation, request_hash = excluded.request_hash, token = excluded.token, response = NULL, locked_until = excluded.locked_until, created_at = now()
              WHERE i.created_at < now() - make_interval(hours => $7) OR (i.response IS NULL AND i.locked_until < now())
            RETURNING true AS taken, request_hash, response)
          SELECT * FROM taken
          UNION ALL
          SELECT false, request_hash, response FROM idempotency_keys WHERE tenant_id = $1 AND actor_id = $2 AND key = $3 AND NOT EXISTS (SELECT 1 FROM taken)`,
          values: [id.tenantId, id.actorId, id.key, operation, hash, leaseMs / 1000, replayHours, token],
        },
      )
      const row = rows[0]
      // None: it was freed between the two halves of the statement. Again.
      if (!row) continue
      if (row.taken) return { token }
      if (row.request_hash !== hash) throw idempotencyMismatch(id.key)
      if (row.response) return { response: row.response }
      await sleep(pauseMs)
    }
    throw overloaded('Another request with this Idempotency-Key is still under way; try again later.')
  }

  // A long upload to a slow store keeps its key, so that a repetition waits for it and does not send everything again.
  #keep(id: Id, token: string): NodeJS.Timeout {
    const renew = () =>
      this.#pool.query(
        'UPDATE idempotency_keys SET locked_until = now() + make_interval(secs => $5) WHERE tenant_id = $1 AND actor_id = $2 AND key = $3 AND token = $4 AND response IS NULL',
        [id.tenantId, id.actorId, id.key, token, leaseMs / 1000],
      )
    return setInterval(() => void renew().catch(() => {}), renewMs).unref()
  }

  /**
   * The next attempt starts afresh. What this one may still commit, its answer having been lost, finds its token gone then; and where
   * it did commit, its answer stays. Where this fails too, the lease runs out by itself.
   */
  async #free(id: Id, token: string): Promise<void> {
    await this.#pool
      .query(
        'DELETE FROM idempotency_keys WHERE tenant_id = $1 AND actor_id = $2 AND key = $3 AND token = $4 AND response IS NULL',
        [id.tenantId, id.actorId, id.key, token],
      )
      .catch(() => {})
  }
}
