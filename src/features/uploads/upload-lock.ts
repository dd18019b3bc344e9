import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Actor, getCredentialId } from '../../platform/actor.js'
import { getLeaseEndSql, isLeaseFree, type Lease, releaseLease, renewLease, startLeaseRenewal } from '../../platform/db/lease.js'
import type { Queries } from '../../platform/db/queries.js'
import { conflict, notFound } from '../../platform/errors/errors.js'
import { isId } from '../../platform/ids.js'
import { ProtocolError } from './tus-request.js'

/** Seconds after which a lock expires if its process has died and no longer renews it. */
export const lockSeconds = 5
const pollMs = 100
const maxWaitMs = 10_000

export const isOwned = 'tenant_id = $1 AND upload_id = $2 AND actor_id = $3 AND expires_at > now()'

/**
 * Locks an upload with a lease on its row. If a newer request waits for the lock, the holder stores the bytes that it has
 * received and ends, because its connection is probably dead. The statement that adds bytes also checks the token, so a request
 * that has lost the lock cannot add bytes.
 */
export class UploadLock {
  readonly token = randomUUID()
  readonly #interrupt = new AbortController()
  #renewing: NodeJS.Timeout | undefined

  constructor(
    private readonly database: Queries,
    private readonly actor: Actor,
    private readonly uploadId: string,
  ) {}

  /** Signal that is aborted if another request acquires the lock or waits for it. The reason is the error for the client. */
  get interruptSignal(): AbortSignal {
    return this.#interrupt.signal
  }

  /**
   * Acquires the lock. Throws 404 if the upload does not exist, and 423 if the current holder does not release the lock in time.
   */
  async acquire(): Promise<void> {
    if (!isId('upl', this.uploadId)) throw notFound('upload', this.uploadId)
    for (const deadline = performance.now() + maxWaitMs; performance.now() < deadline; await sleep(pollMs))
      if (await this.#tryAcquire()) return this.renew()
    throw new ProtocolError(423, 'upload', 'is locked by another request or is being validated. Retry later')
  }

  /** Starts renewing the lease. A new upload is created with the token in its row, so it is already locked. */
  renew(): void {
    this.#renewing = startLeaseRenewal(this.#lease, async () => {
      const row = await renewLease<{ wanted: boolean }>(this.database, this.#lease, 'lock_wanted AS wanted')
      if (!row || row.wanted) this.#interrupt.abort(createUploadInterruptedError())
    })
  }

  async release(): Promise<void> {
    clearInterval(this.#renewing)
    const alsoSql = 'lock_wanted = false, incoming_bytes = 0'
    // Ignore errors, because the lease expires when it is no longer renewed.
    await releaseLease(this.database, this.#lease, { alsoSql }).catch(() => {})
  }

  /** Tries to acquire the lease. If another request holds it, requests its release and returns false. */
  async #tryAcquire(): Promise<boolean> {
    const key = [this.actor.tenantId, this.uploadId, getCredentialId(this.actor)]
    const leased = await this.database.query(
      `UPDATE resumable_uploads SET lease_token = $4, leased_until = ${getLeaseEndSql(lockSeconds)}, lock_wanted = false, incoming_bytes = 0
       WHERE ${isOwned} AND ${isLeaseFree}`,
      [...key, this.token],
    )
    if (leased.rowCount === 1) return true
    const requested = await this.database.query(`UPDATE resumable_uploads SET lock_wanted = true WHERE ${isOwned}`, key)
    if (requested.rowCount === 0) throw notFound('upload', this.uploadId)
    return false
  }

  get #lease(): Lease {
    const key = { tenant_id: this.actor.tenantId, upload_id: this.uploadId }
    return { table: 'resumable_uploads', key, token: this.token, seconds: lockSeconds }
  }
}

/** Returns the error for a request whose upload was taken over by another request. */
export const createUploadInterruptedError = () =>
  conflict('Another request is already writing to this upload. Get the current offset with HEAD, then resume from there.', {
    resumable: true,
  })
