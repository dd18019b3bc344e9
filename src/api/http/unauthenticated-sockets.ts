import { toAddressGroup } from '../../access/address-group.js'

const maxSockets = { total: 256, perAddress: 64 }
const timeoutMs = 5_000

interface Waiting {
  address: string
  /** True until the client sends its credential. */
  isIdle: boolean
  drop: () => void
  timer: NodeJS.Timeout
}

/** One socket's place among the sockets that have not authenticated yet. */
export interface WaitingPlace {
  /** The credential is being checked: from now on, no other socket takes the place. */
  checking(): void
  leave(): void
}

/**
 * WebSockets that have not authenticated yet: a small pool, apart from the sockets of subscribers. If the pool or the share of an
 * address is full, the oldest idle socket gives way: a client that sends its credential immediately always finds a place.
 */
export class UnauthenticatedSockets {
  // In the order of their arrival.
  readonly #waiting = new Set<Waiting>()

  /** Undefined if there is no place. `timedOut` is called if the socket has not authenticated in time, `drop` if it gives way. */
  enter(ip: string, { timedOut, drop }: { timedOut: () => void; drop: () => void }): WaitingPlace | undefined {
    const address = toAddressGroup(ip)
    const own = [...this.#waiting].filter((each) => each.address === address)
    if (own.length >= maxSockets.perAddress && !this.#dropOldestIdle(own)) return undefined
    if (this.#waiting.size >= maxSockets.total && !this.#dropOldestIdle([...this.#waiting])) return undefined
    const waiting: Waiting = { address, isIdle: true, drop, timer: setTimeout(timedOut, timeoutMs) }
    this.#waiting.add(waiting)
    return {
      checking: () => {
        waiting.isIdle = false
      },
      leave: () => this.#remove(waiting),
    }
  }

  #dropOldestIdle(candidates: Waiting[]): boolean {
    const oldest = candidates.find(({ isIdle }) => isIdle)
    if (!oldest) return false
    this.#remove(oldest)
    oldest.drop()
    return true
  }

  #remove(waiting: Waiting): void {
    clearTimeout(waiting.timer)
    this.#waiting.delete(waiting)
  }
}
