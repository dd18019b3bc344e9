import { toAddressGroup } from '../../access/address-group.js'

const maxSockets = { total: 256, perAddress: 64 }
const timeoutMs = 5_000

interface WaitingSocket {
  address: string
  /** True until the client sends its credential. */
  isIdle: boolean
  drop: () => void
  timer: NodeJS.Timeout
}

/** A slot in the pool of unauthenticated sockets. */
export interface WaitingSlot {
  /** Marks the credential as being checked. Other sockets can no longer take over the slot. */
  startChecking(): void
  release(): void
}

/**
 * Limits unauthenticated WebSockets to a small pool, separate from the sockets of subscribers. If the limit for the pool or an
 * address is reached, the oldest idle socket is closed. A client that sends its credential immediately therefore always gets a
 * slot.
 */
export class UnauthenticatedSockets {
  readonly #waiting = new Set<WaitingSocket>()

  /**
   * Reserves a slot, or returns undefined if none is available. `onTimeout` is called if the socket does not authenticate in time,
   * and `onDrop` if another socket takes over its slot.
   */
  acquire(ip: string, { onTimeout, onDrop }: { onTimeout: () => void; onDrop: () => void }): WaitingSlot | undefined {
    const address = toAddressGroup(ip)
    const own = [...this.#waiting].filter((each) => each.address === address)
    if (own.length >= maxSockets.perAddress && !this.#tryDropOldestIdleSocket(own)) return undefined
    if (this.#waiting.size >= maxSockets.total && !this.#tryDropOldestIdleSocket([...this.#waiting])) return undefined
    const waiting: WaitingSocket = { address, isIdle: true, drop: onDrop, timer: setTimeout(onTimeout, timeoutMs) }
    this.#waiting.add(waiting)
    return {
      startChecking: () => {
        waiting.isIdle = false
      },
      release: () => this.#remove(waiting),
    }
  }

  #tryDropOldestIdleSocket(candidates: WaitingSocket[]): boolean {
    const oldest = candidates.find(({ isIdle }) => isIdle)
    if (!oldest) return false
    this.#remove(oldest)
    oldest.drop()
    return true
  }

  #remove(waiting: WaitingSocket): void {
    clearTimeout(waiting.timer)
    this.#waiting.delete(waiting)
  }
}
