import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Actor } from '../../platform/actor.js'
import { conflict } from '../../platform/errors/errors.js'
import type { ResumableUploadService } from './resumable-upload.service.js'
import { ProtocolError } from './tus-request.js'

const pollMs = 100
const maxWaitMs = 10_000

/**
 * Locks an upload with a lease on its row. One request on any replica can hold the lock. If a newer request waits for it, the
 * older request stops reading and stores the received bytes, because its connection is probably dead. The statement that adds
 * bytes checks the token, so that only the lock's holder can add bytes.
 */
export class UploadLock {
  readonly token = randomUUID()
  readonly #interrupt = new AbortController()
  #renewing: NodeJS.Timeout | undefined

  constructor(
    private readonly rows: ResumableUploadService,
    private readonly actor: Actor,
    private readonly uploadId: string,
  ) {}

  /** Aborted, with the error for the client, if another request acquires or waits for the lock. */
  get interruptSignal(): AbortSignal {
    return this.#interrupt.signal
  }

  /** Throws 423 if the current holder does not release the lock in time. */
  async acquire(): Promise<void> {
    for (const deadline = performance.now() + maxWaitMs; performance.now() < deadline; await sleep(pollMs))
      if (await this.rows.tryLock(this.actor, this.uploadId, this.token)) return this.renew()
    throw new ProtocolError(423, 'upload', 'is locked by another request or is being validated. Retry later')
  }

  /** Starts renewing the lease. A new upload is created with the token in its row, so it is already locked. */
  renew(): void {
    const onInterrupted = () => this.#interrupt.abort(createUploadInterruptedError())
    this.#renewing = this.rows.startRenewingLock(this.actor.tenantId, this.uploadId, this.token, onInterrupted)
  }

  async release(): Promise<void> {
    clearInterval(this.#renewing)
    // Ignore errors, because the lease expires without a renewal.
    await this.rows.unlock(this.actor.tenantId, this.uploadId, this.token).catch(() => {})
  }
}

/** Returns the error for a request whose upload was taken over by another request. */
export const createUploadInterruptedError = () =>
  conflict('Another request is already writing to this upload. Get the current offset with HEAD, then resume from there.', {
    resumable: true,
  })
