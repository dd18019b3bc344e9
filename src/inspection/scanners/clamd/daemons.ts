import { overloaded } from '../../../platform/errors/errors.js'
import type { ClamdAddress } from './exchange.js'

export interface Daemon {
  readonly address: ClamdAddress
  busy: number
  unhealthyUntil: number
}

interface Waiter {
  /** True for background work, which waits for all other work and leaves one connection per daemon free. */
  isBackground: boolean
  excluded: ReadonlySet<Daemon>
  take(daemon: Daemon): void
}

/** Selects the least busy healthy daemon. Limits the connections per daemon, and how long callers wait for a connection. */
export class Daemons {
  readonly all: Daemon[]
  readonly #waiters = new Set<Waiter>()

  constructor(
    addresses: ClamdAddress[],
    private readonly connections: number,
    private readonly waiting: { maxRequests: number; ms: number },
  ) {
    this.all = addresses.map((address) => ({ address, busy: 0, unhealthyUntil: 0 }))
  }

  /** Acquires a connection to a daemon. The caller must release it. Throws `overloaded`, or the signal's reason. */
  async acquire(excluded: ReadonlySet<Daemon>, signal: AbortSignal, isBackground = false): Promise<Daemon> {
    signal.throwIfAborted()
    const mustWait = isBackground && this.#waiters.size > 0
    const free = mustWait ? undefined : this.#findLeastBusy(excluded, this.#getMaxConnections(isBackground))
    if (!free) return this.#waitInQueue({ excluded, isBackground }, signal)
    free.busy++
    return free
  }

  release(daemon: Daemon): void {
    daemon.busy--
    const candidates = [...this.#waiters].filter(
      ({ isBackground, excluded }) => !excluded.has(daemon) && daemon.busy < this.#getMaxConnections(isBackground),
    )
    const next = candidates.find(({ isBackground }) => !isBackground) ?? candidates[0]
    if (!next) return
    daemon.busy++
    next.take(daemon)
  }

  #getMaxConnections(isBackground: boolean): number {
    return isBackground ? Math.max(1, this.connections - 1) : this.connections
  }

  #findLeastBusy(excluded: ReadonlySet<Daemon>, maxConnections: number): Daemon | undefined {
    const free = this.all.filter((daemon) => !excluded.has(daemon) && daemon.busy < maxConnections)
    const now = Date.now()
    const healthy = free.filter((daemon) => daemon.unhealthyUntil <= now)
    const [first] = (healthy.length > 0 ? healthy : free).sort((a, b) => a.busy - b.busy)
    // Move the selected daemon to the end of the list, so that equally busy daemons take turns.
    if (first) this.all.push(...this.all.splice(this.all.indexOf(first), 1))
    return first
  }

  #waitInQueue(request: Omit<Waiter, 'take'>, signal: AbortSignal): Promise<Daemon> {
    if (this.#waiters.size >= this.waiting.maxRequests)
      return Promise.reject(overloaded('Too many files are waiting for clamd. Retry later.'))
    return new Promise((resolve, reject) => {
      const leaveQueue = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
        this.#waiters.delete(waiter)
      }
      const rejectWait = (reason: unknown) => {
        leaveQueue()
        reject(reason)
      }
      const resolveWait = (daemon: Daemon) => {
        leaveQueue()
        resolve(daemon)
      }
      const waiter = { ...request, take: resolveWait }
      const onAbort = () => rejectWait(signal.reason)
      const timeout = overloaded(`No clamd connection became available within ${this.waiting.ms} ms. Retry later.`)
      const timer = setTimeout(() => rejectWait(timeout), this.waiting.ms)
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiters.add(waiter)
    })
  }
}
