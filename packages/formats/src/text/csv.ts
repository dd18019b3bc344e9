import { checkDeadline, type FormatReader, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { decoded, readText, type TextSign, textSign } from './text.js'

/** Checks CSV as text, because spreadsheets open any cells. */
export const readCsv: FormatReader = async (source, limits) => {
  const verdict = await readText(source, limits)
  const sign = textSign(source)
  if (!verdict.sound || !sign || !hasFormulas(source, sign, limits)) return verdict
  return { ...verdict, notes: [...(verdict.notes ?? []), 'cells that a spreadsheet takes for formulas'] }
}

// A plus or minus sign before a letter or a bracket does not belong to a number.
const formula = /[\r\n,;\t|][ ]*"?(?:=[^=,;\t|"\s]|@[A-Za-z]|[+-][A-Za-z(@=])/

function hasFormulas(source: RandomAccessSource, { bom, encoding }: TextSign, limits: ReaderLimits): boolean {
  let last = '\n'
  for (const chunk of decoded(source.chunks(bom), encoding, false)) {
    checkDeadline(limits)
    if (formula.test(last + chunk)) return true
    last = chunk.slice(-8) || last
  }
  return false
}
