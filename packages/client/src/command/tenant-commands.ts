import {
  type Command,
  type CommandInvocation,
  createInvalidArgumentsError,
  limitOption,
  parseChoice,
  parseList,
  parseMetadata,
  parsePositiveInteger,
  printList,
  requireContext,
  succeeded,
} from './command.js'
import { UsageError } from './output.js'

/** Commands that manage contexts, API keys and upload links, and that read logs and events. */
export const tenantCommands: Record<string, Command> = {
  contexts: {
    usage: 'contexts',
    description: "Lists the tenant's contexts.",
    options: {},
    argumentCount: [0, 0],
    examples: ['assay contexts'],
    run: async (invocation) =>
      printList(invocation, (await invocation.client()).contexts.listAll(), (context) => [
        context.context_key,
        context.status,
        context.allowed_extensions,
        context.max_file_size_mb,
      ]),
  },
  keys: {
    usage: 'keys [create --name NAME [--scopes a,b] [--expires-in-days N] | disable ID | enable ID | revoke ID]',
    description: 'Lists, creates, disables, enables or revokes API keys. A new key is shown only once.',
    options: {
      name: { value: 'NAME', description: 'Name of the new key.' },
      scopes: { value: 'a,b', description: 'Scopes of the new key: upload, download, metadata, delete, admin.' },
      'expires-in-days': { value: 'N', description: 'Number of days until the new key expires. Default: never.' },
    },
    actions: ['create', 'disable', 'enable', 'revoke'],
    argumentCount: [0, 2],
    examples: ['assay keys', 'assay keys create --name Importer --scopes upload,metadata', 'assay keys disable key_…'],
    run: runKeysCommand,
  },
  link: {
    usage: 'link [--context KEY …] | link list [--context KEY] [--limit N] | link revoke LINK_ID',
    description:
      'Creates, lists or revokes upload links, which accept files without an API key. The URL of a new link is shown only once.',
    options: {
      context: { value: 'KEY', description: 'Context of the uploaded files.' },
      'expires-in-seconds': { value: 'N', description: 'Number of seconds until the link expires, 60 to 604,800. Default: 900.' },
      'max-files': { value: 'N', description: 'Number of files that the link accepts, 1 to 1,000. Default: 1.' },
      'max-size-mb': { value: 'N', description: "Maximum file size in MB. Default: the context's limit." },
      extensions: { value: 'a,b', description: 'Allowed extensions. The context must allow them too.' },
      sha256: { value: 'HEX', description: 'SHA-256 checksum that the uploaded file must have.' },
      metadata: { value: 'JSON', description: 'JSON object to store with each file.' },
      origins: { value: 'a,b', description: 'Origins from which browsers can use the link. Default: all.' },
      ...limitOption,
    },
    actions: ['list', 'revoke'],
    argumentCount: [0, 2],
    examples: [
      'assay link --context invoices',
      'assay link --context photos --max-files 20 --expires-in-seconds 86400 --extensions jpg,png',
      'assay link list',
      'assay link revoke ulk_…',
    ],
    run: runLinkCommand,
  },
  logs: {
    usage: 'logs [--status success|failure] [--limit N]',
    description: 'Lists API calls, newest first.',
    options: {
      status: { value: 'STATUS', description: 'Lists only calls with this status: success or failure.' },
      ...limitOption,
    },
    argumentCount: [0, 0],
    examples: ['assay logs --status failure --limit 20'],
    async run(invocation) {
      const status = parseChoice(invocation, 'status', ['success', 'failure'] as const)
      return printList(
        invocation,
        (await invocation.client()).logs.listAllCalls(status === undefined ? {} : { status }),
        (call) => [call.created_at, call.operation, call.status, call.context_key, call.file_id, call.error_message],
      )
    },
  },
  events: {
    usage: 'events [--types file.*,context.updated] [--after N] [--limit N]',
    description: 'Prints new events as they occur.',
    options: {
      types: { value: 'a,b', description: 'Event types, such as file.rejected or file.*. Default: all.' },
      after: {
        value: 'N',
        description: 'Sequence number after which to start. Use 0 for the first event. Default: the latest event.',
      },
      ...limitOption,
    },
    argumentCount: [0, 0],
    examples: ['assay events', "assay events --types 'file.*' --after 0 --json"],
    async run(invocation) {
      const client = await invocation.client()
      const after =
        invocation.options.after === undefined ? await client.getLastSequence() : parseSequenceNumber(invocation.options.after)
      const types = parseList(invocation, 'types')
      const events = client.events({ after, ...(types && { types }) })
      return printList(invocation, events, ({ sequence, occurred_at, type, data }) => [
        sequence,
        occurred_at,
        type,
        formatEventSubject(data),
      ])
    },
  },
}

function parseSequenceNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new UsageError(`--after is '${text}'. It must be a sequence number of at least 0.`)
  return Number(text)
}

const formatEventSubject = (data: Record<string, unknown>): string => {
  const id = Object.entries(data).find(([name]) => name.endsWith('_id') && name !== 'performed_by_id')?.[1]
  return [id, data.original_filename ?? data.context_key ?? data.name].filter((part) => part != null).join(' ')
}

type Scope = 'upload' | 'download' | 'metadata' | 'delete' | 'admin'

async function runKeysCommand(invocation: CommandInvocation): Promise<boolean> {
  const { output, options } = invocation
  const [action, id, ...others] = invocation.positionals
  const isChange = action === 'disable' || action === 'enable' || action === 'revoke'
  if (action === undefined) {
    const keys = (await invocation.client()).apiKeys.listAll()
    return printList(invocation, keys, (key) => [key.api_key_id, key.status, key.scopes, key.last_used_at, key.name])
  }
  if (action === 'create' && id === undefined) {
    if (!options.name) throw new UsageError('Missing name for the API key. Set --name NAME.')
    const scopes = parseList(invocation, 'scopes') as Scope[] | undefined
    const days = parsePositiveInteger(invocation, 'expires-in-days')
    const body = { name: options.name, ...(scopes && { scopes }), ...(days && { expires_in_days: days }) }
    const created = await (await invocation.client()).apiKeys.create(body)
    output.row(created, created.api_key_id, created.api_key)
  } else if (isChange && id !== undefined && others.length === 0) {
    const key = await (await invocation.client()).apiKeys[action](id)
    output.row(key, key.api_key_id, key.status)
  } else throw createInvalidArgumentsError(invocation, tenantCommands.keys!)
  return succeeded
}

async function runLinkCommand(invocation: CommandInvocation): Promise<boolean> {
  const { output, options } = invocation
  const [action, id] = invocation.positionals
  if (action === 'list' && id === undefined) {
    const links = (await invocation.client()).uploadLinks.listAll(
      options.context === undefined ? {} : { context: options.context },
    )
    return printList(invocation, links, (link) => [
      link.link_id,
      link.status,
      link.context_key,
      `${link.accepted_files}/${link.max_files}`,
      link.expires_at,
    ])
  }
  if (action === 'revoke' && id !== undefined) {
    const link = await (await invocation.client()).uploadLinks.revoke(id)
    output.row(link, link.link_id, link.status)
  } else if (action === undefined) {
    const link = await (await invocation.client()).createUploadLink({
      context: requireContext(invocation),
      expires_in_seconds: parsePositiveInteger(invocation, 'expires-in-seconds') ?? null,
      max_files: parsePositiveInteger(invocation, 'max-files') ?? null,
      max_size_mb: parsePositiveInteger(invocation, 'max-size-mb') ?? null,
      allowed_extensions: parseList(invocation, 'extensions') ?? null,
      sha256: options.sha256 ?? null,
      metadata: parseMetadata(invocation) ?? null,
      origins: parseList(invocation, 'origins') ?? null,
    })
    output.row(link, link.link_id, link.url, link.expires_at)
  } else throw createInvalidArgumentsError(invocation, tenantCommands.link!)
  return succeeded
}
