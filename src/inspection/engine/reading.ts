import { FileSource, MemorySource, type RandomAccessSource } from '@assay/formats'
import { keepMembers } from '@assay/formats/archive'
import { decodeImagesWith } from '@assay/formats/image'
import type { Findings, Job } from '../findings.js'
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
    if (job.scan) keepMembers(source)
    const findings = await examine(source, job, overrides)
    const image = imageMet
    const wanted = job.scan && (image || isKept(findings, job.scan.damaged))
    return { findings: wanted ? { ...findings, scan: await scanned(source, job, call) } : findings, image }
  } finally {
    file?.close()
  }
}

/** Whether no other check refuses it, so that the scan decides. */
const isKept = ({ blankness, soundness }: Findings, damaged: boolean): boolean =>
  !blankness?.blank && soundness !== null && (soundness.verdict.sound || (damaged && !soundness.verdict.trap))

async function scanned(source: RandomAccessSource, { scan }: Job, call: WorkerCall): Promise<Findings['scan']> {
  const { scanSource } = await (scanning ??= import('../scanners/yara/scanning.js'))
  const start = performance.now()
  return { scanned: await scanSource(source, scan!.setup, call), durationMs: performance.now() - start }
}

export const pathUnderTest = (): string | undefined => path
