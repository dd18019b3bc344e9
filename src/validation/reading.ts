import { decodeImagesWith } from '../formats/image/vips.js'
import { FileSource, MemorySource } from '../formats/random-access-source.js'
import type { WorkerCall } from '../workers/work.js'
import { examine, type ReaderOverrides } from './examine.js'
import type { Findings, Job } from './findings.js'

// Where tests have other readers: the URL of a module with an export `readers`.
const module = new URL(import.meta.url).searchParams.get('readers')
const overrides: ReaderOverrides = module ? (await import(module)).readers : {}

let path: string | undefined
let imageMet = false
decodeImagesWith(async () => {
  imageMet = true
  return { outcome: 'too_slow' }
})

/** What is found in a file; 'image' where that takes native code, which a thread does not run. */
export async function read(job: Job, { bytes }: Pick<WorkerCall, 'bytes'>): Promise<Findings | 'image'> {
  imageMet = false
  path = job.path
  const file = bytes ? undefined : new FileSource(job.path!, job.extension)
  try {
    const findings = await examine(file ?? new MemorySource(bytes!, job.extension), job, overrides)
    return imageMet ? 'image' : findings
  } finally {
    file?.close()
  }
}

export const pathUnderTest = (): string | undefined => path
