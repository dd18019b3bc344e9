import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

/**
 * A port that is free, and stays so until a test listens on it, and while what listens is started again: below those that the
 * system gives to outgoing connections (32768 and up on Linux), of which a run of the tests makes thousands, and given to no
 * other test of the run.
 */
export async function freePort(): Promise<string> {
  for (;;) {
    const port = randomInt(10_000, 32_768)
    if (!isFirst(port)) continue
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

/** Whether no worker of this run (test/support/global-setup.mjs) has had it. */
function isFirst(port: number): boolean {
  try {
    writeFileSync(join(process.env.ASSAY_TEST_DATABASE!, `port-${port}`), '', { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
