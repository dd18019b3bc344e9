import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { basename } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type AssayClient, createClient } from '../client.js'
import { AssayError } from '../errors.js'
import { type Output, UsageError } from './output.js'
import { storeSettings } from './settings.js'

export interface CommandRun {
  positionals: string[]
  options: Record<string, string | undefined>
  output: Output
  env: Record<string, string | undefined>
  client(): Promise<AssayClient>
}

/** Definition of a command. `run` returns false if the service rejected a file. */
export interface Command {
  usage: string
  description: string
  options: readonly string[]
  /** Minimum and maximum number of positional arguments. */
  argumentCount: readonly [number, number]
  run(run: CommandRun): Promise<boolean>
}

const succeeded = true

/** Commands of `npx assay`, in the order of the help text. */
export const commands: Record<string, Command> = {
  login: {
    usage: 'login --url URL [--key KEY]',
    description: 'Stores the URL and the API key for this user. Prompts for the key if --key is missing.',
    options: ['url', 'key'],
    argumentCount: [0, 0],
    async run({ options, output, env }) {
      const url = options.url ?? env.ASSAY_URL
      if (!url || !URL.canParse(url))
        throw new UsageError('Missing or invalid URL of the service. Example: --url https://files.example.com')
      const key = options.key ?? env.ASSAY_KEY ?? (await promptForKey())
      await createClient({ baseUrl: url, apiKey: key }).contexts.list({ page_size: 1 })
      const path = await storeSettings(env, { url, key })
      output.note(`Signed in to ${url}. The login is stored in ${path}.`)
      return succeeded
    },
  },
  upload: {
    usage: 'upload FILE… --context KEY [--metadata JSON]',
    description: 'Uploads files. Each file is validated, and stored or rejected with a reason.',
    options: ['context', 'metadata'],
    argumentCount: [1, 10_000],
    run: async (run) => {
      const client = await run.client()
      const metadata = parseMetadata(run.options.metadata)
      return runForEach(run, async (path) => {
        const onProgress = run.output.progress(basename(path))
        const file = await client.files.upload(path, {
          context: requireContext(run),
          metadata,
          ...(onProgress && { onProgress }),
        })
        run.output.row(file, file.file_id, file.size_bytes, file.original_filename)
      })
    },
  },
  validate: {
    usage: 'validate FILE… --context KEY',
    description: 'Validates files without storing them.',
    options: ['context'],
    argumentCount: [1, 10_000],
    async run(run) {
      const client = await run.client()
      let accepted = true
      const allAccepted = await runForEach(run, async (path) => {
        const report = await client.files.validate(path, { context: requireContext(run) })
        accepted &&= report.outcome === 'accepted'
        const failed = report.checks.find(({ outcome }) => outcome === 'failed' || outcome === 'incomplete')
        run.output.row({ file: path, ...report }, path, report.outcome, failed?.check, failed?.message)
      })
      return allAccepted && accepted
    },
  },
  ls: {
    usage: 'ls [--context KEY] [--limit N]',
    description: 'Lists files, newest first.',
    options: ['context', 'limit'],
    argumentCount: [0, 0],
    run: async (run) =>
      printList(
        run,
        (await run.client()).files.listAll(run.options.context === undefined ? {} : { context: run.options.context }),
        (file) => [file.file_id, file.created_at, file.size_bytes, file.context_key, file.original_filename],
      ),
  },
  get: {
    usage: 'get FILE_ID [--output PATH]',
    description:
      'Downloads a file to PATH, or to standard output if PATH is -. Default: its original name; an existing file is not overwritten.',
    options: ['output'],
    argumentCount: [1, 1],
    async run({ positionals: [fileId], options, output, client }) {
      const { files } = await client()
      const name = options.output ?? basename((await files.get(fileId!)).original_filename)
      const body = Readable.fromWeb((await files.download(fileId!)).body as Parameters<typeof Readable.fromWeb>[0])
      if (name === '-') {
        for await (const chunk of body) if (!process.stdout.write(chunk)) await once(process.stdout, 'drain')
        return succeeded
      }
      // The name comes from the uploader, so it must not overwrite an existing file.
      await pipeline(body, createWriteStream(name, { flags: options.output === undefined ? 'wx' : 'w' }))
      output.row({ file_id: fileId, path: name }, fileId, name)
      return succeeded
    },
  },
  rm: {
    usage: 'rm FILE_ID…',
    description: 'Deletes files.',
    options: [],
    argumentCount: [1, 10_000],
    async run(run) {
      const client = await run.client()
      return runForEach(run, async (fileId) => run.output.row(await client.files.delete(fileId), fileId))
    },
  },
  contexts: {
    usage: 'contexts',
    description: 'Lists the contexts.',
    options: [],
    argumentCount: [0, 0],
    async run({ output, client }) {
      const { contexts } = await client()
      for (let page = 1, more = true; more; page++) {
        const { data, pagination } = await contexts.list({ page, page_size: 100 })
        for (const each of data) output.row(each, each.context_key, each.status, each.allowed_extensions, each.max_file_size_mb)
        more = pagination.has_next
      }
      return succeeded
    },
  },
  keys: {
    usage: 'keys [create --name NAME [--scopes a,b] [--expires-in-days N] | disable ID | enable ID | revoke ID]',
    description: 'Lists, creates, disables, enables or revokes API keys. A new key is shown only once.',
    options: ['name', 'scopes', 'expires-in-days'],
    argumentCount: [0, 2],
    run: runKeys,
  },
  logs: {
    usage: 'logs [--status success|failure] [--limit N]',
    description: 'Lists calls, newest first.',
    options: ['status', 'limit'],
    argumentCount: [0, 0],
    async run(run) {
      const status = parseChoice('status', run.options.status, ['success', 'failure'] as const)
      return printList(run, (await run.client()).logs.listAllCalls(status === undefined ? {} : { status }), (call) => [
        call.created_at,
        call.operation,
        call.status,
        call.context_key,
        call.file_id,
        call.error_message,
      ])
    },
  },
  events: {
    usage: 'events [--types file.*,context.updated] [--after N] [--limit N]',
    description: 'Prints new events as they occur. With --after, starts after that sequence number (0: at the first event).',
    options: ['types', 'after', 'limit'],
    argumentCount: [0, 0],
    async run(run) {
      const client = await run.client()
      const after = run.options.after === undefined ? await client.getLastSequence() : parsePosition(run.options.after)
      const types = run.options.types?.split(',')
      const events = client.events({ after, ...(types && { types }) })
      return printList(run, events, ({ sequence, occurred_at, type, data }) => [sequence, occurred_at, type, formatSubject(data)])
    },
  },
}

