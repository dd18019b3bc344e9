import { binaryTypeFor, MemorySource } from '@assay/formats'
import { isProgressive } from '@assay/formats/image'
import { compiled } from '../../platform/compiled.js'
import { overloaded } from '../../platform/errors/errors.js'
import type { Content } from '../../platform/spool/content.js'
import type { Submission } from '../checks/check.js'
import type { FailedLook, Findings, Job } from '../findings.js'
import { deadlineFor } from '../limits.js'
import type { VisitScan } from '../scanners/virus-scanner.js'
import { NotStarted, type Work, WorkerFailed, WorkFault } from '../workers/work.js'
import type { WorkerPool } from '../workers/worker-pool.js'
import { examineInPlace } from './in-place.js'
import type { Visit } from './reading.js'

export interface LookOptions {
  deadlineMs: number
  /** What a worker may take beyond the readers' own deadline before it counts as hung. */
  graceMs: number
  /** URL of a module whose export `readers` (extension to FormatReader) goes before the built-in ones. */
  readerModule?: string | undefined
  decoderModule?: string | undefined
}

/** Looks into contents, each where it is safe to: what is quick here, what native code decodes in a process, everything else in a thread. */
export class Look {
  readonly #pool: WorkerPool
  readonly #options: LookOptions
  readonly #modules: { reading: URL; imageReading: URL }

  constructor(pool: WorkerPool, options: LookOptions) {
    this.#pool = pool
    this.#options = options
    this.#modules = {
      reading: replacing(compiled('inspection/engine/reading'), 'readers', options.readerModule),
      imageReading: replacing(compiled('inspection/engine/image-reading'), 'decoder', options.decoderModule),
    }
  }

  /** With `scan`, a worker that reads it scans it too. */
  async at(submission: Submission, content: Content, extension: string, scan?: VisitScan): Promise<Findings | FailedLook> {
    const { rules, sizeBytes, signal, owner } = submission
    const { bytes, path } = content
    const deadlineMs = deadlineFor(sizeBytes, this.#options.deadlineMs)
    const job: Job = { path, size: sizeBytes, extension, blank: rules.rejectBlankFiles, deadlineMs }
    const here = bytes && examineInPlace(bytes, job, { rules, readersReplaced: Boolean(this.#options.readerModule) })
    const found = here && (await here)
    if (found) return found
    const { reading, imageReading } = this.#modules
    const workMs = deadlineMs + this.#options.graceMs
    const work = { run: 'read', data: job, bytes, size: sizeBytes, owner, deadlineMs: workMs, retryHung: true }
    const inProcess = async () => (await this.#pool.run<Visit>({ ...work, module: imageReading, apart: true }, signal)).findings
    try {
      if (wantsDecoder(extension, bytes)) return await inProcess()
      const visit: Work = { ...work, module: reading, apart: false }
      const scanning = scan && {
        data: { ...job, scan: { setup: scan.setup, damaged: !rules.rejectCorruptFiles } },
        deadlineMs: workMs + scan.deadlineOf(sizeBytes),
        // Whose fault it was is not known: the second time it is read alone, and scanned as everything else is.
        again: { data: job, deadlineMs: workMs },
      }
      const { findings, image } = await this.#pool.run<Visit>({ ...visit, ...scanning }, signal)
      return image ? { ...(await inProcess()), ...(findings.scan && { scan: findings.scan }) } : findings
    } catch (error) {
      return failedLook(error)
    }
  }
}

// What libvips decodes.
const decoded = new Set(['webp', 'tif', 'heic', 'avif'])

/** A PNG, and most JPEGs, are read without it. */
const wantsDecoder = (extension: string, bytes: Uint8Array | undefined): boolean => {
  const type = binaryTypeFor(extension) ?? ''
  return decoded.has(type) || (type === 'jpg' && bytes !== undefined && isProgressive(new MemorySource(bytes)))
}

function failedLook(error: unknown): FailedLook {
  if (error instanceof WorkerFailed) return { failure: error.failure, durationMs: error.durationMs }
  // The file is not at fault, whether memory ran out for a moment or a sandbox for good: the operator's log has the reason.
  if (error instanceof NotStarted) throw overloaded('Files cannot be looked at now; try again shortly.', error.message)
  if (error instanceof WorkFault) throw new Error(`validation failed: ${error.message}`)
  throw error
}

function replacing(module: URL, what: string, by: string | undefined): URL {
  if (by) module.searchParams.set(what, by)
  return module
}
