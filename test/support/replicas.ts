import { setTimeout as sleep } from 'node:timers/promises'

/** A pause of the machine is not the replica's: of what passes between two questions no more counts. */
const mostPauseMs = 50

/** How many milliseconds after a `change` the other replica was first asked and answered as `expected`. */
export async function effectiveWithin(
  change: () => Promise<unknown>,
  status: () => Promise<number>,
  expected: number,
): Promise<number> {
  await change()
  let passed = 0
  for (;;) {
    const asked = performance.now()
    // Only what was asked after the second counts against it.
    if ((await status()) === expected || passed > 1000) return passed
    await sleep(5)
    passed += Math.min(mostPauseMs, performance.now() - asked)
  }
}
