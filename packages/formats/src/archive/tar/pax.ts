import { createDamageError } from '../../format-error.js'
import type { TarHeader } from './header.js'

export type PaxRecords = Map<string, string>

const wanted = new Set(['path', 'linkpath', 'size', 'GNU.sparse.name', 'GNU.sparse.realsize', 'GNU.sparse.size'])

/** Parses pax records of the form `length keyword=value\n`. A malformed record counts as damage, as in GNU tar. */
export function parsePaxRecords(bytes: Buffer, records: PaxRecords): void {
  for (let at = 0; at < bytes.length && bytes[at] !== 0; ) {
    const blank = bytes.indexOf(0x20, at)
    const digits = bytes.toString('latin1', at, blank < 0 ? at : Math.min(blank, at + 20))
    const length = Number.parseInt(digits, 10)
    const end = at + length
    const equals = bytes.indexOf(0x3d, blank)
    if (!/^\d+$/.test(digits) || end > bytes.length || blank >= end || equals < 0 || equals >= end || bytes[end - 1] !== 0x0a) {
      throw createDamageError('an extended tar header is malformed')
    }
    const keyword = bytes.toString('latin1', blank + 1, equals)
    if (wanted.has(keyword)) records.set(keyword, bytes.toString('utf8', equals + 1, end - 1))
    at = end
  }
}

/** Overrides header fields with the non-empty values from the extended header. */
export function applyPaxRecords(header: TarHeader, records: PaxRecords): void {
  header.name = records.get('GNU.sparse.name') || records.get('path') || header.name
  header.linkName = records.get('linkpath') || header.linkName
  const size = records.get('size')
  if (size && header.type !== '1') header.size = parseSize(size)
  const realSize = records.get('GNU.sparse.realsize') ?? records.get('GNU.sparse.size')
  if (realSize) header.sparse = { realSize: parseSize(realSize), extended: false }
}

function parseSize(value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw createDamageError('a size in an extended tar header is not a number')
  return Number(value)
}
