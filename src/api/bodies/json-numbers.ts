// Strings are passed over whole, for digits in them are no number; one without an end reaches to the end, or this would be quadratic.
const tokens = /"(?:[^"\\]|\\.)*"?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs
const manyDigits = /\d{16}/
const integer = /^-?\d{16,}$/
// No double is as long when its digits are written out.
const longestInteger = 310
const toldDigits = 40

/**
 * The first whole number of the JSON text that JSON.parse would not give back digit for digit, such as 9007199254740993, shortened
 * where it is endless. To keep another number than the one that was sent would be to keep wrong data without a word.
 */
export function numberThatLosesDigits(json: string): string | undefined {
  if (!manyDigits.test(json)) return undefined
  for (const [token] of json.matchAll(tokens))
    if (losesDigits(token)) return token.length > toldDigits ? `${token.slice(0, toldDigits)}…` : token
  return undefined
}

/**
 * True of a whole number, as it is written, that would be shown with other digits: a double holds neither it, nor is it the way in
 * which JavaScript writes the double next to it. Fractions are approximate by nature.
 */
export const losesDigits = (written: string): boolean =>
  integer.test(written) &&
  (written.length > longestInteger || (String(Number(written)) !== written && BigInt(Number(written)) !== BigInt(written)))

export const losesDigitsMessage = (written: string): string =>
  `must not hold the number ${written}, of which only the first 15 or 16 digits would be kept; send it as a string`
