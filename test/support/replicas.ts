import { setTimeout as sleep } from 'node:timers/promises'

/** How many milliseconds after a `change` the other replica was first asked and answered as `expected`. */
export async function effectiveWithin(
  change: () => Promise<unknown>,
  status: () => Promise<number>,
  expected: number,
): Promise<number> {
  await change()
  const changed = performance.now()
  for (;;) {
    const asked = performance.now()
    if ((await status()) === expected) return asked - changed
    // Only what was asked after the second counts against it.
    if (asked - changed > 1000) return asked - changed
    await sleep(5)
  }
}
