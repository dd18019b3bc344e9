import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const sources = new URL('../../src', import.meta.url).pathname

/** Names of all steps in the service's code after which a test can kill the process. */
export const faultPoints: readonly string[] = [
  ...new Set(
    readdirSync(sources, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .sort()
      .flatMap((file) => [...readFileSync(join(sources, file), 'utf8').matchAll(/reachFaultPoint\('([a-z.]+)'\)/g)])
      .map((call) => call[1]!),
  ),
]
