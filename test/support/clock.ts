import { setTimeout as sleep } from 'node:timers/promises'

const hour = 3_600_000

/** Waits for the next UTC day if the current one is about to end. Pass `avoidMidnightMs` to `beforeAll`. */
export const avoidMidnight = (): Promise<void> => avoidEndOfPeriod(24 * hour)

/** Waits for the next hour if the current one is about to end. */
export const avoidHourEnd = (): Promise<void> => avoidEndOfPeriod(hour)

async function avoidEndOfPeriod(spanMs: number): Promise<void> {
  const remaining = spanMs - (Date.now() % spanMs)
  if (remaining < maxTestMs) await sleep(remaining + 100)
}

const maxTestMs = 90_000

export const avoidMidnightMs = maxTestMs + 60_000

/** Maximum error of the estimated database clock. */
const maxClockErrorMs = 1_000

/** Runs `work` and repeats it once if it failed while a time window ended. */
export async function runInOneWindow<T>(seconds: number, work: () => Promise<T>): Promise<T> {
  const getWindow = (at: number) => Math.floor(at / 1000 / seconds)
  for (;;) {
    const began = getWindow(Date.now() - maxClockErrorMs)
    try {
      return await work()
    } catch (error) {
      if (getWindow(Date.now() + maxClockErrorMs) === began) throw error
    }
  }
}
