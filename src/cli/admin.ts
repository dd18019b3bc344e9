// This import must come first, because type-graphql's decorators depend on it.
import 'reflect-metadata'
import { readConfig } from '../platform/config/config.js'
import { Lifecycle } from '../platform/processes/lifecycle.js'
import { printError } from './command.js'
import { getUsage, parseCommand, runCommand } from './run-command.js'

const lifecycle = new Lifecycle()

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, () => void lifecycle.close().finally(() => process.exit(1)))

/** Prints the result as one JSON object to standard output. On an error, prints it to standard error and exits with status 1. */
async function main(argv: string[]): Promise<number> {
  if (['help', '--help', '-h'].includes(argv[0] ?? '')) {
    console.error(getUsage())
    return 0
  }
  const parsed = parseCommand(argv)
  const config = readConfig()
  const { result, error } = await runCommand(parsed, { config, lifecycle, print: (message) => console.error(message) })
  console.log(JSON.stringify(result))
  if (error !== undefined) console.error(error)
  return error === undefined ? 0 : 1
}

let status = 1
try {
  status = await main(process.argv.slice(2))
} catch (error) {
  printError(error)
}
await lifecycle.close().catch((error) => {
  printError(error)
  status = 1
})
process.exit(status)
