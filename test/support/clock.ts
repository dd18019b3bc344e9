import { setTimeout as sleep } from 'node:timers/promises'

const day = 86_400_000

/** For files whose tests speak of "today": where the UTC day is about to end, waits for the next. Give `beforeAll` its `awayFromMidnightMs`. */
export async function awayFromMidnight(): Promise<void> {
  const left = day - (Date.now() % day)
  if (left < testsTakeMs) await sleep(left + 100)
}

const testsTakeMs = 90_000

export const awayFromMidnightMs = testsTakeMs + 60_000
