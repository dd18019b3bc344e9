import { readdir, stat } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { createInspector, extensionOf, type Inspector } from '../inspection/engine/inspect.js'
import { openLocalContent } from '../inspection/engine/local-content.js'
import type { ValidationReport } from '../inspection/report.js'
import type { VirusScanner } from '../inspection/scanners/virus-scanner.js'
import { megabyte, mostMegabytes } from '../platform/units.js'
import { type Labelled, rate, readLabels } from './error-rates.js'

export interface CommandIo {
  out: (line: string) => void
  err: (line: string) => void
}

/** What the command is handed; `scanner` is not opened before it is known to be wanted. */
export interface CommandParts {
  scanner: VirusScanner | (() => Promise<VirusScanner>)
  workers?: number
  io?: CommandIo
}

const usage = `Usage:
  npm run validate -- [--no-scan] PATH…
  npm run validate -- [--no-scan] --labels=MANIFEST.csv

Checks files without storing them. Exits with status 1 if a file is rejected.

  PATH           A file: prints its validation report as JSON. A folder: prints a table of its files and a summary.
                 Folders named node_modules and .git are skipped, except as PATH.
  --labels=FILE  A CSV file with the columns path and label (valid, encrypted, broken).
                 Prints the files whose verdict differs from the label, and both error rates.
  --no-scan      Disables the virus scanner.

All other checks are enabled. Every extension and every size up to 1 TB is allowed.`

const consoleIo: CommandIo = { out: (line) => console.log(line), err: (line) => console.error(line) }

/** `npm run validate`. Its answer is the exit status: 0 where every file is accepted, 1 otherwise. */
export async function validateCommand(argv: string[], parts: CommandParts): Promise<number> {
  const io = parts.io ?? consoleIo
  const flags = argv.filter((arg) => arg.startsWith('--'))
  const paths = argv.filter((arg) => !arg.startsWith('--'))
  const labels = flags.find((flag) => flag.startsWith('--labels='))?.slice('--labels='.length)
  const unknown = flags.find((flag) => flag !== '--no-scan' && flag !== '--help' && !flag.startsWith('--labels='))
  if (unknown) return failed(io, `Unknown option '${unknown}'. The options are --no-scan and --labels=FILE.`)
  if (flags.includes('--help') || (paths.length === 0 && !labels)) return failed(io, usage)
  const scan = !flags.includes('--no-scan')
  const scanner = !scan ? unused : typeof parts.scanner === 'function' ? await parts.scanner() : parts.scanner
  const inspector = createInspector({ scanner, ...(parts.workers && { workers: parts.workers }) })
  try {
    let allAccepted = true
    if (labels) allAccepted = await printRates(await readLabels(labels), inspector, scan, io)
    for (const path of paths) {
      const accepted = (await stat(path)).isDirectory()
        ? await printFolder(path, inspector, scan, io)
        : await printFile(path, inspector, scan, io)
      allAccepted &&= accepted
    }
    return allAccepted ? 0 : 1
  } catch (error) {
    return failed(io, error instanceof Error ? error.message : String(error))
  } finally {
    await inspector.close()
    await scanner.close()
  }
}

function failed(io: CommandIo, message: string): number {
  io.err(message)
  return 1
}

async function printFile(path: string, inspector: Inspector, scan: boolean, io: CommandIo): Promise<boolean> {
  const report = await validateFile(path, inspector, scan)
  io.out(JSON.stringify(inWireSpelling(report), null, 2))
  return report.outcome === 'accepted'
}

async function printFolder(folder: string, inspector: Inspector, scan: boolean, io: CommandIo): Promise<boolean> {
  const counts = new Map<string, number>()
  let bytes = 0
  const start = performance.now()
  for await (const path of filesBelow(folder)) {
    const begun = performance.now()
    const report = await validateFile(path, inspector, scan)
    const result = report.reason ?? 'accepted'
    counts.set(result, (counts.get(result) ?? 0) + 1)
    bytes += report.sizeBytes
    const ms = (performance.now() - begun).toFixed(1)
    io.out([relative(folder, path), report.outcome, report.reason ?? '-', decisive(report), ms].join('\t'))
  }
  const seconds = (performance.now() - start) / 1000
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const byResult = [...counts].sort(([, one], [, other]) => other - one).map(([result, count]) => `${result} ${count}`)
  io.out(
    `${total} ${total === 1 ? 'file' : 'files'}, ${(bytes / megabyte).toFixed(1)} MB, ${seconds.toFixed(1)} s: ${byResult.join(', ') || 'no files found'}`,
  )
  return total === (counts.get('accepted') ?? 0)
}

async function printRates(files: Labelled[], inspector: Inspector, scan: boolean, io: CommandIo): Promise<boolean> {
  let [sound, refused, broken, passed] = [0, 0, 0, 0]
  for (const file of files) {
    const report = await validateFile(file.path, inspector, scan)
    const accepted = report.outcome === 'accepted'
    if (file.sound) sound++
    else broken++
    if (accepted === file.sound) continue
    if (file.sound) refused++
    else passed++
    io.out([file.path, report.outcome, report.reason ?? '-', decisive(report)].join('\t'))
  }
  io.out(`valid files rejected: ${rate(refused, sound)}`)
  io.out(`broken files accepted: ${rate(passed, broken)}`)
  return refused + passed === 0
}

/** The message of the check that decided or, for accepted files, of the one that opened the file. */
function decisive(report: ValidationReport): string {
  const check =
    report.checks.find(({ outcome }) => outcome === 'failed' || outcome === 'incomplete') ??
    report.checks.find((each) => each.check === 'corrupt_file')
  return (check?.message ?? '').replaceAll(/\s+/g, ' ')
}

async function validateFile(path: string, inspector: Inspector, scan: boolean): Promise<ValidationReport> {
  const content = await openLocalContent(path)
  const extension = extensionOf(basename(path))
  const rules = {
    contextKey: 'command_line',
    allowedExtensions: [extension],
    maxFileSizeMb: mostMegabytes,
    rejectBlankFiles: true,
    rejectCorruptFiles: true,
    scanForViruses: scan,
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

const leftOut = new Set(['node_modules', '.git'])

async function* filesBelow(folder: string): AsyncIterable<string> {
  const entries = await readdir(folder, { withFileTypes: true })
  for (const entry of entries.sort((one, other) => one.name.localeCompare(other.name))) {
    const path = join(folder, entry.name)
    if (leftOut.has(entry.name)) continue
    if (entry.isDirectory()) yield* filesBelow(path)
    else if (entry.isFile()) yield path
  }
}

function inWireSpelling(report: ValidationReport): Record<string, unknown> {
  const { engine } = report
  return {
    outcome: report.outcome,
    reason: report.reason,
    checks: report.checks.map(({ durationMs, ...check }) => ({ ...check, duration_ms: durationMs })),
    detected_content_type: report.detectedContentType,
    size_bytes: report.sizeBytes,
    checksum: report.checksum,
    engine: engine && {
      name: engine.name,
      version: engine.version,
      signatures_version: engine.signaturesVersion,
      signatures_date: engine.signaturesDate,
    },
    validated_at: report.validatedAt,
  }
}

const never = async (): Promise<never> => {
  throw new Error('--no-scan disables the scanner')
}
/** Stands where --no-scan leaves no scanner: no check asks it. */
const unused: VirusScanner = { scan: never, identity: never, unsupportedContainers: never, prove: never, close: async () => {} }
