import { AsyncLocalStorage } from 'node:async_hooks'

/** The data of a request that is relevant for reads from a replica. */
export interface ReplicaReadContext {
  /** Time at which the request arrived, by the monotonic clock of this process. */
  arrivedAt: number
  /** Maximum age of the data at the start of the request, in milliseconds. */
  maxAgeMs: number
  /** Called after each read from a replica, with the age of the data. */
  served(ageMs: number): void
}

/** The request on whose behalf the current code reads. Not set if no read replica is configured. */
export const replicaReadContext = new AsyncLocalStorage<ReplicaReadContext>()
