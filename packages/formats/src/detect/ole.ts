import { listOleStreams } from '../office/ole/container.js'
import type { RandomAccessSource } from '../random-access-source.js'

const typeByStream: Record<string, string> = {
  encryptedpackage: 'encrypted-ooxml',
  worddocument: 'doc',
  workbook: 'xls',
  book: 'xls',
  'powerpoint document': 'ppt',
  pp40: 'ppt',
  '__properties_version1.0': 'msg',
  visiodocument: 'vsd',
  quill: 'pub',
}

export function detectOleType(source: RandomAccessSource): string {
  const roots = (listOleStreams(source) ?? []).filter(({ parents }) => parents.length === 0)
  const found = new Set(roots.flatMap(({ name }) => typeByStream[name.toLowerCase()] ?? []))
  if (found.has('encrypted-ooxml')) return 'encrypted-ooxml'
  return found.size === 1 ? [...found][0]! : 'ole'
}
