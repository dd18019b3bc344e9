import type { Actor } from '../platform/actor.js'
import { overloaded } from '../platform/errors/errors.js'
import { TenantSlots } from './tenant-slots.js'

const maxStreams = { inAll: 500, byTenant: 50 }
const checkIntervalMs = 1_000

/**
 * Limits event streams to 50 per tenant and 500 per process. Ends a stream within a second after its credential becomes invalid,
 * and all streams at shutdown.
 */
export class LiveStreams {
  readonly #slots = new TenantSlots('event streams', maxStreams)
  readonly #open = new Set<AbortController>()
  #isEnding = false

  /**
   * Reserves a slot for one of the tenant's streams. Calls `isCredentialValid` every second. If the credential is no longer
   * valid, aborts the returned signal. Throws 429 at the tenant's limit and 503 at the total limit.
   */
  open(
    { tenantId }: Pick<Actor, 'tenantId'>,
    isCredentialValid: () => Promise<boolean>,
  ): { signal: AbortSignal; leave: () => void } {
    if (this.#isEnding) throw overloaded('The server is shutting down. Reconnect to continue the stream.')
    const free = this.#slots.acquire(tenantId)
    const abort = new AbortController()
    this.#open.add(abort)
    const close = () => {
      clearTimeout(timer)
      this.#open.delete(abort)
      free()
      abort.abort()
    }
    const checkCredential = async () => {
      // End the stream if the check itself fails.
      const isValid = await isCredentialValid().catch(() => false)
      if (!isValid) close()
      else if (!abort.signal.aborted) timer.refresh()
    }
    const timer = setTimeout(checkCredential, checkIntervalMs).unref()
    return { signal: abort.signal, leave: close }
  }

  endAll(): void {
    this.#isEnding = true
    for (const abort of this.#open) abort.abort()
  }
}
