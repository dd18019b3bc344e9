import {
  defaultLimits,
  examine,
  FileSource,
  type FormatReader,
  MemorySource,
  type RandomAccessSource,
  withDeadline,
} from '@assay/formats'
import { decodeImagesWith } from '@assay/formats/image'
import type { Findings, Job } from '../report.js'
import type { OpenScan } from '../scanners/yara/scanning.js'
import type { WorkerCall } from '../workers/work.js'

// Tests replace readers by setting a query parameter to the URL of a module that exports `readers`.
const module = new URL(import.meta.url).searchParams.get('readers')
const readers: Record<string, FormatReader> = module ? (await import(module)).readers : {}

let scanning: Promise<typeof import('../scanners/yara/scanning.js')> | undefined
let path: string | undefined
let hasImage = false
decodeImagesWith(async () => {
  hasImage = true
  return { outcome: 'too_slow' }
})

export interface ReadResult {
  findings: Findings
  /**
   * True if the file contains an image that needs native code. Threads do not run native code, so the file is read again in a
   * process.
   */
  image: boolean
}

/** Reads a file in a worker and scans it if requested. */
export async function read(job: Job, call: WorkerCall): Promise<ReadResult> {
  hasImage = false
  path = job.path
  const file = call.bytes ? undefined : new FileSource(job.path!, job.extension)
  const source = file ?? new MemorySource(call.bytes!, job.extension)
  try {
    const scan = await openScan(source, job, call)
    const ownLimits = defaultLimits(job.deadlineMs)
    // The scan runs while the reader unpacks the file. The time spent on the scan therefore extends the reader's deadline.
    const limits = scan ? withDeadline(ownLimits, () => ownLimits.deadline + scan.search.spentMs) : ownLimits
    const findings = await examine(source, { blank: job.blank, limits, readers, observer: scan?.search.observer })
    const image = hasImage
    const isScanned = scan && (image || passesOtherChecks(findings, job.scan!.damaged))
    return { findings: isScanned ? { ...findings, scan: await finishScan(scan) } : findings, image }
  } finally {
    file?.close()
  }
}

const passesOtherChecks = ({ blankness, soundness }: Findings, scanDamagedFiles: boolean): boolean =>
  !blankness?.blank &&
  soundness !== null &&
  (soundness.verdict.sound || (scanDamagedFiles && !soundness.verdict.maliciousConstruction))

async function openScan(source: RandomAccessSource, { scan }: Job, call: WorkerCall): Promise<OpenScan | undefined> {
  if (!scan) return undefined
  const { openScan } = await (scanning ??= import('../scanners/yara/scanning.js'))
  return openScan(source, scan.setup, call)
}

async function finishScan({ search, finish }: OpenScan): Promise<Findings['scan']> {
  const { spentMs } = search
  const start = performance.now()
  return { scanned: await finish(), durationMs: spentMs + performance.now() - start }
}

/** Returns the path of the file that this worker is reading. Undefined if the content is in memory. */
export const getCurrentFilePath = (): string | undefined => path
