import { EventEmitter } from 'node:events'
import { parseArgs } from 'node:util'
import pino from 'pino'
import { openServices } from '../features/services.js'
import type { Config } from '../platform/config/config.js'
import { createDatabase } from '../platform/db/client.js'
import { migrate } from '../platform/db/migrate.js'
import { borrowDatabase } from '../platform/db/open-database.js'
import type { Lifecycle } from '../platform/processes/lifecycle.js'
import { type Command, type Given, UsageFault } from './command.js'
import { commands } from './commands.js'

interface Asked {
  command: Command
  given: Given
}

/** Parses the command line. Throws a `UsageFault` that contains the correct usage. */
export function understand(words: readonly string[]): Asked {
  const name = [2, 1].map((count) => words.slice(0, count).join(' ')).find((start) => Object.hasOwn(commands, start))
  if (name === undefined) {
    const asked = words.filter((word) => !word.startsWith('-')).join(' ')
    throw new UsageFault(`${asked === '' ? 'Missing command' : `Unknown command '${asked}'`}.\n${usage()}`)
  }
  const command = commands[name]!
  const right = `Usage: npm run --silent admin -- ${command.usage}`
  let given: Given
  try {
    given = parseArgs({ args: words.slice(name.split(' ').length), options: command.options, strict: true }).values as Given
  } catch (error) {
    throw new UsageFault(`${(error as Error).message.split(/\. |\n/)[0]!.replace(/\.$/, '')}. ${right}`)
  }
  const missing = (command.required ?? []).filter((option) => given[option] === undefined)
  if (missing.length > 0)
    throw new UsageFault(
      `${missing.map((option) => `--${option}`).join(', ')} ${missing.length === 1 ? 'is' : 'are'} required. ${right}`,
    )
  return { command, given }
}

export const usage = (): string =>
  [
    'Usage: npm run --silent admin -- COMMAND\n\nCommands:',
    ...Object.values(commands).map((command) => `  ${command.usage}`),
  ].join('\n')

/**
 * Runs one command on the service's own rooms, without HTTP: on the running service's database where there is one, else on the
 * embedded one, started for this command. Everything that was opened is `lifecycle`'s to close.
 */
export async function runCommand(
  { command, given }: Asked,
  { config, lifecycle, say }: { config: Config; lifecycle: Lifecycle; say: (what: string) => void },
): ReturnType<Command['run']> {
  const logger = pino({ level: 'silent' })
  const opened = await lifecycle.open(
    () => borrowDatabase(config, say),
    (database) => database.stop(),
  )
  await opened.prove()
  await migrate(opened.directUrl)
  const database = await lifecycle.open(
    async () => createDatabase(opened.url, { poolSize: 4, directUrl: opened.directUrl, logger }),
    (pool) => pool.close(),
  )
  const services = await lifecycle.open(
    () => openServices({ config, database, databaseUrl: opened.directUrl, logger, serviceEvents: new EventEmitter() }),
    (rooms) => rooms.close(),
  )
  return command.run({ config, database, services }, given)
}
