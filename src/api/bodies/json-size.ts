/** How many values JSON that callers send may have, all its levels counted: more than 16 KiB of metadata can hold. */
export const mostJsonValues = 10_000

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const bracket = 0x5b
const brace = 0x7b

/**
 * True where the text has more values than it may. Asked before anything is made of it: a megabyte of `[[[[` or of empty strings
 * costs JSON.parse, and every check after it, a hundred times what a megabyte of text does, and holds the event loop meanwhile.
 */
export function hasTooManyValues(json: Uint8Array): boolean {
  let values = 0
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]!
    if (byte === quote) at = endOfString(json, at + 1)
    else if ((byte === comma || byte === bracket || byte === brace) && ++values > mostJsonValues) return true
  }
  return false
}

function endOfString(json: Uint8Array, start: number): number {
  let at = start
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1
  return at
}
