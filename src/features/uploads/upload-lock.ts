import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Lock, Locker } from '@tus/server'
import type { Actor } from '../../platform/actor.js'
import { conflict } from '../../platform/errors/errors.js'
import type { ResumableUploadService } from './resumable-upload.service.js'
import { ProtocolError } from './tus-request.js'

const pollMs = 100
const maxWaitMs = 10_000

/**
 * The lock that the tus library requires, implemented as a lease of the upload's row: one request on any replica. If a newer request wants
 * the lock, the older one stops reading and stores what it received, because its connection is probably dead. The statement that adds bytes
 * checks the token, so that only the holder can add any.
 */
export class UploadLock implements Locker, Lock {
  readonly token = randomUUID()
  readonly #rows: ResumableUploadService
  readonly #actor: Actor
  readonly #isNew: boolean
  readonly #interrupt = new AbortController()
  #uploadId = ''
  #renewing: NodeJS.Timeout | undefined

  constructor(rows: ResumableUploadService, actor: Actor, { isNew }: { isNew: boolean }) {
    this.#rows = rows
    this.#actor = actor
    this.#isNew = isNew
  }

  /** Aborted with the error for the client if another request takes or requests the lock. */
  get interrupted(): AbortSignal {
    return this.#interrupt.signal
  }

  newLock(uploadId: string): Lock {
    this.#uploadId = uploadId
    return this
  }

  /** Throws 423 if the holder does not release the lock in time. */
  async lock(): Promise<void> {
    // The row of a new upload is created with this token.
    if (this.#isNew) return
    for (const deadline = performance.now() + maxWaitMs; performance.now() < deadline; await sleep(pollMs))
      if (await this.#rows.lock(this.#actor, this.#uploadId, this.token)) return this.renew()
    throw new ProtocolError(423, 'upload', 'is locked by another request or is being validated. Retry later')
  }

  /** Keeps the row locked from now on. */
  renew(): void {
    const onInterrupted = () => this.#interrupt.abort(interruption())
    this.#renewing = this.#rows.keepLocked(this.#actor.tenantId, this.#uploadId, this.token, onInterrupted)
  }

  async unlock(): Promise<void> {
    clearInterval(this.#renewing)
    // If this fails, the lease expires.
    await this.#rows.unlock(this.#actor.tenantId, this.#uploadId, this.token).catch(() => {})
  }
}

/** Error for a request whose upload was taken over by another one. */
export const interruption = () =>
  conflict('Another request is already writing to this upload. Get the current offset with HEAD, then resume from there.', {
    resumable: true,
  })
