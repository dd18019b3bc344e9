// Invisible characters, such as direction marks, zero-width characters, tags and annotations.
export const invisibleCharacters =
  /[\u00ad\u061c\u180e\u200b\u200e\u200f\u2060-\u206f\ufeff\ufff9-\ufffb\u202a-\u202e\u{e0000}-\u{e007f}]/gu
const lineBreaks = /[\t-\r\u0085\u2028\u2029]+/g

/** Removes invisible characters, which can make different names look identical. */
export const removeInvisibleCharacters = (text: string): string => text.replace(invisibleCharacters, '')

export const toSingleLine = (text: string): string => removeInvisibleCharacters(text).replace(lineBreaks, ' ').trim()

/** Normalizes an email address for storage and lookup, because input methods encode accented letters differently. */
export const normalizeEmail = (email: string): string => email.normalize('NFC').toLowerCase()

/** Decodes the start of a text as UTF-16 with a byte order mark, UTF-8 or Windows-1252. Omits an incomplete last character. */
export function decodeTextStart(bytes: Uint8Array): string {
  const utf16 =
    bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : undefined
  if (utf16) return new TextDecoder(utf16).decode(bytes, { stream: true })
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}
