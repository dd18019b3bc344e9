import type { Actor } from '../platform/actor.js'
import { overloaded } from '../platform/errors/errors.js'
import { TenantSlots } from './tenant-slots.js'

const maxStreams = { inAll: 500, byTenant: 50 }
const betweenChecksMs = 1_000

/**
 * Answers that go on for as long as their client stays: at most 50 of a tenant and 500 in all in this process. Each ends within a second
 * of the end of its credential, and all of them where the process is to end.
 */
export class LiveStreams {
  readonly #slots = new TenantSlots('live streams of events', maxStreams)
  readonly #open = new Set<AbortController>()
  #isEnding = false

  /** A slot of the tenant, with a signal that ends the stream; `mayGoOn` is asked again and again. Throws 429 at the tenant's limit, and 503 at the limit of all. */
  enter({ tenantId }: Pick<Actor, 'tenantId'>, mayGoOn: () => Promise<boolean>): { signal: AbortSignal; leave: () => void } {
    if (this.#isEnding) throw overloaded('This process is about to end; connect again.')
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
        // Where it cannot be asked, nothing more is told.
        const goesOn = await mayGoOn().catch(() => false)
        if (abort.signal.aborted) return
        if (goesOn) check()
        else leave()
      }, betweenChecksMs).unref()
    }
    check()
    return { signal: abort.signal, leave }
  }

  endAll(): void {
    this.#isEnding = true
    for (const abort of this.#open) abort.abort()
  }
}
