import { setTimeout as sleep } from 'node:timers/promises'

const day = 86_400_000

/** For files whose tests speak of "today": where the UTC day is about to end, waits for the next. Give `beforeAll` its `awayFromMidnightMs`. */
export async function awayFromMidnight(): Promise<void> {
  const left = day - (Date.now() % day)
  if (left < testsTakeMs) await sleep(left + 100)
}

const testsTakeMs = 90_000

export const awayFromMidnightMs = testsTakeMs + 60_000

/** Does `work`, which is about one window of a rate limit; where a window ended meanwhile and it failed, once more. */
export async function inOneWindow<T>(seconds: number, work: () => Promise<T>): Promise<T> {
  const window = () => Math.floor(Date.now() / 1000 / seconds)
  for (;;) {
    const began = window()
    try {
      return await work()
    } catch (error) {
      if (window() === began) throw error
    }
  }
}
