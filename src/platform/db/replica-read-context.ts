import { AsyncLocalStorage } from 'node:async_hooks'

/** One request, as far as a replica need know it. */
export interface ReplicaReadContext {
  /** When it came, by the process's own count. */
  cameAt: number
  /** Maximum age of the data at the start of the request, in milliseconds. */
  maxAgeMs: number
  /** Called after each read from a replica, with the age of the data. */
  served(ageMs: number): void
}

/** The request that the current code reads for. Not set if no read replica is configured. */
export const replicaReadContext = new AsyncLocalStorage<ReplicaReadContext>()
