import {
  createCountedDeadline,
  DeadlineExceeded,
  defaultLimits,
  examine,
  getBinaryType,
  getTextType,
  MemorySource,
  type RandomAccessSource,
  type ReaderLimits,
  withDeadline,
} from '@assay/formats'
import { isSmallArchive, smallLimits } from '@assay/formats/archive'
import { isProgressive } from '@assay/formats/image'
import { getCompiledModuleUrl } from '../../platform/compiled-module.js'
import { overloaded } from '../../platform/errors/errors.js'
import type { Content } from '../../platform/spool/content.js'
import { megabyte } from '../../platform/units.js'
import type { Findings, Job, Submission, WorkerFailureResult } from '../report.js'
import type { WorkerScan } from '../scanners/virus-scanner.js'
import { type Task, TaskError, WorkerFailed, WorkerNotStarted } from '../workers/work.js'
import type { WorkerPool } from '../workers/worker-pool.js'
import type { ReadResult } from './reading.js'

export interface ContentReaderOptions {
  deadlineMs: number
  /** Extra time after the reader's own deadline before the worker counts as hung. */
  graceMs: number
  /** URL of a module whose export `readers` (a map from extension to FormatReader) replaces built-in readers. */
  readerModule?: string | undefined
  decoderModule?: string | undefined
}

/** Reads small content on the event loop. Uses a process for native decoders, and a thread for all other content. */
export class ContentReader {
  readonly #modules: { reading: URL; imageReading: URL }

  constructor(
    private readonly pool: WorkerPool,
    private readonly options: ContentReaderOptions,
  ) {
    this.#modules = {
      reading: withQueryParameter(getCompiledModuleUrl('inspection/engine/reading'), 'readers', options.readerModule),
      imageReading: withQueryParameter(getCompiledModuleUrl('inspection/engine/image-reading'), 'decoder', options.decoderModule),
    }
  }

  /** Reads a file. If `scan` is set and a worker thread reads the file, this thread also scans it. */
  async read(
    submission: Submission,
    content: Content,
    extension: string,
    scan?: WorkerScan,
  ): Promise<Findings | WorkerFailureResult> {
    const { rules, sizeBytes } = submission
    const deadlineMs = getReadDeadlineMs(sizeBytes, this.options.deadlineMs)
    const job: Job = { path: content.path, extension, blank: rules.rejectBlankFiles, deadlineMs }
    const canReadHere = content.bytes && !this.options.readerModule
    const findings = canReadHere && (await readOnEventLoop(content.bytes, job))
    if (findings) return findings
    try {
      return await this.#readInWorker(submission, content, job, scan)
    } catch (error) {
      if (error instanceof WorkerFailed) return { failure: error.failure, durationMs: error.durationMs }
      // If no worker could be started, the client gets only a general message. The service log contains the reason for the
      // operator.
      if (error instanceof WorkerNotStarted)
        throw overloaded('Files cannot be inspected at the moment. Retry later.', error.message)
      if (error instanceof TaskError) throw new Error(`validation failed: ${error.message}`)
      throw error
    }
  }

  async #readInWorker(
    { rules, sizeBytes, signal, owner }: Submission,
    { bytes }: Content,
    job: Job,
    scan?: WorkerScan,
  ): Promise<Findings> {
    const { reading, imageReading } = this.#modules
    const deadlineMs = job.deadlineMs + this.options.graceMs
    const task = { run: 'read', data: job, bytes, size: sizeBytes, owner, deadlineMs, retryHung: true }
    const inProcess: Task = { ...task, module: imageReading, inProcess: true }
    const inThread: Task = { ...task, module: reading, inProcess: false }
    const runTask = (workerTask: Task) => this.pool.run<ReadResult>(workerTask, signal)
    if (needsNativeDecoder(job.extension, bytes)) return (await runTask(inProcess)).findings
    const withScan: Partial<Task> | undefined = scan && {
      data: { ...job, scan: { setup: scan.setup, damaged: !rules.rejectCorruptFiles } },
      deadlineMs: deadlineMs + scan.deadlineOf(sizeBytes),
      // If the worker crashes, either the reader or the scan may have caused it. The second attempt therefore only reads the
      // file, and the scan runs separately.
      retry: { data: job, deadlineMs },
    }
    const { findings, image } = await runTask({ ...inThread, ...withScan })
    if (!image) return findings
    return { ...(await runTask(inProcess)).findings, ...(findings.scan && { scan: findings.scan }) }
  }
}

/** Time limit for reading a file: a base plus one second per 4 MiB. Files with many small XML elements take longest. */
const getReadDeadlineMs = (size: number, baseMs: number): number => baseMs + Math.floor(size / (4 * megabyte)) * 1000

