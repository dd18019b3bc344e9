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
  /** Begins the scan of a large file beside the other checks: the order in which they decide stays as it is. */
  scanAhead(): void
  /** Ends a scan that is no longer awaited: once the checks are through, nothing reads the content on their behalf. */
  done(): void
  engine(): EngineIdentity | undefined
}

// Bytes. Below it, a scan costs less than it would cost to give one up, or is a part of the visit to the worker that reads the file.
const scannedAhead = 4 * megabyte
// A scanner that is asked over a socket works while the file is read here.
const scannedAheadElsewhere = 16 * 1024

/** One file on its way through the checks: each of its facts is found out once, when a check first asks. */
export function openFile(submission: Submission, means: Means): OpenFile {
  const { content, rules, sizeBytes, signal } = submission
  const extension = extensionOf(submission.originalFilename)
  const tooLarge = !content || sizeBytes > rules.maxFileSizeMb * megabyte
  let findings: Promise<Findings | FailedLook> | undefined
  let scanned: Scan | undefined
  let scanning: Promise<Scan> | undefined
  let isScanning = false
  const stop = new AbortController()
  const stopped = () => stop.abort(signal.reason)
  const { inVisit } = means.scanner
  const ahead = sizeBytes >= (inVisit ? scannedAhead : scannedAheadElsewhere)
  const scan = () => (scanning ??= begin())
  const begin = async () => {
    // Not AbortSignal.any: on a signal as old as the process Node 20 keeps a trace of every one derived from it.
    signal.addEventListener('abort', stopped, { once: true })
    if (signal.aborted) stopped()
    isScanning = true
    try {
      return await scanWith(means.scanner, content!, { signal: stop.signal, owner: submission.owner })
    } finally {
      isScanning = false
    }
  }
  return {
    submission,
    extension,
    tooLarge,
    findings: () =>
      (findings ??= means.look.at(submission, content!, extension, rules.scanForViruses && !ahead ? inVisit : undefined)),
    scan: async () => {
      const found = await findings
      const visit = found && 'scan' in found ? found.scan : undefined
      return (scanned = visit ? await scanOf(visit, means.scanner) : await scan())
    },
    scanAhead: () => {
      if (tooLarge || !rules.scanForViruses || !ahead || !rules.allowedExtensions.includes(extension)) return
      // Thrown where the virus check asks for it; where an earlier check decides, it never is.
      scan().catch(() => {})
    },
    done: () => {
      signal.removeEventListener('abort', stopped)
      // Not where it is through: an abort makes an error, with its stack.
      if (isScanning) stop.abort()
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
