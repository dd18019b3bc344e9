import { setTimeout as sleep } from 'node:timers/promises'

const hour = 3_600_000

/** Waits for the next UTC day if the current one is about to end. Pass `awayFromMidnightMs` to `beforeAll`. */
export const avoidMidnight = (): Promise<void> => awayFromEndOf(24 * hour)

/** Waits for the next hour if the current one is about to end. */
export const avoidHourEnd = (): Promise<void> => awayFromEndOf(hour)

async function awayFromEndOf(spanMs: number): Promise<void> {
  const remaining = spanMs - (Date.now() % spanMs)
  if (remaining < testsTakeMs) await sleep(remaining + 100)
}

const testsTakeMs = 90_000

export const avoidMidnightMs = testsTakeMs + 60_000

/** Maximum error of the estimated database clock. */
const estimatedToMs = 1_000

/** Runs `work` and repeats it once if it failed while a time window ended. */
export async function runInOneWindow<T>(seconds: number, work: () => Promise<T>): Promise<T> {
  const window = (at: number) => Math.floor(at / 1000 / seconds)
  for (;;) {
    const began = window(Date.now() - estimatedToMs)
    try {
      return await work()
    } catch (error) {
      if (window(Date.now() + estimatedToMs) === began) throw error
    }
  }
}
