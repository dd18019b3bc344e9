import {
  binaryTypeFor,
  checkWithoutReader,
  defaultLimits,
  detect,
  type FormatReader,
  type Inspection,
  isPage,
  type MemberObserver,
  openDetected,
  type RandomAccessSource,
  type ReaderLimits,
  type Recognition,
  readerName,
  readerOf,
  textTypeFor,
} from '@assay/formats'
import type { Findings, Job } from '../findings.js'
import { isBlank } from './blankness.js'

/** Replaces the reader of an extension. Only tests provide any. */
export type ReaderOverrides = Record<string, FormatReader>

/** Examines one file in the order of the checks, and stops at the first that will fail. */
export async function examine(
  source: RandomAccessSource,
  job: Job,
  overrides: ReaderOverrides = {},
  limits = defaultLimits(job.deadlineMs),
  observer?: MemberObserver,
): Promise<Findings> {
  const findings = await beforeReading(source, job, limits)
  if (isDecided(findings)) return findings
  return withSoundness(findings, () => openDetected(source, findings.recognition.recognised, limits, overrides, observer))
}

/**
 * Whether no reader opens a file with this extension and, if known, this detected type. With `lenient`, the context rejects neither
 * damage nor anything else that readers find. Text then needs no reader: the text readers find no malicious constructions.
 */
export const unreadBy =
  ({ extension, lenient }: { extension: string; lenient: boolean }) =>
  (recognised?: Recognition): boolean => {
    const byName = textTypeFor(extension) ?? binaryTypeFor(extension)
    const name = recognised ? readerName(extension, recognised) : readerOf(byName)
    return name === undefined || (lenient && name === 'txt' && !isPage(extension))
  }

/** Examines a file without a reader. Undefined if a reader is needed after all. */
export async function examineUnread(
  source: RandomAccessSource,
  job: Job,
  isUnread: ReturnType<typeof unreadBy>,
): Promise<Findings | undefined> {
  const limits = defaultLimits(job.deadlineMs)
  const findings = await beforeReading(source, job, limits)
  const { recognised } = findings.recognition
  if (isDecided(findings)) return findings
  if (!isUnread(recognised)) return undefined
  return withSoundness(findings, () => checkWithoutReader(source, recognised, limits))
}

async function beforeReading(source: RandomAccessSource, job: Job, limits: ReaderLimits): Promise<Findings> {
  const { result, durationMs } = await timed(() => detect(source, limits))
  const findings: Findings = { recognition: { ...result, durationMs }, blankness: null, soundness: null }
  if (!result.fits || !job.blank) return findings
  const blank = await timed(() => isBlank(source, limits))
  return { ...findings, blankness: { blank: blank.result, durationMs: blank.durationMs } }
}

const isDecided = ({ recognition, blankness }: Findings): boolean => !recognition.fits || blankness?.blank === true

async function withSoundness(findings: Findings, inspected: () => Inspection | Promise<Inspection>): Promise<Findings> {
  const { result, durationMs } = await timed(inspected)
  return { ...findings, soundness: { ...result, durationMs } }
}

async function timed<T>(work: () => T | Promise<T>): Promise<{ result: T; durationMs: number }> {
  const start = performance.now()
  const result = await work()
  return { result, durationMs: Math.round((performance.now() - start) * 100) / 100 }
}
