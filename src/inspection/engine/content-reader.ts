import {
  binaryTypeFor,
  countedDeadline,
  DeadlineExceeded,
  defaultLimits,
  MemorySource,
  type RandomAccessSource,
  type ReaderLimits,
  textTypeFor,
} from '@assay/formats'
import { isSmallArchive, smallLimits } from '@assay/formats/archive'
import { isProgressive } from '@assay/formats/image'
import { compiledModule } from '../../platform/compiled-module.js'
import { overloaded } from '../../platform/errors/errors.js'
import type { Content } from '../../platform/spool/content.js'
import { megabyte } from '../../platform/units.js'
import type { Findings, Job, Submission, ValidationRules, WorkerFailureResult } from '../report.js'
import type { WorkerScan } from '../scanners/virus-scanner.js'
import { type Task, TaskError, WorkerFailed, WorkerNotStarted } from '../workers/work.js'
import type { WorkerPool } from '../workers/worker-pool.js'
import { examine, examineWithoutReader, needsNoReader } from './examine.js'
import type { ReadResult } from './reading.js'

export interface ContentReaderOptions {
  deadlineMs: number
  /** Time beyond the readers' own deadline after which a worker counts as hung. */
  graceMs: number
  /** URL of a module whose export `readers` (a map from extension to FormatReader) replaces built-in readers. */
  readerModule?: string | undefined
  decoderModule?: string | undefined
}

/** Reads contents on the event loop if that is fast. Otherwise uses a process for native decoders, and a thread for everything else. */
export class ContentReader {
  readonly #pool: WorkerPool
  readonly #options: ContentReaderOptions
  readonly #modules: { reading: URL; imageReading: URL }

