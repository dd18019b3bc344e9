import { AsyncLocalStorage } from 'node:async_hooks'

/** Properties of a request that affect its reads from a replica. */
export interface ReplicaReadContext {
  /** Arrival time of the request, by the monotonic clock of this process. */
  arrivedAt: number
  /** Maximum age of the data at the start of the request, in milliseconds. */
  maxAgeMs: number
  /** Called after each read from a replica, with the age of the data. */
  served(ageMs: number): void
}

/** Request on whose behalf the current code runs. Undefined if no read replica is configured. */
export const replicaReadContext = new AsyncLocalStorage<ReplicaReadContext>()
