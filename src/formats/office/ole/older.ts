import { broken, type FormatVerdict, sound } from '../../format.js'
import type { RandomAccessSource } from '../../random-access-source.js'

// Excel 2 to 4 and Word 1 and 2 for Windows wrote their records straight into the file, without a compound file around them.

const startOfSheet = new Set([0x0009, 0x0209, 0x0409])
const endOfSheet = 0x000a
const mostRecords = 5_000_000
const windowsWord = new Set([0xa59b, 0xa5db])

export function isOlderExcel(source: RandomAccessSource): boolean {
  const head = source.read(0, 8)
  if (head.length < 8 || head[0] !== 9) return false
  const start = head.readUInt32LE(0)
  return (
    (start === 0x00040009 || start === 0x00060209 || start === 0x00060409) &&
    [0x10, 0x20, 0x40, 0x100].includes(head.readUInt16LE(6))
  )
}

export function isOlderWord(source: RandomAccessSource): boolean {
  const head = source.read(0, 32)
  if (head.length < 32 || !windowsWord.has(head.readUInt16LE(0))) return false
  const version = head.readUInt16LE(2)
  return version >= 0x1c && version <= 0x30 && head.readUInt32LE(24) <= head.readUInt32LE(28)
}

/** Undefined for what is neither; these readers look at the structure only. */
export function readOlder(source: RandomAccessSource): FormatVerdict | undefined {
  if (isOlderExcel(source)) return readOlderExcel(source)
  if (!isOlderWord(source)) return undefined
  if (source.read(28, 4).readUInt32LE(0) > source.size)
    return broken('the text of the Word document lies beyond the end of the file')
  return sound(['a document of Word 1 or 2: only its header was checked'])
}

/** Sheets may stand in a workbook: the end that counts is that of what began first. */
function readOlderExcel(source: RandomAccessSource): FormatVerdict {
  let depth = 0
  let at = 0
  for (let count = 0; count < mostRecords; count++) {
    const head = source.read(at, 4)
    if (head.length < 4) break
    const type = head.readUInt16LE(0)
    at += 4 + head.readUInt16LE(2)
    if (at > source.size) break
    if (startOfSheet.has(type)) depth++
    if (type === endOfSheet && --depth === 0) return sound(['a sheet of Excel 2, 3 or 4: only its records were checked'])
  }
  return broken('the Excel sheet ends in the middle of its records')
}
