import type { Queries } from './db/queries.js'

/** Database time minus `performance.now()`, in milliseconds. Undefined before the first synchronization. */
let offset: number | undefined

/** Returns the database's time in milliseconds since 1970, or the local time before the first synchronization. */
export const now = (): number => (offset === undefined ? Date.now() : Math.floor(performance.now() + offset))

export const getCurrentTime = (): Date => new Date(now())

export const startOfHour = (time: Date): Date => new Date(Math.floor(time.getTime() / 3_600_000) * 3_600_000)
export const startOfDay = (time: Date): Date => new Date(Math.floor(time.getTime() / 86_400_000) * 86_400_000)

/**
 * Sets the clock to the database's time. Returns the offset by which the local clock is ahead, and the uncertainty of this
 * offset.
 */
export async function synchronizeClock(database: Queries): Promise<{ aheadMs: number; uncertainMs: number }> {
  const requestedAt = performance.now()
  const { rows } = await database.query<{ ms: string }>('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms', [])
  const uncertainMs = (performance.now() - requestedAt) / 2
  const timeMs = Number(rows[0]!.ms)
  setClock(timeMs, requestedAt + uncertainMs)
  return { aheadMs: Date.now() - uncertainMs - timeMs, uncertainMs }
}

/** Sets the clock to `timeMs`, the time at which `performance.now()` returned `monotonicMs`. */
export function setClock(timeMs: number, monotonicMs = performance.now()): void {
  offset = timeMs - monotonicMs
}

const syncIntervalMs = 30_000

/** Synchronizes the clock every 30 seconds. Returns a function that stops the synchronization. */
export function startClockSync(database: Queries): () => void {
  const timer = setInterval(() => void synchronizeClock(database).catch(() => {}), syncIntervalMs).unref()
  return () => clearInterval(timer)
}
