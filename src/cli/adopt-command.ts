import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import pino from 'pino'
import { type AdoptionRequest, AdoptionService } from '../features/adoption/adoption.service.js'
import { type AdoptionOutcome, type AdoptionResult, adoptionOutcomes } from '../features/adoption/adoption-result.js'
import { writers } from '../features/exports/export-format.js'
import { createInspector } from '../inspection/engine/inspect.js'
import { createSpoolFolder, openConfiguredScanner, openWorkers } from '../inspection/open-inspection.js'
import { toSnakeCase } from '../platform/case-conversion.js'
import { isId } from '../platform/ids.js'
import { Spool } from '../platform/spool/spool.js'
import { getFolderInStore, openStoredObjects } from '../platform/storage/stored-objects.js'
import { megabyte } from '../platform/units.js'
import { type Command, type CommandContext, findTenantActor, flag, type OptionValues, text, UsageError } from './command.js'

const progressMs = 5_000

export const adoptCommands: Record<string, Command> = {
  adopt: {
    usage: 'adopt --context C [--dry-run] [--quarantine] [--report FILE.csv] [--mb-per-second N] STORAGE_URL/TEN/FOLDER',
    options: { context: text, 'dry-run': flag, quarantine: flag, report: text, 'mb-per-second': text },
    argument: 'url',
    required: ['context', 'url'],
    run: async (command, values) => {
      const { tenantId, folder } = parseFolder(String(values.url), command.config.storageUrl)
      const context = String(values.context)
      const found = await command.services.contexts.get(await findTenantActor(command, tenantId), context)
      if (found.status !== 'active')
        throw new UsageError(`Context '${context}' (--context) is disabled. Enable the context, then run the command again.`)
      const report = typeof values.report === 'string' ? await AdoptionReport.open(values.report) : undefined
      try {
        const [isDryRun, quarantines] = [values['dry-run'] === true, values.quarantine === true]
        return await adopt(command, { tenantId, context, folder, isDryRun, quarantines }, values, report)
      } finally {
        await report?.close()
      }
    },
  },
}

/**
 * Returns the tenant and the folder that a URL refers to. Throws if the URL does not point to a tenant's folder, because the
 * first segment of a blob's path identifies its tenant.
 */
function parseFolder(url: string, storageUrl: string): { tenantId: string; folder: string } {
  const folder = getFolderInStore(url, storageUrl)
  const [tenantId, ...names] = folder?.split('/') ?? []
  const isFolder = names.pop() === '' && names.length > 0 && names.every((name) => !['', '.', '..'].includes(name))
  if (folder === undefined || !isId('ten', tenantId) || !isFolder)
    throw new UsageError(
      `Invalid URL '${url}'. It must point to a tenant's folder in the object store, such as ${storageUrl.replace(/[?#].*$/s, '').replace(/\/+$/, '')}/ten_…/import.`,
    )
  return { tenantId, folder }
}

type Request = Omit<AdoptionRequest, 'onResults'>

async function adopt(
  { config, database, services, print }: CommandContext,
  request: Request,
  values: OptionValues,
  report: AdoptionReport | undefined,
): ReturnType<Command['run']> {
  const logger = pino({ level: 'silent' })
  await services.storage.assertReady()
  // Use a separate spool folder. Opening a spool deletes the files of processes that have exited, and a service in another
  // container would appear to have exited.
  const spoolFolder = await createSpoolFolder(join(config.dataDir, 'adoption'))
  const workers = openWorkers({ config, logger }, spoolFolder)
  const { scanner } = await openConfiguredScanner({ config, logger }, { pool: workers.uploads, directory: spoolFolder })
  const inspector = createInspector({ scanner, pool: workers.uploads })
  const spool = await Spool.open({ directory: spoolFolder })
  const adoption = new AdoptionService({
    database,
    spool,
    objects: openStoredObjects(services.storage),
    megabytesPerSecond: parseRate(values['mb-per-second']) ?? config.rescanMbPerSecond,
    quarantine: services.quarantine,
    uploads: { ...services, inspector, getTenantQuota: services.tenants.getQuota },
  })
  try {
    return await runWithProgress(adoption, request, { print, report })
  } finally {
    for (const component of [inspector, scanner, workers, spool]) await component.close()
  }
}

