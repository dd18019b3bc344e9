import { defaultLimits, FileSource, MemorySource, type RandomAccessSource, type ReaderLimits } from '@assay/formats'
import { decodeImagesWith } from '@assay/formats/image'
import type { Findings, Job } from '../findings.js'
import type { OpenScan } from '../scanners/yara/scanning.js'
import type { WorkerCall } from '../workers/work.js'
import { examine, type ReaderOverrides } from './examine.js'

// Where tests have other readers: the URL of a module with an export `readers`.
const module = new URL(import.meta.url).searchParams.get('readers')
const overrides: ReaderOverrides = module ? (await import(module)).readers : {}

let scanning: Promise<typeof import('../scanners/yara/scanning.js')> | undefined
let path: string | undefined
let imageMet = false
decodeImagesWith(async () => {
  imageMet = true
  return { outcome: 'too_slow' }
})

/** What a visit to a worker gives. `image`: it takes native code to read, which a thread does not run. */
export interface Visit {
  findings: Findings
  image: boolean
}

/** What is found in a file and, where that is wanted, what a scan of it finds. */
export async function read(job: Job, call: WorkerCall): Promise<Visit> {
  imageMet = false
  path = job.path
  const file = call.bytes ? undefined : new FileSource(job.path!, job.extension)
  const source = file ?? new MemorySource(call.bytes!, job.extension)
  try {
    const scan = await openScan(source, job, call)
    const limits = scan ? limitsBeside(scan, job.deadlineMs) : defaultLimits(job.deadlineMs)
    const findings = await examine(source, job, overrides, limits, scan?.search.observer)
    const image = imageMet
    const wanted = scan && (image || isKept(findings, job.scan!.damaged))
    return { findings: wanted ? { ...findings, scan: await finished(scan) } : findings, image }
  } finally {
    file?.close()
  }
}

/** Whether no other check refuses it, so that the scan decides. */
const isKept = ({ blankness, soundness }: Findings, damaged: boolean): boolean =>
  !blankness?.blank && soundness !== null && (soundness.verdict.sound || (damaged && !soundness.verdict.maliciousConstruction))

async function openScan(source: RandomAccessSource, { scan }: Job, call: WorkerCall): Promise<OpenScan | undefined> {
  if (!scan) return undefined
  const { openScan } = await (scanning ??= import('../scanners/yara/scanning.js'))
  return openScan(source, scan.setup, call)
}

/** The time that the scan takes while the reader unpacks is not the reader's. */
function limitsBeside({ search }: OpenScan, deadlineMs: number): ReaderLimits {
  const { deadline, ...limits } = defaultLimits(deadlineMs)
  return {
    ...limits,
    get deadline() {
      return deadline + search.spentMs
    },
  }
}

async function finished({ search, finish }: OpenScan): Promise<Findings['scan']> {
  const { spentMs } = search
  const start = performance.now()
  return { scanned: await finish(), durationMs: spentMs + performance.now() - start }
}

export const pathUnderTest = (): string | undefined => path