function parsePosition(after: string): number {
  if (!/^\d{1,15}$/.test(after)) throw new UsageError(`--after is '${after}'. It must be a sequence number, 0 or greater.`)
  return Number(after)
}

/** Id and name of the changed object. */
const formatSubject = (data: Record<string, unknown>): string => {
  const id = Object.entries(data).find(([name]) => name.endsWith('_id') && name !== 'performed_by_id')?.[1]
  return [id, data.original_filename ?? data.context_key ?? data.name].filter((part) => part != null).join(' ')
}

async function runKeys(run: CommandRun): Promise<boolean> {
  const { apiKeys } = await run.client()
  const [action, id] = run.positionals
  const { name, scopes, 'expires-in-days': days } = run.options
  if (action === undefined) {
    for (let page = 1, more = true; more; page++) {
      const { data, pagination } = await apiKeys.list({ page, page_size: 100 })
      for (const key of data) run.output.row(key, key.api_key_id, key.status, key.scopes, key.last_used_at, key.name)
      more = pagination.has_next
    }
  } else if (action === 'create') {
    if (!name) throw new UsageError('Missing name of the API key. Set --name NAME.')
    const created = await apiKeys.create({
      name,
      ...(scopes !== undefined && { scopes: scopes.split(',') as ('upload' | 'download')[] }),
      ...(days !== undefined && { expires_in_days: parsePositiveInteger('expires-in-days', days) }),
    })
    run.output.row(created, created.api_key_id, created.api_key)
  } else if ((action === 'disable' || action === 'enable' || action === 'revoke') && id) {
    const key = await apiKeys[action](id)
    run.output.row(key, key.api_key_id, key.status)
  } else throw new UsageError(`Invalid arguments: ${run.positionals.join(' ')}. Usage: assay ${commands.keys!.usage}`)
  return succeeded
}

/** Runs `work` for each argument in turn. A rejected argument is reported and the others continue. Returns false if one was rejected. */
async function runForEach(run: CommandRun, work: (argument: string) => Promise<void>): Promise<boolean> {
  let allAccepted = true
  for (const argument of run.positionals) {
    await work(argument).catch((error: unknown) => {
      if (!(error instanceof AssayError) || error.status < 400 || error.status >= 500 || error.status === 401) throw error
      allAccepted = false
      run.output.row(
        {
          file: argument,
          status: 'rejected',
          code: error.code,
          message: error.message,
          details: error.details,
          request_id: error.requestId,
        },
        argument,
        'rejected',
        error.code,
        error.message,
      )
    })
  }
  return allAccepted
}

async function printList<T extends object>(
  run: CommandRun,
  items: AsyncIterable<T>,
  columns: (item: T) => unknown[],
): Promise<boolean> {
  let remaining = run.options.limit === undefined ? Number.POSITIVE_INFINITY : parsePositiveInteger('limit', run.options.limit)
  for await (const item of items) {
    run.output.row(item, ...columns(item))
    if (--remaining <= 0) break
  }
  return succeeded
}

function requireContext({ options }: CommandRun): string {
  if (!options.context) throw new UsageError('Missing context. Set --context KEY. `assay contexts` lists the contexts.')
  return options.context
}

function parseMetadata(text: string | undefined): Record<string, unknown> {
  if (text === undefined) return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {}
  throw new UsageError(`--metadata is '${text}'. It must be a JSON object, such as '{"order": 4711}'.`)
}

function parsePositiveInteger(name: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`--${name} is '${text}'. It must be a whole number, 1 or greater.`)
  return Number(text)
}

function parseChoice<T extends string>(name: string, value: string | undefined, choices: readonly T[]): T | undefined {
  if (value === undefined || choices.includes(value as T)) return value as T | undefined
  throw new UsageError(`--${name} is '${value}'. It must be one of: ${choices.join(', ')}.`)
}

async function promptForKey(): Promise<string> {
  if (!process.stdin.isTTY) throw new UsageError('Missing API key, and no terminal to prompt for it. Set --key KEY or ASSAY_KEY.')
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return (await prompt.question('API key: ')).trim()
  } finally {
    prompt.close()
  }
}
