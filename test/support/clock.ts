import { setTimeout as sleep } from 'node:timers/promises'

const hour = 3_600_000

/** For files whose tests speak of "today": where the UTC day is about to end, waits for the next. Give `beforeAll` its `awayFromMidnightMs`. */
export const awayFromMidnight = (): Promise<void> => awayFromEndOf(24 * hour)

/** The same for files whose tests speak of this hour. */
export const awayFromHour = (): Promise<void> => awayFromEndOf(hour)

async function awayFromEndOf(spanMs: number): Promise<void> {
  const left = spanMs - (Date.now() % spanMs)
  if (left < testsTakeMs) await sleep(left + 100)
}

const testsTakeMs = 90_000

export const awayFromMidnightMs = testsTakeMs + 60_000

/** The service counts by the database's clock, as it estimates it. */
const estimatedToMs = 1_000

/** Does `work`, which is about one window (of a rate limit, an hour of a chart); where a window ended meanwhile and it failed, once more. */
export async function inOneWindow<T>(seconds: number, work: () => Promise<T>): Promise<T> {
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
