import type { Content } from '../body/content.js'
import { overloaded } from '../errors.js'
import { binaryTypeFor } from '../formats/extensions.js'
import { compiled } from '../workers/compiled.js'
import { NotStarted, WorkerFailed, WorkFault } from '../workers/work.js'
import type { WorkerPool } from '../workers/worker-pool.js'
import type { Submission } from './checks/check.js'
import type { FailedLook, Findings, Job } from './findings.js'
import { deadlineFor } from './limits.js'

export interface LookOptions {
  /** Milliseconds for a small file; large ones get a second more for every 4 MiB. */
  deadlineMs: number
  /** What a worker may take beyond the readers' own deadline before it counts as hung. */
  graceMs: number
  /** URL of a module whose export `readers` (extension to FormatReader) goes before the built-in ones. */
  readerModule?: string | undefined
  /** URL of a module whose export `decodeImage` stands in for libvips. */
  decoderModule?: string | undefined
}

/** Looks into contents, each where it is safe to: images in a process, everything else in a thread. */
export class Look {
  readonly #pool: WorkerPool
  readonly #options: LookOptions
  readonly #modules: { reading: URL; imageReading: URL }

  constructor(pool: WorkerPool, options: LookOptions) {
    this.#pool = pool
    this.#options = options
    this.#modules = {
      reading: replacing(compiled('validation/reading'), 'readers', options.readerModule),
      imageReading: replacing(compiled('validation/image-reading'), 'decoder', options.decoderModule),
    }
  }

  async at({ rules, sizeBytes, signal, owner }: Submission, content: Content, extension: string): Promise<Findings | FailedLook> {
    const { bytes, path } = content
    const deadlineMs = deadlineFor(sizeBytes, this.#options.deadlineMs)
    const job: Job = {
      path,
      size: sizeBytes,
      extension,
      blank: rules.rejectBlankFiles,
      corrupt: rules.rejectCorruptFiles,
      deadlineMs,
    }
    const work = {
      run: 'read',
      data: job,
      bytes,
      size: sizeBytes,
      owner,
      deadlineMs: deadlineMs + this.#options.graceMs,
      retryHung: true,
    }
    const { reading, imageReading } = this.#modules
    const inProcess = () => this.#pool.run<Findings>({ ...work, module: imageReading, apart: true }, signal)
    try {
      if (images.has(binaryTypeFor(extension) ?? '')) return await inProcess()
      const findings = await this.#pool.run<Findings | 'image'>({ ...work, module: reading, apart: false }, signal)
      return findings === 'image' ? await inProcess() : findings
    } catch (error) {
      return failedLook(error)
    }
  }
}

const images = new Set(['png', 'jpg', 'gif', 'webp', 'tif', 'bmp', 'heic', 'avif'])

function failedLook(error: unknown): FailedLook {
  if (error instanceof WorkerFailed) return { failure: error.failure, durationMs: error.durationMs }
  if (error instanceof NotStarted && error.passing)
    throw overloaded('Files cannot be looked at now; try again shortly.', error.message)
  if (error instanceof WorkFault) throw new Error(`validation failed: ${error.message}`)
  throw error
}

function replacing(module: URL, what: string, by: string | undefined): URL {
  if (by) module.searchParams.set(what, by)
  return module
}
