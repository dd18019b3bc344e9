import { badUserInput } from './errors/errors.js'

// Invisible characters, such as direction marks, zero-width characters, tags and annotations.
const invisible = /[\u00ad\u061c\u180e\u200b\u200e\u200f\u2060-\u206f\ufeff\ufff9-\ufffb\u202a-\u202e\u{e0000}-\u{e007f}]/gu
const lineBreaks = /[\t-\r\u0085\u2028\u2029]+/g

/** Removes invisible characters, which can make one name look like another. */
export const withoutInvisible = (text: string): string => text.replace(invisible, '')

export const toSingleLine = (text: string): string => withoutInvisible(text).replace(lineBreaks, ' ').trim()

/** Normalizes an email address for storage and lookup, because keyboards compose accented letters differently. */
export const normalizeEmail = (email: string): string => email.normalize('NFC').toLowerCase()

const maxNameBytes = 255

/** Returns the last path segment in NFC, with at most 255 bytes and without control and invisible characters. */
export function cleanFilename(name: string): string {
  const segment = name.toWellFormed().split(/[/\\]/).at(-1)!
  // Normalize last, because a removed character may have separated a letter from its accent.
  const clean = withoutInvisible(segment)
    .replace(/[\p{Cc}\u2028\u2029\ufffd]/gu, '')
    .normalize('NFC')
    .trim()
  if (clean === '' || clean === '.' || clean === '..') throw badUserInput([{ field: 'file', message: 'must have a file name' }])
  return truncateName(clean)
}

// Shorten the stem, because the extension selects the checks.
function truncateName(name: string): string {
  if (Buffer.byteLength(name) <= maxNameBytes) return name
  const dot = name.lastIndexOf('.')
  const extension = dot > 0 && Buffer.byteLength(name.slice(dot)) <= 64 ? name.slice(dot) : ''
  const maxStemBytes = maxNameBytes - Buffer.byteLength(extension)
  let stem = ''
  let bytes = 0
  for (const character of extension ? name.slice(0, dot) : name) {
    bytes += Buffer.byteLength(character)
    if (bytes > maxStemBytes) break
    stem += character
  }
  return (stem + extension).trimEnd()
}
