import type { Content } from '../../platform/spool/content.js'
import { megabyte } from '../../platform/units.js'
import type { FileUnderTest, Scan, Submission } from '../checks/check.js'
import type { FailedLook, Findings } from '../findings.js'
import { type EngineIdentity, type ScanOptions, scannedOrThrow, type VirusScanner } from '../scanners/virus-scanner.js'
import type { Look } from './look.js'

interface Means {
  look: Look
  scanner: VirusScanner
}

export interface OpenFile extends FileUnderTest {
  recognisedMime(): Promise<string | null>
  engine(): EngineIdentity | undefined
}

/** One file on its way through the checks. Each result is computed once, when a check first needs it. */
export function openFile(submission: Submission, means: Means): OpenFile {
  const { content, rules, sizeBytes, signal, owner } = submission
  const extension = extensionOf(submission.originalFilename)
  const tooLarge = !content || sizeBytes > rules.maxFileSizeMb * megabyte
  const inVisit = rules.scanForViruses ? means.scanner.inVisit : undefined
  let findings: Promise<Findings | FailedLook> | undefined
  let scanned: Scan | undefined
  return {
    submission,
    extension,
    tooLarge,
    findings: () => (findings ??= means.look.at(submission, content!, extension, inVisit)),
    scan: async () => {
      const found = await findings
      const visit = found && 'scan' in found ? found.scan : undefined
      return (scanned = visit ? await scanOf(visit, means.scanner) : await scanWith(means.scanner, content!, { signal, owner }))
    },
    recognisedMime: async () => {
      const found = await findings
      return found && 'recognition' in found ? found.recognition.mime : null
    },
    engine: () => scanned?.engine,
  }
}

/** After the last dot, lower-case. A name that only starts with a dot has none. */
export function extensionOf(filename: string): string {
  const dot = filename.lastIndexOf('.')
  return dot > 0 ? filename.slice(dot + 1).toLowerCase() : ''
}

/** As the worker that read the file found it. */
async function scanOf({ scanned, durationMs }: NonNullable<Findings['scan']>, scanner: VirusScanner): Promise<Scan> {
  const passesOver = async () => []
  scanner.inVisit?.took?.(durationMs)
  return { engine: await scanner.identity(), verdict: scannedOrThrow(scanned), passesOver, durationMs }
}

export async function scanWith(scanner: VirusScanner, content: Content, options: ScanOptions): Promise<Scan> {
  const start = performance.now()
  const verdict = await scanner.scan(content, options)
  const passesOver = (kinds: readonly string[]) => scanner.passesOver(kinds, options)
  return { engine: await scanner.identity(), verdict, passesOver, durationMs: performance.now() - start }
}
