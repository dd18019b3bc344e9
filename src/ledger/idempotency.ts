import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { toCanonicalJson } from '@assay/proofs'
import type { Pool } from 'pg'
import { type Actor, getCredentialId } from '../platform/actor.js'
import { getLeaseEndSql, type Lease, renewLease, startLeaseRenewal } from '../platform/db/lease.js'
import { processRowsByTenant } from '../platform/db/queries.js'
import { conflict, createIdempotencyMismatchError, invalidField, overloaded } from '../platform/errors/errors.js'
import type { IdempotentResponse } from './entry.js'
import { StaleWriteError } from './rejections.js'

/** Repeated requests receive the stored response for this number of hours. */
const replayHours = 24
// Duration of a lease. A running request renews its lease. If its process is killed, repeated requests wait at most this long.
const leaseSeconds = 15
const maxWaitMs = 60_000
const pollMs = { first: 20, max: 640 }
const sweepBatch = 5_000

type CreateResponse = (response: Record<string, unknown>) => IdempotentResponse

interface KeyId {
  tenantId: string
  actorId: string
  key: string
}

interface IdempotentRequest {
  /** Value of the Idempotency-Key header. If undefined, no response is stored. */
  key: string | undefined
  operation: string
  /** Data that identifies the request. For an upload, it includes a digest of the content. */
  request: unknown
}

/** Performs a request with an `Idempotency-Key` only once. Repeated requests wait for the stored response and return it. */
export class IdempotencyService {
  constructor(private readonly pool: Pool) {}

  async performOnce<T>(
    actor: Actor,
    { key, operation, request }: IdempotentRequest,
    handlers: {
      perform: (createResponse: CreateResponse | undefined) => Promise<T>
      replay: (response: Record<string, unknown>) => T | Promise<T>
    },
  ): Promise<T> {
    if (key === undefined) return handlers.perform(undefined)
    if (!/^[\x21-\x7e]{1,255}$/.test(key)) throw invalidField('Idempotency-Key', 'must be 1 to 255 visible ASCII characters')
    const id = { tenantId: actor.tenantId, actorId: getCredentialId(actor), key }
    const hash = createHash('sha256')
      .update(`${operation}\n${toCanonicalJson(request)}`)
      .digest('hex')
    for (;;) {
      const token = randomUUID()
      const known = await this.#acquireLease(id, token, operation, hash)
      if (known) return handlers.replay(known)
      const lease = toLease(id, token)
      const renewing = startLeaseRenewal(lease, () => renewLease(this.pool, lease))
      try {
        return await handlers.perform((response) => ({ ...id, token, response }))
      } catch (error) {
        await this.#releaseLease(id, token)
        // If another request has leased the key in the meantime, repeat the loop to get the response that it stored.
        if (!(error instanceof StaleWriteError) || error.reason !== 'answer') throw error
      } finally {
        clearInterval(renewing)
      }
    }
  }

  /** Rejects a repeated request to create an API key, because its secret cannot be shown again. */
  rejectRepeatedKeyCreation(apiKeyId: string): never {
    throw conflict(
      `This Idempotency-Key was already used to create API key '${apiKeyId}'. Its secret cannot be shown again. Rotate the key to get a new secret.`,
      { api_key_id: apiKeyId },
    )
  }

  /** Deletes idempotency keys that are older than 24 hours, and returns their number. */
  async deleteExpiredKeys(shouldContinue: () => boolean = () => true): Promise<number> {
    for (let dropped = 0; ; ) {
      const { rows } = await this.pool.query<{ tenant_id: string; actor_id: string; key: string }>(
        `SELECT tenant_id, actor_id, key FROM idempotency_keys WHERE created_at < now() - make_interval(hours => ${replayHours}) LIMIT ${sweepBatch}`,
      )
      const counts = await processRowsByTenant(rows, async (tenantId, own) => {
        const { rowCount } = await this.pool.query(
          `DELETE FROM idempotency_keys i USING unnest($2::text[], $3::text[]) AS k(actor_id, key)
           WHERE i.tenant_id = $1 AND i.actor_id = k.actor_id AND i.key = k.key AND i.created_at < now() - make_interval(hours => ${replayHours})`,
          [tenantId, own.map((row) => row.actor_id), own.map((row) => row.key)],
        )
        return [rowCount ?? 0]
      })
      for (const count of counts) dropped += count
      if (rows.length < sweepBatch || !shouldContinue()) return dropped
    }
  }

  /** Leases the key, or returns its stored response. Waits while another request has the lease. */
  async #acquireLease(id: KeyId, token: string, operation: string, hash: string): Promise<Record<string, unknown> | undefined> {
    const deadline = performance.now() + maxWaitMs
    for (let pauseMs = pollMs.first; performance.now() < deadline; pauseMs = Math.min(2 * pauseMs, pollMs.max)) {
      const { rows } = await this.pool.query<{ taken: boolean; request_hash: string; response: Record<string, unknown> | null }>({
        name: 'idempotency-take',
        text: `WITH taken AS (
            INSERT INTO idempotency_keys AS i (tenant_id, actor_id, key, operation, request_hash, lease_token, leased_until, created_at)
            VALUES ($1, $2, $3, $4, $5, $7, ${getLeaseEndSql(leaseSeconds)}, now())
            ON CONFLICT (tenant_id, actor_id, key) DO UPDATE
              SET operation = excluded.operation, request_hash = excluded.request_hash, response = NULL,
                lease_token = excluded.lease_token, leased_until = excluded.leased_until, created_at = excluded.created_at
              WHERE i.created_at AT TIME ZONE 'UTC' < excluded.created_at AT TIME ZONE 'UTC' - make_interval(hours => $6) OR (i.response IS NULL AND i.leased_until <= excluded.created_at)
            RETURNING true AS taken, request_hash, response)
          SELECT * FROM taken
          UNION ALL
          SELECT false, request_hash, response FROM idempotency_keys WHERE tenant_id = $1 AND actor_id = $2 AND key = $3 AND NOT EXISTS (SELECT 1 FROM taken)`,
        values: [id.tenantId, id.actorId, id.key, operation, hash, replayHours, token],
      })
      const row = rows[0]
      // The row no longer exists, because another request released the key in the meantime. Retry.
      if (!row) continue
      if (row.taken) return undefined
      if (row.request_hash !== hash) throw createIdempotencyMismatchError(id.key)
      if (row.response) return row.response
      await sleep(pauseMs)
    }
    throw overloaded('Another request with this Idempotency-Key is still in progress. Retry later.')
  }

  /** Releases the key, so that the request can be repeated. If this fails, the key becomes available when the lease expires. */
  async #releaseLease({ tenantId, actorId, key }: KeyId, token: string): Promise<void> {
    const text = 'DELETE FROM idempotency_keys WHERE tenant_id = $1 AND actor_id = $2 AND key = $3 AND lease_token = $4'
    await this.pool.query(text, [tenantId, actorId, key, token]).catch(() => {})
  }
}

const toLease = ({ tenantId, actorId, key }: KeyId, token: string): Lease => ({
  table: 'idempotency_keys',
  key: { tenant_id: tenantId, actor_id: actorId, key },
  token,
  seconds: leaseSeconds,
})
