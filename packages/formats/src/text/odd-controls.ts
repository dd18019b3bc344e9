// BEL, BS, TAB, LF, VT, FF, CR, SO, SI and ESC (terminal colours, ISO-2022), SUB (end of a DOS file): text has them.
const textControls = new Set([7, 8, 9, 10, 11, 12, 13, 14, 15, 26, 27])
const oddControl = new Uint8Array(256)
for (let code = 0; code < 32; code++) if (!textControls.has(code)) oddControl[code] = 1
oddControl[127] = 1

export const isOddControl = (code: number): boolean => oddControl[code] === 1

/** How many bytes are controls that no text has. Four at a time, several times as fast as one by one: it is asked of every byte of a text. */
export function oddControls(bytes: Buffer): number {
  if (bytes.length < 8) return countIn(bytes, 0, bytes.length)
  const start = -bytes.byteOffset & 3
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + start, (bytes.length - start) >> 2)
  let odd = countIn(bytes, 0, start) + countIn(bytes, start + words.length * 4, bytes.length)
  const turns = words.length & ~3
  for (let at = 0; at < turns; at += 4) {
    const either = controlOf(words[at]!) | controlOf(words[at + 1]!) | controlOf(words[at + 2]!) | controlOf(words[at + 3]!)
    if ((either & 0x80808080) !== 0) for (let each = at; each < at + 4; each++) odd += oddIn(words[each]!)
  }
  for (let at = turns; at < words.length; at++) odd += oddIn(words[at]!)
  return odd
}

/** Has one of these top bits where a byte is below 32 or is 127, and sometimes beside such a one: most text has them at the ends of lines. */
const controlOf = (word: number): number => ((word - 0x20202020) | (word + 0x01010101)) & ~word

function oddIn(word: number): number {
  if (!mayHoldOdd(word)) return 0
  return oddControl[word & 255]! + oddControl[(word >> 8) & 255]! + oddControl[(word >> 16) & 255]! + oddControl[word >>> 24]!
}

/**
 * Whether one of a word's four bytes is below 32, but not from 8 to 15, or is 127. Each is judged by the top bit that adding to its other
 * seven bits sets: none carries into the next.
 */
function mayHoldOdd(word: number): boolean {
  const low = word & 0x7f7f7f7f
  const below32 = ~(low + 0x60606060)
  const not8To15 = (low ^ 0x08080808) + 0x78787878
  const is127 = low + 0x01010101
  return (~word & ((below32 & not8To15) | is127) & 0x80808080) !== 0
}

function countIn(bytes: Buffer, start: number, end: number): number {
  let odd = 0
  for (let at = start; at < end; at++) odd += oddControl[bytes[at] as number] as number
  return odd
}
