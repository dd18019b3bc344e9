import type { RandomAccessSource } from '../../random-access-source.js'

// Excel 2 to 4 and Word 1 and 2 for Windows did not use compound files, so the first record identifies these files.

const windowsWord = new Set([0xa59b, 0xa5db])

export function isPreOleExcelFile(source: RandomAccessSource): boolean {
  const head = source.read(0, 8)
  if (head.length < 8 || head[0] !== 9) return false
  const start = head.readUInt32LE(0)
  return (
    (start === 0x00040009 || start === 0x00060209 || start === 0x00060409) &&
    [0x10, 0x20, 0x40, 0x100].includes(head.readUInt16LE(6))
  )
}

export function isPreOleWordFile(source: RandomAccessSource): boolean {
  const head = source.read(0, 32)
  if (head.length < 32 || !windowsWord.has(head.readUInt16LE(0))) return false
  const version = head.readUInt16LE(2)
  return version >= 0x1c && version <= 0x30 && head.readUInt32LE(24) <= head.readUInt32LE(28)
}
