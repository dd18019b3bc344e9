import { AsyncLocalStorage } from 'node:async_hooks'

/** One request, as far as a replica need know it. */
export interface Reading {
  /** When it came, by the process's own count. */
  cameAt: number
  /** What it reads may be older than that by so much. */
  maxAgeMs: number
  /** Called each time that a replica has served it, with the age of what it read. */
  served(ageMs: number): void
}

/** Which request the code that asks the database works for. Nothing enters it where there is no replica. */
export const readings = new AsyncLocalStorage<Reading>()
