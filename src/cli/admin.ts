// type-graphql's decorators need it before the first of them runs.
import 'reflect-metadata'
import { readConfig } from '../platform/config/config.js'
import { Lifecycle } from '../platform/processes/lifecycle.js'
import { tell } from './print-error.js'
import { runCommand, understand, usage } from './run-command.js'

const lifecycle = new Lifecycle()

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, () => void lifecycle.close().finally(() => process.exit(1)))

/** One JSON object on standard output; a sentence on standard error and exit status 1 where something is wrong. */
async function main(words: string[]): Promise<number> {
  if (['help', '--help', '-h'].includes(words[0] ?? '')) {
    console.error(usage())
    return 0
  }
  const asked = understand(words)
  const config = readConfig()
  const { result, fault } = await runCommand(asked, { config, lifecycle, say: (what) => console.error(what) })
  console.log(JSON.stringify(result))
  if (fault !== undefined) console.error(fault)
  return fault === undefined ? 0 : 1
}

let status = 1
try {
  status = await main(process.argv.slice(2))
} catch (error) {
  tell(error)
}
await lifecycle.close().catch((error) => {
  tell(error)
  status = 1
})
process.exit(status)
