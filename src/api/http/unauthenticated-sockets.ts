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

/** The place of a socket in the pool of unauthenticated sockets. */
export interface WaitingPlace {
  /** Marks the credential as being checked. From now on, no other socket can take the place. */
  checking(): void
  leave(): void
}

/**
 * Limits WebSockets that have not authenticated yet: a small pool, separate from the sockets of subscribers. If the pool or the share of an
 * address is full, the oldest idle socket is closed. A client that sends its credential immediately therefore always finds a place.
 */
export class UnauthenticatedSockets {
  // In order of arrival.
  readonly #waiting = new Set<Waiting>()

  /**
   * Returns undefined if no place is available. `timedOut` is called if the socket does not authenticate in time, `drop` if another socket
   * takes its place.
   */
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