// Formats that libvips decodes.
const decodedFormats = new Set(['webp', 'tif', 'heic', 'avif'])

/** Returns true if the format needs a native decoder. PNG and most JPEG files do not. */
const needsNativeDecoder = (extension: string, bytes: Uint8Array | undefined): boolean => {
  const type = getBinaryType(extension) ?? ''
  return decodedFormats.has(type) || (type === 'jpg' && bytes !== undefined && isProgressive(new MemorySource(bytes)))
}

function withQueryParameter(module: URL, name: string, value: string | undefined): URL {
  if (value) module.searchParams.set(name, value)
  return module
}

/** Reads content on the event loop if that takes less time than a transfer to a worker (0.2 ms). Otherwise returns undefined. */
function readOnEventLoop(bytes: Uint8Array, job: Job): Promise<Findings | undefined> | undefined {
  if (job.extension === 'svgz') return undefined
  const source = new MemorySource(bytes, job.extension)
  const type = getBinaryType(job.extension) ?? getTextType(job.extension) ?? ''
  if (archives.has(type) && isSmallArchive(source))
    return examineWithinLimits(source, job, { ...defaultLimits(job.deadlineMs), ...smallLimits })
  if (source.size > (quickBytes[type] ?? -1)) return undefined
  if (!quickTexts.has(type)) return examineWithinLimits(source, job, createEventLoopLimits(job.deadlineMs))
  if (mayNeedManySteps(source) || (source.size > alwaysQuick && hasBlankStart(source))) return undefined
  return examine(source, { blank: job.blank, limits: defaultLimits(job.deadlineMs) })
}

const quickTexts = new Set(['txt', 'html', 'csv', 'json', 'jsonl'])
const quickMedia = 'png gif bmp wav mp3 aac flac mp4 m4a mov 3gp mkv webm ogg-audio ogg-opus ogg-video ogx'.split(' ')
const alwaysQuick = 32 * 1024

/** Maximum sizes of the content that is read on the event loop. Reading it takes 0.1 to 1.1 ms of CPU time. */
const quickBytes: Record<string, number> = {
  ...Object.fromEntries([...quickTexts, ...quickMedia].map((type) => [type, alwaysQuick])),
  txt: 4 * alwaysQuick,
  xml: alwaysQuick / 4,
  svg: alwaysQuick / 4,
}

const archives = new Set(['zip', 'jar', 'gz', 'tar'])

// Limits for images on the event loop. 256 KiB of pixels suffice for icons and thumbnails.
const quickPictureLimits = { maxPictureBits: 2 ** 21, maxUnpackedBytes: 256 * 1024 }
// Maximum number of reader steps on the event loop. This many steps take half a millisecond, and nearly all small files need
// fewer.
const maxSteps = 500

function createEventLoopLimits(deadlineMs: number): ReaderLimits {
  const limits = { ...defaultLimits(deadlineMs), ...quickPictureLimits }
  const counted = createCountedDeadline(maxSteps, limits.deadline)
  return withDeadline(limits, () => counted.deadline)
}

/** Examines a file on the event loop. Returns undefined if it exceeds the limits, because a worker must then read it. */
async function examineWithinLimits(source: RandomAccessSource, job: Job, limits: ReaderLimits): Promise<Findings | undefined> {
  try {
    const findings = await examine(source, { blank: job.blank, limits })
    const verdict = findings.soundness?.verdict
    return verdict?.sound === false && verdict.maliciousConstruction ? undefined : findings
  } catch (error) {
    if (error instanceof DeadlineExceeded) return undefined
    throw error
  }
}

// Matches the start of containers, images, audio and video. The reader needs many steps to detect their format, because the first
// bytes do not suffice.
const manyStepsStart =
  /^(PK|\x1f\x8b|\xd0\xcf\x11\xe0|\x89PNG|ID3|OggS|RIFF|FORM|\{\\rtf|\x1a\x45\xdf\xa3|\x30\x26\xb2\x75|.{4}(ftyp|styp|moov|mdat|wide|free|skip|pnot|moof|sidx))/s

const mayNeedManySteps = (source: RandomAccessSource): boolean =>
  manyStepsStart.test(source.read(0, 8).toString('latin1')) ||
  source.read(Math.max(0, source.size - 65_557), 65_557).includes('PK\x05\x06')

// Returns true if the start of the file is blank. If it is, the blank check must read the whole content.
const hasBlankStart = (source: RandomAccessSource): boolean => !/[^\s\0]/.test(source.read(0, 4096).toString('latin1'))
