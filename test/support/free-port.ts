import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

/**
 * Returns a free port below the range of outgoing connections (32768 and above on Linux), so that it stays free during restarts.
 * Each port is used once per run.
 */
export async function findFreePort(): Promise<string> {
  for (;;) {
    const port = randomInt(10_000, 32_768)
    if (!isUnusedInRun(port)) continue
    const probe = createServer()
    const used = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(true))
      probe.listen(port, '127.0.0.1', () => resolve(false))
    })
    if (used) continue
    probe.close()
    await once(probe, 'close')
    return String(port)
  }
}

/** Returns whether no worker in this run has used the port (test/support/global-setup.mjs). */
function isUnusedInRun(port: number): boolean {
  try {
    writeFileSync(join(process.env.ASSAY_TEST_DATABASE!, `port-${port}`), '', { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
