import {
  activeContent,
  binaryTypeFor,
  broken,
  DeadlineExceeded,
  type FormatReader,
  type FormatVerdict,
  isPage,
  loadReader,
  mimeOf,
  mimeOfExtension,
  polyglot,
  type RandomAccessSource,
  type ReaderLimits,
  type Recognition,
  readerName,
  readerOf,
  recognise,
  sound,
  standsFor,
  TooLarge,
  textTypeFor,
  trapped,
} from '@assay/formats'
import type { Findings, Job, SoundnessFinding } from '../findings.js'
import { limitsFor } from '../limits.js'
import { isBlank } from './blankness.js'

/** Replaces the reader of an extension; only what runs workers for tests hands any in. */
export type ReaderOverrides = Record<string, FormatReader>

/** Looks at one file, in the order of the checks, and no further than the first that will fail. */
export async function examine(
  source: RandomAccessSource,
  job: Job,
  overrides: ReaderOverrides = {},
  limits = limitsFor(job.deadlineMs),
): Promise<Findings> {
  const findings = await beforeReading(source, job, limits)
  if (isDecided(findings)) return findings
  return withSoundness(findings, () => judge(source, findings.recognition.recognised, limits, overrides))
}

/**
 * Whether no reader opens what has that name and, where it is known, is recognised so. With `lenient`, where the context refuses neither
 * damage nor anything else that readers find, texts have none: theirs find no traps.
 */
export const unreadBy =
  ({ extension, lenient }: { extension: string; lenient: boolean }) =>
  (recognised?: Recognition): boolean => {
    const byName = textTypeFor(extension) ?? binaryTypeFor(extension)
    const name = recognised ? readerName(extension, recognised) : readerOf(byName)
    return name === undefined || (lenient && name === 'txt' && !isPage(extension))
  }

/** Without a reader: undefined where one is to be asked after all. */
export async function examineUnread(
  source: RandomAccessSource,
  job: Job,
  isUnread: ReturnType<typeof unreadBy>,
): Promise<Findings | undefined> {
  const limits = limitsFor(job.deadlineMs)
  const findings = await beforeReading(source, job, limits)
  const { recognised } = findings.recognition
  if (isDecided(findings)) return findings
  if (!isUnread(recognised)) return undefined
  return withSoundness(findings, () => {
    const twoFaced = polyglot(source, recognised, limits)
    const verdict = twoFaced ? trapped(twoFaced.trap, twoFaced.problem) : bySignature(source, recognised)
    return { verdict: withActiveContent(verdict, activeContent(source, recognised, limits, verdict)), reader: null }
  })
}

async function beforeReading(source: RandomAccessSource, job: Job, limits: ReaderLimits): Promise<Findings> {
  const { result, durationMs } = await timed(() => recogniseAs(source, limits))
  const findings: Findings = { recognition: { ...result, durationMs }, blankness: null, soundness: null }
  if (!result.fits || !job.blank) return findings
  const blank = await timed(() => isBlank(source, limits))
  return { ...findings, blankness: { blank: blank.result, durationMs: blank.durationMs } }
}

const isDecided = ({ recognition, blankness }: Findings): boolean => !recognition.fits || blankness?.blank === true

async function withSoundness(
  findings: Findings,
  judged: () => Omit<SoundnessFinding, 'durationMs'> | Promise<Omit<SoundnessFinding, 'durationMs'>>,
): Promise<Findings> {
  const { result, durationMs } = await timed(judged)
  return { ...findings, soundness: { ...result, durationMs } }
}

async function timed<T>(work: () => T | Promise<T>): Promise<{ result: T; durationMs: number }> {
  const start = performance.now()
  const result = await work()
  return { result, durationMs: Math.round((performance.now() - start) * 100) / 100 }
}

async function recogniseAs(source: RandomAccessSource, limits: ReaderLimits) {
  const recognised = await recognise(source, limits)
  const { extension } = source
  if (recognised.kind === 'binary') {
    const { type } = recognised
    return { recognised, type, mime: recognised.mime ?? mimeOf(type, extension), fits: standsFor(extension, type) }
  }
  if (recognised.kind !== 'text') return { recognised, type: null, mime: null, fits: true }
  const type = (await otherTextType(source, limits)) ?? 'text'
  const mime = type !== 'text' ? mimeOf(type, type) : textTypeFor(extension) ? mimeOfExtension(extension) : 'text/plain'
  return { recognised, type, mime, fits: type === 'text' }
}

