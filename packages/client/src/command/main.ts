#!/usr/bin/env node
import { parseArgs } from 'node:util'
import { createClient } from '../client.js'
import { AssayError } from '../errors.js'
import { type Command, commands } from './commands.js'
import { openOutput, UsageError } from './output.js'
import { readSettings } from './settings.js'

const help = `assay COMMAND [--json]

${Object.values(commands)
  .map(({ usage, description }) => `${usage}\n    ${description}`)
  .join('\n')}

ASSAY_URL and ASSAY_KEY override the stored login. With --json, each result is one line of JSON.
Exit status: 0 success, 1 rejected by the service, 2 the command could not run.
`

/** Runs a command and returns its exit status. */
async function main(args: string[]): Promise<number> {
  const [name, ...rest] = args
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    process.stdout.write(help)
    return name === undefined ? 2 : 0
  }
  const command = Object.hasOwn(commands, name) ? commands[name]! : undefined
  if (!command) throw new UsageError(`Unknown command '${name}'. Commands: ${Object.keys(commands).join(', ')}.`)
  const { positionals, options } = parseCommandLine(command, rest)
  const env = process.env
  const output = openOutput(options.json !== undefined)
  const client = async () => {
    const { url, key } = await readSettings(env)
    return createClient({ baseUrl: url, apiKey: key })
  }
  return (await command.run({ positionals, options, output, env, client })) ? 0 : 1
}

function parseCommandLine({ usage, options: names, argumentCount: [min, max] }: Command, args: string[]) {
  try {
    const types = Object.fromEntries([...names.map((name) => [name, { type: 'string' }]), ['json', { type: 'boolean' }]])
    const { values, positionals } = parseArgs({ args, options: types, allowPositionals: true })
    if (positionals.length < min || positionals.length > max) throw new Error('Wrong number of arguments.')
    const entries = Object.entries(values).map(([name, value]) => [name, String(value)])
    return { positionals, options: Object.fromEntries(entries) as Record<string, string | undefined> }
  } catch (error) {
    throw new UsageError(`${(error as Error).message} Usage: assay ${usage}`)
  }
}

// The reader closed the pipe, as in `assay ls | head`. This is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 2))

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  const isRejected = error instanceof AssayError && error.status >= 400 && error.status < 500 && error.code !== 'invalid_response'
  if (process.argv.includes('--json') && error instanceof AssayError) {
    const { code, message, details, status, requestId } = error
    process.stderr.write(`${JSON.stringify({ code, message, details, status, request_id: requestId })}\n`)
  } else process.stderr.write(`${(error as Error).message}\n`)
  return isRejected ? 1 : 2
})
