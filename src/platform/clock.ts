import type { Queries } from './db/queries.js'

/** Database time less the process's own steady count; unknown until the database was asked. */
let offset: number | undefined

/**
 * Milliseconds since 1970 by the database's clock, as last learnt, carried on by a count that cannot be set: what replicas
 * compare, and what is kept, does not depend on the machine's clock. Without a database (`validate`) it is the machine's.
 */
export const now = (): number => (offset === undefined ? Date.now() : Math.floor(performance.now() + offset))

export const currentTime = (): Date => new Date(now())

/** Learns the database's time. Gives how far ahead of it the machine's own clock is, in milliseconds, and by how much that may be wrong. */
export async function learnTime(database: Queries): Promise<{ aheadMs: number; uncertainMs: number }> {
  const asked = performance.now()
  const { rows } = await database.query<{ ms: string }>('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms', [])
  const uncertainMs = (performance.now() - asked) / 2
  const ms = Number(rows[0]!.ms)
  setTime(ms, asked + uncertainMs)
  return { aheadMs: Date.now() - uncertainMs - ms, uncertainMs }
}

/** That it was `ms` at the moment `at` of the process's count. */
export function setTime(ms: number, at = performance.now()): void {
  offset = ms - at
}

const learnEveryMs = 30_000

/** Goes on learning, for a machine that slept or a database that moved; gives what ends it. */
export function keepTime(database: Queries): () => void {
  const timer = setInterval(() => void learnTime(database).catch(() => {}), learnEveryMs).unref()
  return () => clearInterval(timer)
}
