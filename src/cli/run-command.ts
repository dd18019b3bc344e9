import { EventEmitter } from 'node:events'
import { parseArgs } from 'node:util'
import pino from 'pino'
import { openServices } from '../features/services.js'
import type { Config } from '../platform/config/config.js'
import { createDatabase } from '../platform/db/client.js'
import { migrate } from '../platform/db/migrate.js'
import { openDatabase } from '../platform/db/open-database.js'
import type { Lifecycle } from '../platform/processes/lifecycle.js'
import { adoptCommands } from './adopt-command.js'
import { type Command, type OptionValues, UsageError } from './command.js'
import { databaseCommands } from './database-commands.js'
import { secretCommands } from './secret-commands.js'
import { storageCommands } from './storage-commands.js'
import { tenantCommands } from './tenant-commands.js'
import { userCommands } from './user-commands.js'

/** All `npm run admin` commands. */
export const commands: Readonly<Record<string, Command>> = {
  ...tenantCommands,
  ...userCommands,
  ...storageCommands,
  ...adoptCommands,
  ...secretCommands,
  ...databaseCommands,
}

interface ParsedCommand {
  command: Command
  values: OptionValues
}

/** Parses the command line. If it is invalid, throws a `UsageError` that states the correct usage. */
export function parseCommand(argv: readonly string[]): ParsedCommand {
  const name = [2, 1].map((count) => argv.slice(0, count).join(' ')).find((start) => Object.hasOwn(commands, start))
  if (name === undefined) {
    const unknown = argv.filter((word) => !word.startsWith('-')).join(' ')
    throw new UsageError(`${unknown === '' ? 'Missing command' : `Unknown command '${unknown}'`}.\n${getUsage()}`)
  }
  const command = commands[name]!
  const correctUsage = `Usage: npm run --silent admin -- ${command.usage}`
  let values: OptionValues
  try {
    values = parseValues(command, argv.slice(name.split(' ').length))
  } catch (error) {
    throw new UsageError(`${(error as Error).message.split(/\. |\n/)[0]!.replace(/\.$/, '')}. ${correctUsage}`)
  }
  const missing = (command.required ?? []).filter((option) => values[option] === undefined)
  if (missing.length > 0)
    throw new UsageError(
      `${missing.map((option) => (option === command.argument ? option.toUpperCase() : `--${option}`)).join(', ')} ${missing.length === 1 ? 'is' : 'are'} required. ${correctUsage}`,
    )
  return { command, values }
}

function parseValues({ options, argument }: Command, args: string[]): OptionValues {
  const { values, positionals } = parseArgs({ args, options, strict: true, allowPositionals: argument !== undefined })
  if (positionals.length > 1) throw new Error(`Unexpected argument '${positionals[1]}'`)
  return { ...(values as OptionValues), ...(argument !== undefined && { [argument]: positionals[0] }) }
}

export const getUsage = (): string =>
  [
    'Usage: npm run --silent admin -- COMMAND\n\nCommands:',
    ...Object.values(commands).map((command) => `  ${command.usage}`),
  ].join('\n')

/** Runs a command against the service's database without starting the HTTP server. `lifecycle` closes all opened components. */
export async function runCommand(
  { command, values }: ParsedCommand,
  { config, lifecycle, print }: { config: Config; lifecycle: Lifecycle; print: (message: string) => void },
): ReturnType<Command['run']> {
  const logger = pino({ level: 'silent' })
  const opened = await lifecycle.open(
    () => openDatabase({ ...config, purpose: 'command' }, print),
    (database) => database.stop(),
  )
  await opened.verify()
  await migrate(opened.directUrl)
  const database = await lifecycle.open(
    async () => createDatabase(opened.url, { poolSize: 4, directUrl: opened.directUrl, logger }),
    (pool) => pool.close(),
  )
  const services = await lifecycle.open(
    () => openServices({ config, database, databaseUrl: opened.directUrl, logger, serviceEvents: new EventEmitter() }),
    (opened) => opened.close(),
  )
  return command.run({ config, database, services, print }, values)
}