async function runWithProgress(
  adoption: AdoptionService,
  request: Request,
  { print, report }: { print: CommandContext['print']; report: AdoptionReport | undefined },
): ReturnType<Command['run']> {
  const counts = Object.fromEntries(adoptionOutcomes.map((outcome) => [outcome, 0])) as Record<AdoptionOutcome, number>
  const done = { objects: 0, bytes: 0 }
  const onResults = async (results: readonly AdoptionResult[]) => {
    await report?.write(results)
    for (const { outcome, sizeBytes } of results) {
      counts[outcome]++
      done.objects++
      done.bytes += sizeBytes
    }
  }
  const total = await adoption.countObjects({ ...request, onResults })
  print(`Found ${total.objects} objects (${toMegabytes(total.bytes)} MB).`)
  const began = performance.now()
  const timer = setInterval(() => print(formatProgress(done, total, performance.now() - began)), progressMs)
  let error = ''
  try {
    await adoption.run({ ...request, onResults })
    if (counts.failed > 0) error = `${counts.failed} objects could not be adopted. Run the command again to retry them.`
  } catch (reason) {
    const message = reason instanceof Error ? reason.message : String(reason)
    error = `The adoption stopped because of an error: ${message} Run the command again to continue.`
  } finally {
    clearInterval(timer)
  }
  return { result: { dry_run: request.isDryRun, ...done, ...counts }, ...(error && { error }) }
}

function formatProgress(adopted: { objects: number; bytes: number }, total: { objects: number }, elapsedMs: number): string {
  const share = total.objects === 0 ? 1 : Math.min(1, adopted.objects / total.objects)
  const bar = '#'.repeat(Math.floor(share * 20)).padEnd(20, '.')
  const rate = Math.round((adopted.objects * 1000) / elapsedMs)
  return `[${bar}] ${Math.floor(share * 100)} %: ${adopted.objects} of ${total.objects} objects, ${toMegabytes(adopted.bytes)} MB, ${rate} objects/s`
}

const toMegabytes = (bytes: number) => (bytes / megabyte).toFixed(1)

function parseRate(value: OptionValues[string]): number | undefined {
  if (value === undefined) return undefined
  if (!/^[1-9]\d{0,4}$/.test(String(value)))
    throw new UsageError(`--mb-per-second is '${value}'. It must be a whole number from 1 to 99999.`)
  return Number(value)
}

const columns = ['path', 'outcome', 'reason', 'message', 'fileId', 'sizeBytes', 'checksum'] as const
const { csv } = writers
const maxRowBytes = 64 * 1024

/** CSV report with one row per object. A resumed run appends to the file. */
export class AdoptionReport {
  private constructor(private readonly file: FileHandle) {}

  static async open(path: string): Promise<AdoptionReport> {
    const file = await open(path, 'a+', 0o600).catch(({ code }: NodeJS.ErrnoException) => {
      throw new UsageError(`The report file ${path} cannot be written (${code}). Set --report to a writable path.`)
    })
    await removePartialRow(file)
    if ((await file.stat()).size === 0) await file.appendFile(csv.head(columns.map(toSnakeCase)))
    return new AdoptionReport(file)
  }

  /** Writes rows to the file. The rows are durable when the promise resolves. */
  async write(results: readonly AdoptionResult[]): Promise<void> {
    await this.file.appendFile(
      csv.rows(
        results.map((result) => ({ ...result })),
        columns,
      ),
    )
    await this.file.datasync()
  }

  async close(): Promise<void> {
    await this.file.close()
  }
}

/** Removes an incomplete last row, which a killed run may have left behind. */
async function removePartialRow(file: FileHandle): Promise<void> {
  const { size } = await file.stat()
  if (size === 0) return
  const start = Math.max(0, size - maxRowBytes)
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(size - start), position: start })
  const end = buffer.subarray(0, bytesRead).lastIndexOf('\n') + 1
  if (end < bytesRead) await file.truncate(start + end)
}
