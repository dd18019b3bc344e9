import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AssayError } from '../errors.js'
import { uploadTo } from '../upload-link.js'
import {
  type Command,
  type CommandInvocation,
  limitOption,
  parseMetadata,
  printList,
  requireContext,
  succeeded,
} from './command.js'

const contextOption = { context: { value: 'KEY', description: 'Context whose rules apply to the files.' } }

export const fileCommands: Record<string, Command> = {
  upload: {
    usage: 'upload FILE… (--context KEY | --link URL) [--metadata JSON]',
    description: 'Uploads files. The service validates each file, and stores it or rejects it with a reason.',
    options: {
      ...contextOption,
      link: { value: 'URL', description: 'Upload link to use instead of a context. No login is required.' },
      metadata: { value: 'JSON', description: 'JSON object to store with each file.' },
    },
    argumentCount: [1, 10_000],
    examples: [
      'assay upload invoice.pdf --context invoices',
      `assay upload *.csv --context invoices --metadata '{"year":2026}'`,
      'assay upload photo.jpg --link https://files.example.com/upload/ulk_…',
    ],
    run: runUploadCommand,
  },
  validate: {
    usage: 'validate FILE… --context KEY',
    description: 'Validates files without storing them.',
    options: contextOption,
    argumentCount: [1, 10_000],
    examples: ['assay validate *.csv --context invoices'],
    async run(invocation) {
      const context = requireContext(invocation)
      const client = await invocation.client()
      let accepted = true
      const allAccepted = await runForEachArgument(invocation, async (path) => {
        const report = await client.files.validate(path, { context })
        accepted &&= report.outcome === 'accepted'
        const failed = report.checks.find(({ outcome }) => outcome === 'failed' || outcome === 'incomplete')
        invocation.output.row({ file: path, ...report }, path, report.outcome, failed?.check, failed?.message)
      })
      return allAccepted && accepted
    },
  },
  ls: {
    usage: 'ls [--context KEY] [--limit N]',
    description: 'Lists files, newest first.',
    options: { context: { value: 'KEY', description: 'Lists only files in this context.' }, ...limitOption },
    argumentCount: [0, 0],
    examples: ['assay ls --limit 10', 'assay ls --context invoices --json'],
    run: async (invocation) =>
      printList(
        invocation,
        (await invocation.client()).files.listAll(
          invocation.options.context === undefined ? {} : { context: invocation.options.context },
        ),
        (file) => [file.file_id, file.created_at, file.size_bytes, file.context_key, file.original_filename],
      ),
  },
  get: {
    usage: 'get FILE_ID [--output PATH]',
    description: 'Downloads a file.',
    options: {
      output: {
        value: 'PATH',
        description: 'Output path, or - for standard output. Default: the original file name, which must not exist yet.',
      },
    },
    argumentCount: [1, 1],
    examples: ['assay get file_…', 'assay get file_… --output copy.csv', 'assay get file_… --output - | head'],
    async run({ positionals: [fileId], options, output, client }) {
      const { files } = await client()
      const name = options.output ?? basename((await files.get(fileId!)).original_filename)
      const body = Readable.fromWeb((await files.download(fileId!)).body as Parameters<typeof Readable.fromWeb>[0])
      if (name === '-') {
        for await (const chunk of body) if (!process.stdout.write(chunk)) await once(process.stdout, 'drain')
        return succeeded
      }
      // The uploader chose the file name, so a download without --output must not overwrite an existing file.
      await pipeline(body, createWriteStream(name, { flags: options.output === undefined ? 'wx' : 'w' }))
      output.row({ file_id: fileId, path: name }, fileId, name)
      return succeeded
    },
  },
  rm: {
    usage: 'rm FILE_ID…',
    description: 'Deletes files.',
    options: {},
    argumentCount: [1, 10_000],
    examples: ['assay rm file_…'],
    async run(invocation) {
      const client = await invocation.client()
      return runForEachArgument(invocation, async (fileId) => invocation.output.row(await client.files.delete(fileId), fileId))
    },
  },
  receipt: {
    usage: 'receipt FILE_ID | receipt CALL_ID',
    description: 'Prints the signed receipt for a file or a rejected upload. `assay verify` verifies receipts offline.',
    options: {},
    argumentCount: [1, 1],
    examples: ['assay receipt file_… > receipt.jws'],
    async run({ positionals: [id], output, client }) {
      const { files, logs } = await client()
      const { receipt } = await (id!.startsWith('file_') ? files.getReceipt(id!) : logs.getCallReceipt(id!))
      output.row({ receipt }, receipt)
      return succeeded
    },
  },
}

async function runUploadCommand(invocation: CommandInvocation): Promise<boolean> {
  const { link } = invocation.options
  const metadata = parseMetadata(invocation)
  const getUploadOptions = (path: string) => {
    const onProgress = invocation.output.progress(basename(path))
    return { ...(metadata && { metadata }), ...(onProgress && { onProgress }) }
  }
  const context = link === undefined ? requireContext(invocation) : ''
  const client = link === undefined ? await invocation.client() : undefined
  return runForEachArgument(invocation, async (path) => {
    const file = await (client
      ? client.files.upload(path, { context, ...getUploadOptions(path) })
      : uploadTo(link!, path, getUploadOptions(path)))
    invocation.output.row(file, file.file_id, file.size_bytes, file.original_filename)
  })
}

/** Runs `work` for each argument and reports rejections. Resolves to false if any argument was rejected. */
async function runForEachArgument(invocation: CommandInvocation, work: (argument: string) => Promise<void>): Promise<boolean> {
  let allAccepted = true
  for (const argument of invocation.positionals) {
    await work(argument).catch((error: unknown) => {
      if (!(error instanceof AssayError) || error.status < 400 || error.status >= 500 || error.status === 401) throw error
      allAccepted = false
      const { code, message, details, requestId } = error
      const row = { file: argument, status: 'rejected', code, message, details, request_id: requestId }
      invocation.output.row(row, argument, 'rejected', code, message)
    })
  }
  return allAccepted
}
