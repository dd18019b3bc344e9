import { listZipEntries } from './archive/zip/directory.js'
import type { Recognition } from './detect/detect.js'
import { endsAsZip } from './detect/zip.js'
import type { ReaderLimits } from './format.js'
import { listOleStreams } from './office/ole/container.js'
import type { RandomAccessSource } from './random-access-source.js'

const members: [RegExp, string][] = [
  [/(^|\/)vbaProject\.bin$/i, 'VBA macros'],
  [/^xl\/macrosheets\//i, 'XLM macros'],
  [/\/activeX\/[^/]+\.bin$/i, 'ActiveX control'],
  [/\/embeddings\/oleObject[^/]*\.bin$/i, 'embedded object'],
  [/^Basic\/.+\/.+\.xml$/, 'Basic macros'],
  [/^Scripts\//, 'scripts'],
]
const streams: [RegExp, string][] = [
  [/^(_VBA_PROJECT|VBA|_VBA_PROJECT_CUR)$/i, 'VBA macros'],
  [/^Equation Native$/i, 'equation object'],
  [/^\x01Ole10Native$/i, 'embedded program or file'],
]

const zipDocuments = new Set([
  'docx',
  'docm',
  'xlsx',
  'xlsm',
  'xlsb',
  'pptx',
  'pptm',
  'vsdx',
  'ooxml',
  'odt',
  'ods',
  'odp',
  'odg',
  'odf',
])
const pictures = new Set(['png', 'jpg'])
const oleDocuments = new Set(['doc', 'xls', 'ppt', 'vsd', 'pub', 'msg', 'ole'])

/** What of a document runs by itself or holds programs, as far as the names of its parts tell. Readers add what only the content tells. */
export function activeContent(source: RandomAccessSource, recognised: Recognition, limits: ReaderLimits): string[] {
  if (recognised.kind !== 'binary') return []
  if (zipDocuments.has(recognised.type))
    return named(
      members,
      (listZipEntries(source, limits) ?? []).map(({ name }) => name),
    )
  if (pictures.has(recognised.type)) return endsAsZip(source, limits) ? ['archive behind the picture'] : []
  return oleDocuments.has(recognised.type)
    ? named(
        streams,
        (listOleStreams(source) ?? []).map(({ name }) => name),
      )
    : []
}

const named = (kinds: [RegExp, string][], names: string[]): string[] =>
  kinds.filter(([pattern]) => names.some((name) => pattern.test(name))).map(([, what]) => what)
