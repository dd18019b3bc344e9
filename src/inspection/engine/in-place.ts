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
import type { ValidationRules } from '../checks/check.js'
import type { Findings, Job } from '../findings.js'
import { examine, examineUnread, unreadBy } from './examine.js'

/**
 * Looks at a content in memory where it is, on the event loop, where that takes less than handing it to a worker; undefined for what needs
 * one. `readersReplaced`: no reader of an extension may be called here.
 */
export function examineInPlace(
  bytes: Uint8Array,
  job: Job,
  { rules, readersReplaced }: { rules: ValidationRules; readersReplaced: boolean },
): Promise<Findings | undefined> | undefined {
  const source = new MemorySource(bytes, job.extension)
  if (!readersReplaced && job.extension !== 'svgz') {
    const type = binaryTypeFor(job.extension) ?? textTypeFor(job.extension) ?? ''
    if (archives.has(type) && isSmallArchive(source))
      return examineWithin(source, job, { ...defaultLimits(job.deadlineMs), ...smallLimits })
    const most = briefBytes[type] ?? -1
    if (source.size <= most) return examineWithin(source, job, briefLimits(job.deadlineMs))
  }
  if (hasManySteps(source) || (source.size > alwaysQuick && startsBlank(source))) return undefined
  if (isQuick(job)) return examine(source, job)
  const isUnread = unreadBy({ extension: job.extension, lenient: isLenient(rules) })
  return isUnread() && !readersReplaced ? examineUnread(source, job, isUnread) : undefined
}

/**
 * Up to here a content in memory is looked at where it is, on the event loop; to hand it to a worker takes 0.2 ms of this thread. At
 * 32 KiB text, CSV and JSON take 0.1 to 0.5 ms of CPU and the worst that was found to name 1.1 ms, which grows with the size; plain text
 * takes 0.2 to 0.5 ms at 128 KiB. Everything else needs a worker's protection, also where only traps are refused.
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

/** An icon, a thumbnail: 256 KiB unpacked. */
const briefly = { maxPictureBits: 2 ** 21, maxUnpackedBytes: 256 * 1024 }
/** Steps between which readers look at the clock: nearly every file of these sizes takes fewer, and half a millisecond. */
const mostSteps = 500

function briefLimits(deadlineMs: number): ReaderLimits {
  const { deadline, ...limits } = defaultLimits(deadlineMs)
  const counted = countedDeadline(mostSteps, deadline)
  return {
    ...limits,
    ...briefly,
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

/** Undefined where these limits are passed: what is no trap yet is a worker's. */
async function examineWithin(source: RandomAccessSource, job: Job, limits: ReaderLimits): Promise<Findings | undefined> {
  try {
    const findings = await examine(source, job, {}, limits)
    const verdict = findings.soundness?.verdict
    return verdict?.sound === false && verdict.maliciousConstruction ? undefined : findings
  } catch (error) {
    if (error instanceof DeadlineExceeded) return undefined
    throw error
  }
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
