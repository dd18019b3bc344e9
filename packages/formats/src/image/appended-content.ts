import type { RandomAccessSource } from '../random-access-source.js'

const archiveMessage = 'archive after the image'
const programMessage = 'program after the image'
const webPageMessage = 'page or script after the image'

const contentSignatures: [RegExp, string][] = [
  [/^(PK\x03\x04|Rar!\x1a\x07|7z\xbc\xaf'\x1c|\x1f\x8b\x08|\xfd7zXZ\0|BZh[1-9]1AY&SY)/, archiveMessage],
  [/^(\x7fELF|#!\s*\/|\xca\xfe\xba\xbe|\xcf\xfa\xed\xfe)/, programMessage],
  [/^(<\?php|<%|<!doctype|<html|<head|<body|<script|<iframe|<svg|%PDF-)/i, webPageMessage],
]
const windowBytes = 64 * 1024
const jpegEnd = Buffer.from([0xff, 0xd9])

export function findAppendedContent(source: RandomAccessSource, trailingBytes: number | 'jpeg'): string | undefined {
  if (trailingBytes !== 'jpeg')
    return trailingBytes > 0
      ? (detectContentAt(source, source.size - trailingBytes) ?? searchForAppendedContent(source, source.size - trailingBytes))
      : undefined
  for (const end of findJpegEnds(source)) {
    const found = detectContentAt(source, end)
    if (found) return found
  }
  return undefined
}

function detectContentAt(source: RandomAccessSource, offset: number): string | undefined {
  const bytes = source.read(offset, 512)
  const blank = bytes.findIndex((byte) => byte !== 0 && byte !== 10 && byte !== 13 && byte !== 32)
  if (blank < 0) return undefined
  if (isWindowsProgram(source, offset + blank)) return programMessage
  const text = bytes.toString('latin1', blank, blank + 64)
  return contentSignatures.find(([start]) => start.test(text))?.[1]
}

/** Searches the first 64 KiB after the end of the image for an archive or a web page, which may start at any offset. */
function searchForAppendedContent(source: RandomAccessSource, offset: number): string | undefined {
  const text = source.read(offset, windowBytes).toString('latin1')
  if (/PK\x03\x04|Rar!\x1a\x07|7z\xbc\xaf'\x1c/.test(text)) return archiveMessage
  return /<\?php|<script[\s>]|<html[\s>]|<!doctype html/i.test(text) ? webPageMessage : undefined
}

function isWindowsProgram(source: RandomAccessSource, offset: number): boolean {
  const head = source.read(offset, 64)
  if (head.length < 64 || head.toString('latin1', 0, 2) !== 'MZ') return false
  return source.read(offset + head.readUInt32LE(60), 4).toString('latin1') === 'PE\0\0'
}

function* findJpegEnds(source: RandomAccessSource): Iterable<number> {
  for (let at = 0; at < source.size; at += windowBytes - 1) {
    const bytes = source.read(at, windowBytes)
    for (let found = bytes.indexOf(jpegEnd); found >= 0; found = bytes.indexOf(jpegEnd, found + 2)) yield at + found + 2
  }
}
