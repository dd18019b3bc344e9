import { overloaded } from '../../../platform/errors/errors.js'
import type { ClamdAddress } from './address.js'

export interface Daemon {
  readonly address: ClamdAddress
  busy: number
  unhealthyUntil: number
}

interface Waiter {
  /** True for background work. It waits for all other work, and leaves one connection per daemon free. */
  background: boolean
  excluded: ReadonlySet<Daemon>
  take(daemon: Daemon): void
}

/**
 * Selects the least busy healthy daemon and limits the connections per daemon. If no connection is free, callers wait for a
 * limited time.
 */
export class Daemons {
  readonly all: Daemon[]
  readonly #connections: number
  readonly #waiting: { maxRequests: number; ms: number }
  readonly #waiters: Waiter[] = []

  constructor(addresses: ClamdAddress[], connections: number, waiting: { maxRequests: number; ms: number }) {
    this.all = addresses.map((address) => ({ address, busy: 0, unhealthyUntil: 0 }))
    this.#connections = connections
    this.#waiting = waiting
  }

  /** Acquires a connection to a daemon. The caller must release it. Throws `overloaded`, or the signal's reason. */
  async acquire(excluded: ReadonlySet<Daemon>, signal: AbortSignal, isBackground = false): Promise<Daemon> {
    signal.throwIfAborted()
    const free =
      isBackground && this.#waiters.length > 0 ? undefined : this.#findLeastBusy(excluded, this.#getMaxConnections(isBackground))
    if (!free) return this.#waitInQueue({ excluded, background: isBackground }, signal)
    free.busy++
    return free
  }

  release(daemon: Daemon): void {
    daemon.busy--
    const canUseDaemon = (isBackground: boolean) => (waiter: Waiter) =>
      waiter.background === isBackground && !waiter.excluded.has(daemon) && daemon.busy < this.#getMaxConnections(isBackground)
    const first = this.#waiters.findIndex(canUseDaemon(false))
    const next = first < 0 ? this.#waiters.findIndex(canUseDaemon(true)) : first
    if (next < 0) return
    daemon.busy++
    this.#waiters.splice(next, 1)[0]?.take(daemon)
  }

  #getMaxConnections(isBackground: boolean): number {
    return isBackground ? Math.max(1, this.#connections - 1) : this.#connections
  }

  #findLeastBusy(excluded: ReadonlySet<Daemon>, maxConnections: number): Daemon | undefined {
    const free = this.all.filter((daemon) => !excluded.has(daemon) && daemon.busy < maxConnections)
    const now = Date.now()
    const well = free.filter((daemon) => daemon.unhealthyUntil <= now)
    const [first] = (well.length > 0 ? well : free).sort((a, b) => a.busy - b.busy)
    // Move the selected daemon to the end of the list, so that equally busy daemons take turns.
    if (first) this.all.push(...this.all.splice(this.all.indexOf(first), 1))
    return first
  }

  #waitInQueue(request: Pick<Waiter, 'excluded' | 'background'>, signal: AbortSignal): Promise<Daemon> {
    if (this.#waiters.length >= this.#waiting.maxRequests)
      return Promise.reject(overloaded('Too many files are waiting for clamd. Retry later.'))
    return new Promise((resolve, reject) => {
      const leaveQueue = (reason: unknown) => {
        const at = this.#waiters.indexOf(waiter)
        if (at >= 0) this.#waiters.splice(at, 1)
        stopWaiting()
        reject(reason)
      }
      const onAbort = () => leaveQueue(signal.reason)
      const timer = setTimeout(
        () => leaveQueue(overloaded(`No clamd connection became available within ${this.#waiting.ms} ms. Retry later.`)),
        this.#waiting.ms,
      )
      const stopWaiting = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
      }
      const acceptDaemon = (daemon: Daemon) => {
        stopWaiting()
        resolve(daemon)
      }
      const waiter: Waiter = { ...request, take: acceptDaemon }
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiters.push(waiter)
    })
  }
}