  constructor(pool: WorkerPool, options: ContentReaderOptions) {
    this.#pool = pool
    this.#options = options
    this.#modules = {
      reading: withParameter(compiledModule('inspection/engine/reading'), 'readers', options.readerModule),
      imageReading: withParameter(compiledModule('inspection/engine/image-reading'), 'decoder', options.decoderModule),
    }
  }

  /** With `scan`, the thread that reads the file also scans it. */
  async read(
    submission: Submission,
    content: Content,
    extension: string,
    scan?: WorkerScan,
  ): Promise<Findings | WorkerFailureResult> {
    const { rules, sizeBytes } = submission
    const deadlineMs = readDeadlineMs(sizeBytes, this.#options.deadlineMs)
    const job: Job = { path: content.path, size: sizeBytes, extension, blank: rules.rejectBlankFiles, deadlineMs }
    const options = { rules, readersReplaced: Boolean(this.#options.readerModule) }
    const findings = content.bytes && (await readOnEventLoop(content.bytes, job, options))
    if (findings) return findings
    try {
      return await this.#readInWorker(submission, content, job, scan)
    } catch (error) {
      if (error instanceof WorkerFailed) return { failure: error.failure, durationMs: error.durationMs }
      // The service cannot start workers. The operator's log has the reason.
      if (error instanceof WorkerNotStarted) throw overloaded('Files cannot be inspected now. Retry later.', error.message)
      if (error instanceof TaskError) throw new Error(`validation failed: ${error.message}`)
      throw error
    }
  }

  async #readInWorker({ rules, signal, owner }: Submission, { bytes }: Content, job: Job, scan?: WorkerScan): Promise<Findings> {
    const { reading, imageReading } = this.#modules
    const deadlineMs = job.deadlineMs + this.#options.graceMs
    const task = { run: 'read', data: job, bytes, size: job.size, owner, deadlineMs, retryHung: true }
    const inProcess: Task = { ...task, module: imageReading, inProcess: true }
    const inThread: Task = { ...task, module: reading, inProcess: false }
    const run = (each: Task) => this.#pool.run<ReadResult>(each, signal)
    if (needsDecoder(job.extension, bytes)) return (await run(inProcess)).findings
    const withScan: Partial<Task> | undefined = scan && {
      data: { ...job, scan: { setup: scan.setup, damaged: !rules.rejectCorruptFiles } },
      deadlineMs: deadlineMs + scan.deadlineOf(job.size),
      // The reader or the scan may have crashed the worker. The second attempt only reads. The scan follows separately.
      retry: { data: job, deadlineMs },
    }
    const { findings, image } = await run({ ...inThread, ...withScan })
    if (!image) return findings
    return { ...(await run(inProcess)).findings, ...(findings.scan && { scan: findings.scan }) }
  }
}

/** Time limit for reading a file: a base, plus one second per 4 MiB. Many small XML elements take longest. */
const readDeadlineMs = (size: number, baseMs: number): number => baseMs + Math.floor(size / (4 * megabyte)) * 1000

// Formats that libvips decodes.
const decodedFormats = new Set(['webp', 'tif', 'heic', 'avif'])

/** PNGs and most JPEGs have a reader that needs no native code. */
const needsDecoder = (extension: string, bytes: Uint8Array | undefined): boolean => {
  const type = binaryTypeFor(extension) ?? ''
  return decodedFormats.has(type) || (type === 'jpg' && bytes !== undefined && isProgressive(new MemorySource(bytes)))
}

function withParameter(module: URL, name: string, value: string | undefined): URL {
  if (value) module.searchParams.set(name, value)
  return module
}

/**
 * Reads a content in memory if that takes less time than the transfer to a worker (0.2 ms of this thread). Undefined if a worker is needed.
 * With `readersReplaced`, no extension-specific reader is called here.
 */
function readOnEventLoop(
  bytes: Uint8Array,
  job: Job,
  { rules, readersReplaced }: { rules: ValidationRules; readersReplaced: boolean },
): Promise<Findings | undefined> | undefined {
  const source = new MemorySource(bytes, job.extension)
  if (!readersReplaced && job.extension !== 'svgz') {
    const type = binaryTypeFor(job.extension) ?? textTypeFor(job.extension) ?? ''
    if (archives.has(type) && isSmallArchive(source))
      return examineWithinLimits(source, job, { ...defaultLimits(job.deadlineMs), ...smallLimits })
    if (source.size <= (briefBytes[type] ?? -1)) return examineWithinLimits(source, job, briefLimits(job.deadlineMs))
  }
  if (hasManySteps(source) || (source.size > alwaysQuick && startsBlank(source))) return undefined
  if (job.size <= (quickBytes[textTypeFor(job.extension) ?? ''] ?? -1)) return examine(source, job)
  const lenient = !rules.rejectCorruptFiles && !rules.rejectEncryptedFiles && !rules.rejectActiveContent
  const canSkipReader = needsNoReader({ extension: job.extension, lenient })
  return canSkipReader() && !readersReplaced ? examineWithoutReader(source, job, canSkipReader) : undefined
}

/**
 * Sizes up to which text is read on the event loop. At 32 KiB, text, CSV and JSON take 0.1 to 0.5 ms of CPU, and the worst known file
 * 1.1 ms; plain text takes 0.2 to 0.5 ms at 128 KiB. All other formats need the isolation of a worker.
 */
const alwaysQuick = 32 * 1024
const quickBytes: Record<string, number> = {
  txt: 4 * alwaysQuick,
  html: alwaysQuick,
  csv: alwaysQuick,
  json: alwaysQuick,
  jsonl: alwaysQuick,
}

const archives = new Set(['zip', 'jar', 'gz', 'tar'])

// Icons and thumbnails: 256 KiB of pixels.
const briefPictures = { maxPictureBits: 2 ** 21, maxUnpackedBytes: 256 * 1024 }
// Readers check the deadline between steps. Nearly every file up to these sizes needs fewer steps, and half a millisecond.
const maxSteps = 500

function briefLimits(deadlineMs: number): ReaderLimits {
  const { deadline, ...limits } = defaultLimits(deadlineMs)
  const counted = countedDeadline(maxSteps, deadline)
  return {
    ...limits,
    ...briefPictures,
    get deadline() {
      return counted.deadline
    },
  }
}

const briefBytes: Record<string, number> = {
  ...Object.fromEntries('png gif bmp wav mp3 aac flac mp4 m4a mov 3gp mkv webm'.split(' ').map((type) => [type, alwaysQuick])),
  ...Object.fromEntries('ogg-audio ogg-opus ogg-video ogx'.split(' ').map((type) => [type, alwaysQuick])),
  xml: alwaysQuick / 4,
  svg: alwaysQuick / 4,
}

/**
 * Returns undefined if the file exceeds these limits, which are lower than those for malicious constructions. A worker then reads it again.
 */
async function examineWithinLimits(source: RandomAccessSource, job: Job, limits: ReaderLimits): Promise<Findings | undefined> {
  try {
    const findings = await examine(source, job, {}, limits)
    const verdict = findings.soundness?.verdict
    return verdict?.sound === false && verdict.maliciousConstruction ? undefined : findings
  } catch (error) {
    if (error instanceof DeadlineExceeded) return undefined
    throw error
  }
}

// Containers, images, audio and video, whatever their extension. Their detection reads more than the first bytes.
const manyStepsStart =
  /^(PK|\x1f\x8b|\xd0\xcf\x11\xe0|\x89PNG|ID3|OggS|RIFF|FORM|\{\\rtf|\x1a\x45\xdf\xa3|\x30\x26\xb2\x75|.{4}(ftyp|styp|moov|mdat|wide|free|skip|pnot|moof|sidx))/s

const hasManySteps = (source: RandomAccessSource): boolean =>
  manyStepsStart.test(source.read(0, 8).toString('latin1')) ||
  source.read(Math.max(0, source.size - 65_557), 65_557).includes('PK\x05\x06')

// The blank check reads the whole content of such a file.
const startsBlank = (source: RandomAccessSource): boolean => !/[^\s\0]/.test(source.read(0, 4096).toString('latin1'))
