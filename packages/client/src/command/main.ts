#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { createClient } from '../client.js'
import { AssayError } from '../errors.js'
import type { Command } from './command.js'
import { commands } from './commands.js'
import { formatCommandHelp, formatHelp } from './help.js'
import { createOutput, toErrorFields, UsageError } from './output.js'
import { readSettings } from './settings.js'

async function main(args: string[]): Promise<number> {
  const [name, ...rest] = args
  if (name === '--version') return printAndReturnSuccess(`${readVersion()}\n`)
  if (name === undefined) {
    process.stderr.write(formatHelp(commands))
    return 2
  }
  if (name === 'help' || name === '--help' || name === '-h')
    return printAndReturnSuccess(rest[0] === undefined ? formatHelp(commands) : formatCommandHelp(findCommand(rest[0])))
  const command = findCommand(name)
  const { positionals, options } = parseCommandLine(command, rest)
  if (options.help !== undefined) return printAndReturnSuccess(formatCommandHelp(command))
  assertArgumentCount(command, positionals)
  const env = process.env
  const output = createOutput(options.json !== undefined)
  const createConfiguredClient = async () => {
    const { url, key } = await readSettings(env)
    return createClient({ baseUrl: url, apiKey: key })
  }
  return (await command.run({ positionals, options, output, env, client: createConfiguredClient, commands })) ? 0 : 1
}

function printAndReturnSuccess(text: string): number {
  process.stdout.write(text)
  return 0
}

const readVersion = (): string => JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version

function findCommand(name: string): Command {
  if (Object.hasOwn(commands, name)) return commands[name]!
  throw new UsageError(`Unknown command '${name}'. Commands: ${Object.keys(commands).join(', ')}.`)
}

function parseCommandLine({ usage, options: knownOptions }: Command, args: string[]) {
  const types = {
    ...Object.fromEntries(Object.keys(knownOptions).map((name) => [name, { type: 'string' as const }])),
    json: { type: 'boolean' as const },
    help: { type: 'boolean' as const, short: 'h' },
  }
  try {
    const { values, positionals } = parseArgs({ args, options: types, allowPositionals: true })
    const entries = Object.entries(values).map(([name, value]) => [name, String(value)])
    return { positionals, options: Object.fromEntries(entries) as Record<string, string | undefined> }
  } catch (error) {
    throw new UsageError(`${(error as Error).message} Usage: assay ${usage}`)
  }
}

function assertArgumentCount({ usage, argumentCount: [min, max] }: Command, positionals: string[]): void {
  if (positionals.length >= min && positionals.length <= max) return
  throw new UsageError(
    `Wrong number of arguments: ${positionals.length}. The command expects ${min === max ? min : `${min} to ${max}`}. Usage: assay ${usage}`,
  )
}

// EPIPE only means that the reader closed the pipe, as in `assay ls | head`, so it is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 2))

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  const described = toErrorFields(error)
  process.stderr.write(process.argv.includes('--json') ? `${JSON.stringify(described)}\n` : `${described.message}\n`)
  const isRejected = error instanceof AssayError && error.status >= 400 && error.status < 500 && error.code !== 'invalid_response'
  return isRejected ? 1 : 2
})
