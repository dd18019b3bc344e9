import { findActiveParts } from './archive/active-parts.js'
import { listZipEntries } from './archive/zip/directory.js'
import type { Recognition } from './detect/detect.js'
import { endsWithZip } from './detect/zip.js'
import type { FormatVerdict, ReaderLimits } from './format.js'
import { findAppendedContent } from './image/appended-content.js'
import { listOleStreams } from './office/ole/container.js'
import type { RandomAccessSource } from './random-access-source.js'
import { findRtfActiveContent, findWebPageActiveContent } from './text/active-text.js'

const activeStreamPatterns: [RegExp, string][] = [
  [/^(_VBA_PROJECT|VBA|_VBA_PROJECT_CUR)$/i, 'VBA macros'],
  [/^Equation Native$/i, 'equation object'],
  [/^\x01Ole10Native$/i, 'embedded program or file'],
]

const zipDocuments = new Set('docx docm xlsx xlsm xlsb pptx pptm vsdx ooxml odt ods odp odg odf'.split(' '))
const oleDocuments = new Set(['doc', 'xls', 'ppt', 'vsd', 'pub', 'msg', 'ole'])

/** Lists macros, scripts and embedded programs that the format reader does not report. */
export function findActiveContent(
  source: RandomAccessSource,
  recognition: Recognition,
  limits: ReaderLimits,
  verdict: FormatVerdict,
): string[] {
  if (recognition.kind === 'text') return findWebPageActiveContent(source, recognition.sign, limits)
  if (recognition.kind !== 'binary') return []
  const { type } = recognition
  if (zipDocuments.has(type)) return findActiveParts((listZipEntries(source, limits) ?? []).map(({ name }) => name))
  if (oleDocuments.has(type)) return findOleActiveContent(source)
  if (type === 'rtf') return findRtfActiveContent(source, limits)
  return imageTypes.has(type) ? findAppendedActiveContent(source, type, limits, verdict) : []
}

/** Finds active content in a compound file by its stream names. */
export const findOleActiveContent = (source: RandomAccessSource): string[] => {
  const names = (listOleStreams(source) ?? []).map(({ name }) => name)
  return activeStreamPatterns.filter(([pattern]) => names.some((name) => pattern.test(name))).map(([, what]) => what)
}

const imageTypes = new Set(['png', 'gif', 'webp', 'jpg'])

function findAppendedActiveContent(
  source: RandomAccessSource,
  type: string,
  limits: ReaderLimits,
  verdict: FormatVerdict,
): string[] {
  const after = type === 'jpg' ? 'jpeg' : Number(verdict.evidence?.bytes_after_end ?? 0)
  const found = findAppendedContent(source, after) ?? (endsWithZip(source, limits) ? 'archive after the image' : undefined)
  return found ? [found] : []
}
