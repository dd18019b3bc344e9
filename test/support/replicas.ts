import { setTimeout as sleep } from 'node:timers/promises'

/** Maximum time that one poll interval counts, because the machine may pause. */
const maxPauseMs = 50

/** Returns the milliseconds from `change` to the first request for which the other replica returned `expected`. */
export async function measurePropagation(
  change: () => Promise<unknown>,
  status: () => Promise<number>,
  expected: number,
): Promise<number> {
  await change()
  let passed = 0
  for (;;) {
    const requested = performance.now()
    // Requests within the first second do not count as failures.
    if ((await status()) === expected || passed > 1000) return passed
    await sleep(5)
    passed += Math.min(maxPauseMs, performance.now() - requested)
  }
}
