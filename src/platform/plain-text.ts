// What turns text around, is not seen, or hides other text: direction marks, zero-width characters, tags, annotations.
const invisible = /[\u00ad\u061c\u180e\u200b\u200e\u200f\u2060-\u206f\ufeff\ufff9-\ufffb\u202a-\u202e\u{e0000}-\u{e007f}]/gu
const breaks = /[\t-\r\u0085\u2028\u2029]+/g

/** Without characters that make a name look like another one. */
export const withoutInvisible = (text: string): string => text.replace(invisible, '')

export const plainLine = (text: string): string => withoutInvisible(text).replace(breaks, ' ').trim()

/** An e-mail address as it is kept and looked up: one person's, however a keyboard composed its letters. */
export const keptEmail = (given: string): string => given.normalize('NFC').toLowerCase()
