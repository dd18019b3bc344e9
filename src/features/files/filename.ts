import { badUserInput } from '../../platform/errors/errors.js'
import { withoutInvisible } from '../../platform/plain-text.js'

const longestBytes = 255

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
  if (Buffer.byteLength(name) <= longestBytes) return name
  const dot = name.lastIndexOf('.')
  const extension = dot > 0 && Buffer.byteLength(name.slice(dot)) <= 64 ? name.slice(dot) : ''
  const room = longestBytes - Buffer.byteLength(extension)
  let stem = ''
  let bytes = 0
  for (const character of extension ? name.slice(0, dot) : name) {
    bytes += Buffer.byteLength(character)
    if (bytes > room) break
    stem += character
  }
  return (stem + extension).trimEnd()
}
