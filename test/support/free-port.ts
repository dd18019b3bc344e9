import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A port that is free, and stays so until a test listens on it: below those that the system gives to outgoing connections
 * (32768 and up on Linux), of which a run of the tests makes thousands.
 */
export async function freePort(): Promise<string> {
  for (;;) {
    const port = randomInt(10_000, 32_768)
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
