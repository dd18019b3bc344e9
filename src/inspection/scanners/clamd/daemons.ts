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
  readonly #waiting: { most: number; ms: number }
  readonly #waiters: Waiter[] = []

  constructor(addresses: ClamdAddress[], connections: number, waiting: { most: number; ms: number }) {
    this.all = addresses.map((address) => ({ address, busy: 0, unhealthyUntil: 0 }))
    this.#connections = connections
    this.#waiting = waiting
  }

  /** Acquires a connection to a daemon. The caller must release it. Throws `overloaded`, or the signal's reason. */
  async acquire(excluded: ReadonlySet<Daemon>, signal: AbortSignal, background = false): Promise<Daemon> {
    signal.throwIfAborted()
    const free =
      background && this.#waiters.length > 0 ? undefined : this.#findLeastBusy(excluded, this.#getMaxConnections(background))
    if (!free) return this.#queue({ excluded, background }, signal)
    free.busy++
    return free
  }

  release(daemon: Daemon): void {
    daemon.busy--
    const mayHave = (background: boolean) => (waiter: Waiter) =>
      waiter.background === background && !waiter.excluded.has(daemon) && daemon.busy < this.#getMaxConnections(background)
    const first = this.#waiters.findIndex(mayHave(false))
    const next = first < 0 ? this.#waiters.findIndex(mayHave(true)) : first
    if (next < 0) return
    daemon.busy++
    this.#waiters.splice(next, 1)[0]?.take(daemon)
  }

  #getMaxConnections(background: boolean): number {
    return background ? Math.max(1, this.#connections - 1) : this.#connections
  }

  #findLeastBusy(excluded: ReadonlySet<Daemon>, most: number): Daemon | undefined {
    const free = this.all.filter((daemon) => !excluded.has(daemon) && daemon.busy < most)
    const now = Date.now()
    const well = free.filter((daemon) => daemon.unhealthyUntil <= now)
    const [first] = (well.length > 0 ? well : free).sort((a, b) => a.busy - b.busy)
    // Move the selected daemon to the end of the list, so that equally busy daemons take turns.
    if (first) this.all.push(...this.all.splice(this.all.indexOf(first), 1))
    return first
  }

  #queue(request: Pick<Waiter, 'excluded' | 'background'>, signal: AbortSignal): Promise<Daemon> {
    if (this.#waiters.length >= this.#waiting.most)
      return Promise.reject(overloaded('Too many files are waiting for clamd. Retry later.'))
    return new Promise((resolve, reject) => {
      const leave = (reason: unknown) => {
        const at = this.#waiters.indexOf(waiter)
        if (at >= 0) this.#waiters.splice(at, 1)
        done()
        reject(reason)
      }
      const aborted = () => leave(signal.reason)
      const timer = setTimeout(
        () => leave(overloaded(`No clamd connection became available within ${this.#waiting.ms} ms. Retry later.`)),
        this.#waiting.ms,
      )
      const done = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', aborted)
      }
      const take = (daemon: Daemon) => {
        done()
        resolve(daemon)
      }
      const waiter: Waiter = { ...request, take }
      signal.addEventListener('abort', aborted, { once: true })
      this.#waiters.push(waiter)
    })
  }
}
