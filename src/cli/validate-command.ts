import { readdir, stat } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { createInspector, getExtension, type Inspector } from '../inspection/engine/inspect.js'
import type { ValidationReport } from '../inspection/report.js'
import type { VirusScanner } from '../inspection/scanners/virus-scanner.js'
import { openLocalContent } from '../platform/spool/content.js'
import { maxMegabytes, megabyte } from '../platform/units.js'
import { pickFields } from './command.js'

interface CommandIo {
  out: (line: string) => void
  err: (line: string) => void
}

interface CommandDependencies {
  /** Opens the virus scanner. Called only if the command scans files. */
  openScanner: () => Promise<VirusScanner>
  io?: CommandIo
}

const usage = `Usage: npm run validate -- [--no-scan] PATH…

Checks files without storing them. Exits with status 1 if a file is rejected.

  PATH       File or folder. For a file, prints its validation report as JSON. For a folder, prints a table of its files
             and a summary. Skips folders named node_modules and .git, unless PATH names one.
  --no-scan  Disables the virus scanner.

All other checks are enabled. Every extension and every size up to 1 TB is allowed.`

const consoleIo: CommandIo = { out: (line) => console.log(line), err: (line) => console.error(line) }

/** Runs `npm run validate` and returns the exit status: 0 if all files are accepted, otherwise 1. */
export async function runValidateCommand(argv: string[], { openScanner, io = consoleIo }: CommandDependencies): Promise<number> {
  const flags = argv.filter((arg) => arg.startsWith('--'))
  const paths = argv.filter((arg) => !arg.startsWith('--'))
  const unknown = flags.find((flag) => flag !== '--no-scan' && flag !== '--help')
  if (unknown) return printErrorAndGetExitCode(io, `Unknown option '${unknown}'. The only option is --no-scan.`)
  if (flags.includes('--help') || paths.length === 0) return printErrorAndGetExitCode(io, usage)
  const scan = !flags.includes('--no-scan')
  const scanner = scan ? await openScanner() : noScanner
  const inspector = createInspector({ scanner })
  try {
    let allAccepted = true
    for (const path of paths) {
      const accepted = (await stat(path)).isDirectory()
        ? await validateAndPrintFolder(path, inspector, scan, io)
        : await validateAndPrintFile(path, inspector, scan, io)
      allAccepted &&= accepted
    }
    return allAccepted ? 0 : 1
  } catch (error) {
    return printErrorAndGetExitCode(io, error instanceof Error ? error.message : String(error))
  } finally {
    await inspector.close()
    await scanner.close()
  }
}

function printErrorAndGetExitCode(io: CommandIo, message: string): number {
  io.err(message)
  return 1
}

async function validateAndPrintFile(
  path: string,
  inspector: Inspector,
  scanForViruses: boolean,
  io: CommandIo,
): Promise<boolean> {
  const report = await validateFile(path, inspector, scanForViruses)
  io.out(JSON.stringify(toJsonReport(report), null, 2))
  return report.outcome === 'accepted'
}

async function validateAndPrintFolder(
  folder: string,
  inspector: Inspector,
  scanForViruses: boolean,
  io: CommandIo,
): Promise<boolean> {
  const counts = new Map<string, number>()
  let bytes = 0
  const start = performance.now()
  for await (const path of walkFiles(folder)) {
    const fileStart = performance.now()
    const report = await validateFile(path, inspector, scanForViruses)
    const result = report.reason ?? 'accepted'
    counts.set(result, (counts.get(result) ?? 0) + 1)
    bytes += report.sizeBytes
    const ms = (performance.now() - fileStart).toFixed(1)
    io.out([relative(folder, path), report.outcome, report.reason ?? '-', getDecisiveMessage(report), ms].join('\t'))
  }
  const seconds = (performance.now() - start) / 1000
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const byResult = [...counts].sort(([, one], [, other]) => other - one).map(([result, count]) => `${result} ${count}`)
  io.out(
    `${total} ${total === 1 ? 'file' : 'files'}, ${(bytes / megabyte).toFixed(1)} MB, ${seconds.toFixed(1)} s: ${byResult.join(', ') || 'no files found'}`,
  )
  return total === (counts.get('accepted') ?? 0)
}

/** Returns the message of the check that rejected the file or, if it was accepted, of the check that opened it. */
function getDecisiveMessage(report: ValidationReport): string {
  const check =
    report.checks.find(({ outcome }) => outcome === 'failed' || outcome === 'incomplete') ??
    report.checks.find((each) => each.check === 'corrupt_file')
  return (check?.message ?? '').replaceAll(/\s+/g, ' ')
}

async function validateFile(path: string, inspector: Inspector, scanForViruses: boolean): Promise<ValidationReport> {
  const content = await openLocalContent(path)
  const extension = getExtension(basename(path))
  const rules = {
    contextKey: 'command_line',
    allowedExtensions: [extension],
    maxFileSizeMb: maxMegabytes,
    rejectBlankFiles: true,
    rejectCorruptFiles: true,
    scanForViruses,
    rejectEncryptedFiles: false,
    rejectActiveContent: false,
    acceptUnscanned: false,
  }
  return inspector.inspect({
    originalFilename: basename(path),
    rules,
    content,
    sizeBytes: content.size,
    signal: new AbortController().signal,
  })
}

const skippedFolders = new Set(['node_modules', '.git'])

async function* walkFiles(folder: string): AsyncIterable<string> {
  const entries = await readdir(folder, { withFileTypes: true })
  for (const entry of entries.sort((one, other) => one.name.localeCompare(other.name))) {
    const path = join(folder, entry.name)
    if (skippedFolders.has(entry.name)) continue
    if (entry.isDirectory()) yield* walkFiles(path)
    else if (entry.isFile()) yield path
  }
}

function toJsonReport(report: ValidationReport): Record<string, unknown> {
  const { checks, engine } = report
  const fields = ['outcome', 'reason', 'checks', 'detectedContentType', 'sizeBytes', 'checksum', 'engine', 'validatedAt'] as const
  return {
    ...pickFields(report, fields),
    checks: checks.map(({ durationMs, ...check }) => ({ ...check, duration_ms: durationMs })),
    engine: engine && pickFields(engine, ['name', 'version', 'signaturesVersion', 'signaturesDate']),
  }
}

/** Placeholder for the scanner if --no-scan is set. Only its `close` method is called. */
const noScanner = { close: async () => {} } as VirusScanner
