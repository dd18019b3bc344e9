import { badUserInput } from './errors/errors.js'

// Invisible characters, and those that change the direction of text or hide it: direction marks, zero-width characters, tags, annotations.
const invisible = /[\u00ad\u061c\u180e\u200b\u200e\u200f\u2060-\u206f\ufeff\ufff9-\ufffb\u202a-\u202e\u{e0000}-\u{e007f}]/gu
const breaks = /[\t-\r\u0085\u2028\u2029]+/g

/** Removes characters that make a name look like another one. */
export const withoutInvisible = (text: string): string => text.replace(invisible, '')

export const plainLine = (text: string): string => withoutInvisible(text).replace(breaks, ' ').trim()

/** An e-mail address as it is stored and looked up. Keyboards compose accented letters differently. */
export const keptEmail = (given: string): string => given.normalize('NFC').toLowerCase()

const maxNameBytes = 255

/**
 * The stored name (contract, section 4): the last path segment of the client's name, without control characters and characters
 * that change the direction of text, NFC-normalized, at most 255 bytes. Throws 400 if no name is left.
 */
export function cleanFilename(name: string): string {
  const segment = name.toWellFormed().split(/[/\\]/).at(-1)!
  // Normalized last: a removed character may have separated a letter from its accent.
  const clean = withoutInvisible(segment)
    .replace(/[\p{Cc}\u2028\u2029\ufffd]/gu, '')
    .normalize('NFC')
    .trim()
  if (clean === '' || clean === '.' || clean === '..') throw badUserInput([{ field: 'file', message: 'must have a file name' }])
  return shortened(clean)
}

// Shortens the stem, since the extension decides how the file is checked.
function shortened(name: string): string {
  if (Buffer.byteLength(name) <= maxNameBytes) return name
  const dot = name.lastIndexOf('.')
  const extension = dot > 0 && Buffer.byteLength(name.slice(dot)) <= 64 ? name.slice(dot) : ''
  const room = maxNameBytes - Buffer.byteLength(extension)
  let stem = ''
  let bytes = 0
  for (const character of extension ? name.slice(0, dot) : name) {
    bytes += Buffer.byteLength(character)
    if (bytes > room) break
    stem += character
  }
  return (stem + extension).trimEnd()
}
