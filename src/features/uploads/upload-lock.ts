import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Lock, Locker } from '@tus/server'
import type { Actor } from '../../platform/actor.js'
import { conflict } from '../../platform/errors/errors.js'
import type { ResumableUploadService } from './resumable-upload.service.js'
import { ProtocolFault } from './tus-request.js'

const renewMs = 1_000
const pollMs = 100
const mostWaitMs = 10_000

/**
 * The lock of one upload for one request, on whatever replica: a lease in the upload's row. A newer request asks for it, and the older
 * one stops reading and keeps what has come: its connection is most often one that is dead. That only the holder adds anything is not
 * this lock's promise but that of the statement that adds, which checks the token.
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

  /** Aborted, with the fault to tell, when another request wants the upload or has it. */
  get interrupted(): AbortSignal {
    return this.#interrupt.signal
  }

  newLock(uploadId: string): Lock {
    this.#uploadId = uploadId
    return this
  }

  /** Throws 423 where its holder does not let go in time. */
  async lock(): Promise<void> {
    // Made with this token in it.
    if (this.#isNew) return
    for (const deadline = performance.now() + mostWaitMs; performance.now() < deadline; await sleep(pollMs))
      if (await this.#rows.lock(this.#actor, this.#uploadId, this.token)) return this.renew()
    throw new ProtocolFault(423, 'upload', 'another request has it, or it is being judged; try again in a moment')
  }

  /** From now on the row is kept locked. */
  renew(): void {
    this.#renewing = setInterval(() => void this.#renew().catch(() => {}), renewMs).unref()
  }

  async unlock(): Promise<void> {
    clearInterval(this.#renewing)
    // Where this fails the lease runs out.
    await this.#rows.unlock(this.#actor.tenantId, this.#uploadId, this.token).catch(() => {})
  }

  async #renew(): Promise<void> {
    const state = await this.#rows.renewLock(this.#actor.tenantId, this.#uploadId, this.token)
    if (state !== 'ours') this.#interrupt.abort(interruption())
  }
}

/** What a request is answered that another one has taken over from. */
export const interruption = () =>
  conflict('Another request took this upload over; ask for its offset by HEAD, and go on from there.', { resumable: true })
