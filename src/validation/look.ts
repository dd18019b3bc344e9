import type { Content } from '../body/content.js'
import { overloaded } from '../errors.js'
import { isSmallArchive, smallLimits } from '../formats/archive/small.js'
import { binaryTypeFor, textTypeFor } from '../formats/extensions.js'
import { MemorySource, type RandomAccessSource } from '../formats/random-access-source.js'
import { compiled } from '../workers/compiled.js'
import { NotStarted, WorkerFailed, WorkFault } from '../workers/work.js'
import type { WorkerPool } from '../workers/worker-pool.js'
import type { Submission, ValidationRules } from './checks/check.js'
import { examine, examineUnread, unreadBy } from './examine.js'
import type { FailedLook, Findings, Job } from './findings.js'
import { deadlineFor, limitsFor } from './limits.js'

export interface LookOptions {
  deadlineMs: number
  /** What a worker may take beyond the readers' own deadline before it counts as hung. */
  graceMs: number
  /** URL of a module whose export `readers` (extension to FormatReader) goes before the built-in ones. */
  readerModule?: string | undefined
  decoderModule?: string | undefined
}

/** Looks into contents, each where it is safe to: what is quick here, images in a process, everything else in a thread. */
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
    const here = bytes && this.#here(new MemorySource(bytes, extension), job, rules)
    const found = here && (await here)
    if (found) return found
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

  /** Undefined for what needs a worker. */
  #here(source: RandomAccessSource, job: Job, rules: ValidationRules): Promise<Findings | undefined> | undefined {
    if (
      job.extension !== 'svgz' &&
      archives.has(binaryTypeFor(job.extension) ?? '') &&
      !this.#options.readerModule &&
      isSmallArchive(source)
    )
      return examineSmall(source, job)
    if (hasManySteps(source) || (source.size > alwaysQuick && startsBlank(source))) return undefined
    if (isQuick(job)) return examine(source, job)
    const isUnread = unreadBy({ extension: job.extension, lenient: isLenient(rules) })
    return isUnread() && !this.#options.readerModule ? examineUnread(source, job, isUnread) : undefined
  }
}

/**
 * Up to here a content in memory is looked at where it is, on the event loop; to hand it to a worker takes 0.2 ms of this thread. At
 * 32 KiB text, CSV and JSON take 0.1 to 0.5 ms of CPU and the worst that was found to name 1.1 ms, which grows with the size; plain text
 * takes 0.2 to 0.5 ms at 128 KiB. XML takes twice as long as the worst of these, everything else needs a worker's protection, also where
 * only traps are refused.
 */
const alwaysQuick = 32 * 1024
const quickBytes: Record<string, number> = {
  txt: 4 * alwaysQuick,
  html: alwaysQuick,
  csv: alwaysQuick,
  json: alwaysQuick,
  jsonl: alwaysQuick,
}

const isQuick = ({ size, extension }: Job): boolean => size <= (quickBytes[textTypeFor(extension) ?? ''] ?? -1)

const archives = new Set(['zip', 'jar', 'gz', 'tar'])

async function examineSmall(source: RandomAccessSource, job: Job): Promise<Findings | undefined> {
  const findings = await examine(source, job, {}, { ...limitsFor(job.deadlineMs), ...smallLimits })
  const verdict = findings.soundness?.verdict
  return verdict?.sound === false && verdict.trap ? undefined : findings
}

// Containers, pictures, sound and films, whatever they are called: of them it is not the first bytes alone that are looked at.
const stepwise =
  /^(PK|\x1f\x8b|\xd0\xcf\x11\xe0|\x89PNG|ID3|OggS|RIFF|FORM|\{\\rtf|\x1a\x45\xdf\xa3|\x30\x26\xb2\x75|.{4}(ftyp|styp|moov|mdat|wide|free|skip|pnot|moof|sidx))/s

const hasManySteps = (source: RandomAccessSource): boolean =>
  stepwise.test(source.read(0, 8).toString('latin1')) ||
  source.read(Math.max(0, source.size - 65_557), 65_557).includes('PK\x05\x06')

// Whether a large content is blank takes a look at all of it.
const startsBlank = (source: RandomAccessSource): boolean => !/[^\s\0]/.test(source.read(0, 4096).toString('latin1'))

const isLenient = (rules: ValidationRules): boolean =>
  !rules.rejectCorruptFiles && !rules.rejectEncryptedFiles && !rules.rejectActiveContent
// What libvips decodes.
const images = new Set(['png', 'jpg', 'webp', 'tif', 'heic', 'avif'])

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