/** XML that is called .json, or the reverse: only what really parses as the other is recognised as it. */
async function otherTextType(source: RandomAccessSource, limits: ReaderLimits): Promise<'xml' | 'json' | undefined> {
  const named = textTypeFor(source.extension)
  const first = source
    .read(0, 256)
    .toString('latin1')
    .replace(/[^\x21-\x7e]/g, '')[0]
  const other =
    first === '<' && (named === 'json' || named === 'jsonl')
      ? 'xml'
      : (first === '{' || first === '[') && (named === 'xml' || named === 'svg')
        ? 'json'
        : undefined
  const reader = other && (await loadReader(other))
  return reader && (await guarded(() => reader(source, limits))).sound ? other : undefined
}

async function judge(
  source: RandomAccessSource,
  recognised: Recognition,
  limits: ReaderLimits,
  overrides: ReaderOverrides,
): Promise<Omit<SoundnessFinding, 'durationMs'>> {
  const twoFaced = polyglot(source, recognised, limits)
  if (twoFaced) return { verdict: trapped(twoFaced.trap, twoFaced.problem), reader: null }
  const name = readerName(source.extension, recognised)
  const reader = overrides[source.extension] ?? (name && (await loadReader(name)))
  const otherwise = reader && textAsDocument(source, recognised)
  if (otherwise) return { verdict: broken(otherwise), reader: name ?? null }
  const verdict = await guarded(async () => {
    const read = reader ? await reader(source, limits) : bySignature(source, recognised)
    return withActiveContent(read, activeContent(source, recognised, limits, read))
  })
  const note = unusualName(source.extension, recognised)
  if (note && reader && verdict.sound) verdict.notes = [...(verdict.notes ?? []), note]
  return { verdict, reader: reader ? (name ?? source.extension) : null }
}

function withActiveContent(verdict: FormatVerdict, found: string[]): FormatVerdict {
  const active = new Set([...found, ...((verdict.evidence?.active_content as string[] | undefined) ?? [])])
  return active.size > 0 ? { ...verdict, evidence: { ...verdict.evidence, active_content: [...active] } } : verdict
}

/** Says what a text is that office programs write under the name of an older format, and open with a warning. */
function textAsDocument(source: RandomAccessSource, recognised: Recognition): string | undefined {
  if (recognised.kind !== 'text' || !/^(doc|dot|xls|xlt|ppt)$/.test(source.extension)) return undefined
  const start = source.read(0, 2048).toString('latin1')
  const program = /progid="(Word|Excel|PowerPoint)\./.exec(start)?.[1]
  if (program) return `it is ${program} 2003 XML, not a .${source.extension}; such files are called .xml`
  if (/<(!doctype\s+html|html|head|body|table)[\s>]/i.test(start))
    return `it is a web page, not a .${source.extension}; such files are called .html`
  return undefined
}

function unusualName(extension: string, recognised: Recognition): string | undefined {
  const type = recognised.kind === 'binary' ? recognised.type : undefined
  if (type === 'mov' && /^(mp4|m4v)$/.test(extension)) return 'is a QuickTime film by its brand'
  return type === 'mkv' && /^web[ma]$/.test(extension) ? 'is a Matroska file by its type' : undefined
}

/** Types without a reader: their first bytes are all that is looked at. */
function bySignature(source: RandomAccessSource, recognised: Recognition): FormatVerdict {
  if (recognised.kind === 'binary') return sound(['checked for its signature only'])
  if (signed.has(source.extension) && !isArmoured(source, recognised))
    return broken(`it does not start as a .${source.extension} file does`)
  return sound([recognised.kind === 'text' ? 'it is text' : 'no signature is known for it'])
}

const isArmoured = (source: RandomAccessSource, { kind }: Recognition): boolean =>
  kind === 'text' &&
  binaryTypeFor(source.extension) === 'der' &&
  /-----BEGIN |^(?:MIME-Version|Content-Type):|^[A-Za-z0-9+/=\r\n]{64,}$/im.test(source.read(0, 4096).toString('latin1'))

// Extensions without a reader whose files always start with a signature that recognise() finds.
const signed = new Set(
  'rar cbr bz2 tbz2 xz txz zst lz4 lz cab deb rpm psd psb jp2 jxl rtf woff woff2 exe dll class wasm sqlite flv avi swf aif aiff mid wv ape msg vsd pst chm lnk asf wmv wma ico heic heif eps ttf otf ttc dcm dng cr2 nef arw parquet mpp pub amr dwg avro shp exr djvu npy h5 fits nii p12 pfx p7s p7m p7b p7c der'.split(
    ' ',
  ),
)

/** A reader that throws was led astray by the file: the file is at fault, not the service. */
async function guarded(work: () => FormatVerdict | Promise<FormatVerdict>): Promise<FormatVerdict> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof DeadlineExceeded) return trapped('too_slow', error.message)
    if (error instanceof TooLarge) return sound([`looked at its signature only: ${error.message}`])
    return broken(`it cannot be read: ${(error instanceof Error ? error.message : String(error)).slice(0, 300)}`)
  }
}
