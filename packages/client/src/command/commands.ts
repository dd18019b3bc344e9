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

/** A command: how it is called, the options it takes, and what it does. A refusal of a file is `false`. */
export interface Command {
  usage: string
  description: string
  options: readonly string[]
  /** How many words it takes, at least and at most. */
  argumentCount: readonly [number, number]
  run(run: CommandRun): Promise<boolean>
}

const succeeded = true

/** The commands of `npx assay`, in the order in which they are listed. */
export const commands: Record<string, Command> = {
  login: {
    usage: 'login --url URL [--key KEY]',
    description: 'keeps URL and key for this user; asks for the key where it is not given',
    options: ['url', 'key'],
    argumentCount: [0, 0],
    async run({ options, output, env }) {
      const url = options.url ?? env.ASSAY_URL
      if (!url || !URL.canParse(url)) throw new UsageError('Where is the service? Give --url https://files.example.com')
      const key = options.key ?? env.ASSAY_KEY ?? (await promptForKey())
      await createClient({ baseUrl: url, apiKey: key }).contexts.list({ page_size: 1 })
      const path = await storeSettings(env, { url, key })
      output.note(`Signed in to ${url}; kept in ${path}.`)
      return succeeded
    },
  },
  upload: {
    usage: 'upload FILE… --context KEY [--metadata JSON]',
    description: 'uploads files; each is tested and kept, or refused with the reason',
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
    description: 'says what an upload would be answered, and keeps nothing',
    options: ['context'],
    argumentCount: [1, 10_000],
    async run(run) {
      const client = await run.client()
      let accepted = true
      const sent = await runForEach(run, async (path) => {
        const report = await client.files.validate(path, { context: requireContext(run) })
        accepted &&= report.outcome === 'accepted'
        const failed = report.checks.find(({ outcome }) => outcome === 'failed' || outcome === 'incomplete')
        run.output.row({ file: path, ...report }, path, report.outcome, failed?.check, failed?.message)
      })
      return sent && accepted
    },
  },
  ls: {
    usage: 'ls [--context KEY] [--limit N]',
    description: 'lists files, newest first',
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
    description: 'downloads a file under its own name, into PATH, or with - to standard output',
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
      // Never over a file that is there: its name came from somewhere else.
      await pipeline(body, createWriteStream(name, { flags: options.output === undefined ? 'wx' : 'w' }))
      output.row({ file_id: fileId, path: name }, fileId, name)
      return succeeded
    },
  },
  rm: {
    usage: 'rm FILE_ID…',
    description: 'deletes files',
    options: [],
    argumentCount: [1, 10_000],
    async run(run) {
      const client = await run.client()
      return runForEach(run, async (fileId) => run.output.row(await client.files.delete(fileId), fileId))
    },
  },
  contexts: {
    usage: 'contexts',
    description: 'lists the contexts',
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
    description: 'lists API keys, makes one (its secret is shown this once), or changes its state',
    options: ['name', 'scopes', 'expires-in-days'],
    argumentCount: [0, 2],
    run: runKeys,
  },
  logs: {
    usage: 'logs [--status success|failure] [--limit N]',
    description: 'lists calls, newest first',
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
    description:
      'tells what changes and what is judged, as it happens; with --after, from that place in the journal on (0: from the first)',
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
  if (!/^\d{1,15}$/.test(after)) throw new UsageError(`--after is a place in the journal, from 0; given: ${after}`)
  return Number(after)
}

/** The id of what changed, and its name where it has one. */
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
    if (!name) throw new UsageError('A key needs a name: --name NAME')
    const created = await apiKeys.create({
      name,
      ...(scopes !== undefined && { scopes: scopes.split(',') as ('upload' | 'download')[] }),
      ...(days !== undefined && { expires_in_days: parsePositiveInteger('expires-in-days', days) }),
    })
    run.output.row(created, created.api_key_id, created.api_key)
  } else if ((action === 'disable' || action === 'enable' || action === 'revoke') && id) {
    const key = await apiKeys[action](id)
    run.output.row(key, key.api_key_id, key.status)
  } else throw new UsageError(`Not a call of keys: ${run.positionals.join(' ')}. Usage: assay ${commands.keys!.usage}`)
  return succeeded
}

/** One after another; what the service refuses is reported and the rest goes on. */
async function runForEach(run: CommandRun, work: (argument: string) => Promise<void>): Promise<boolean> {
  let allAccepted = true
  for (const argument of run.positionals) {
    await work(argument).catch((error: unknown) => {
      if (!(error instanceof AssayError) || error.status < 400 || error.status >= 500 || error.status === 401) throw error
      allAccepted = false
      run.output.row(
        {
          file: argument,
          status: 'refused',
          code: error.code,
          message: error.message,
          details: error.details,
          request_id: error.requestId,
        },
        argument,
        'refused',
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
  if (!options.context) throw new UsageError('Into which context? Give --context KEY (`assay contexts` lists them).')
  return options.context
}

function parseMetadata(text: string | undefined): Record<string, unknown> {
  if (text === undefined) return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {}
  throw new UsageError(`--metadata is a JSON object, such as '{"order": 4711}'; given: ${text}`)
}

function parsePositiveInteger(name: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`--${name} is a whole number from 1; given: ${text}`)
  return Number(text)
}

function parseChoice<T extends string>(name: string, value: string | undefined, choices: readonly T[]): T | undefined {
  if (value === undefined || choices.includes(value as T)) return value as T | undefined
  throw new UsageError(`--${name} is one of ${choices.join(', ')}; given: ${value}`)
}

async function promptForKey(): Promise<string> {
  if (!process.stdin.isTTY) throw new UsageError('Give the key with --key or ASSAY_KEY; there is no terminal to ask at.')
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return (await prompt.question('API key: ')).trim()
  } finally {
    prompt.close()
  }
}
