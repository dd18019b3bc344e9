import type { Actor } from '../platform/actor.js'
import { overloaded } from '../platform/errors/errors.js'
import { TenantSlots } from './tenant-slots.js'

const maxStreams = { inAll: 500, byTenant: 50 }
const checkIntervalMs = 1_000

/**
 * Responses without an end: at most 50 per tenant and 500 per process. Each one ends within a second after its credential becomes invalid,
 * and all of them end when the process shuts down.
 */
export class LiveStreams {
  readonly #slots = new TenantSlots('live streams of events', maxStreams)
  readonly #open = new Set<AbortController>()
  #isEnding = false

  /**
   * Takes a slot of the tenant. The signal ends the stream. `isCredentialValid` is called every second. Throws 429 if the tenant's limit is
   * exceeded, and 503 if the total limit is.
   */
  enter(
    { tenantId }: Pick<Actor, 'tenantId'>,
    isCredentialValid: () => Promise<boolean>,
  ): { signal: AbortSignal; leave: () => void } {
    if (this.#isEnding) throw overloaded('The process is shutting down. Reconnect.')
    const free = this.#slots.enter(tenantId)
    const abort = new AbortController()
    this.#open.add(abort)
    const leave = () => {
      clearTimeout(timer)
      this.#open.delete(abort)
      free()
      abort.abort()
    }
    let timer: NodeJS.Timeout
    const check = () => {
      timer = setTimeout(async () => {
        // If the check fails, the stream ends.
        const isValid = await isCredentialValid().catch(() => false)
        if (abort.signal.aborted) return
        if (isValid) check()
        else leave()
      }, checkIntervalMs).unref()
    }
    check()
    return { signal: abort.signal, leave }
  }

  endAll(): void {
    this.#isEnding = true
    for (const abort of this.#open) abort.abort()
  }
}
