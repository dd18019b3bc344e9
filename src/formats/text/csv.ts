import { checkDeadline, type FormatReader, type FormatVerdict, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { decoded, readText, type TextSign, textSign } from './text.js'

const sampleSize = 64 * 1024

/** CSV: text. Whatever is in its cells opens in a spreadsheet, so uneven rows are told and not refused. */
export const readCsv: FormatReader = async (source, limits) => {
  const verdict = await readText(source, limits)
  const sign = textSign(source)
  if (!verdict.sound || !sign) return verdict
  const sample = [...decoded([source.read(sign.bom, sampleSize)], sign.encoding, false)].join('')
  const shaped = withShape(verdict, sample, source.size > sampleSize)
  if (hasFormulas(source, sign, limits)) shaped.notes = [...(shaped.notes ?? []), 'cells that a spreadsheet takes for formulas']
  return shaped
}

// A sign before a letter or a bracket is no number.
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

function withShape(verdict: FormatVerdict & { sound: true }, sample: string, cut: boolean): FormatVerdict & { sound: true } {
  const delimiter = mostFrequent(sample.slice(0, sample.search(/[\r\n]|$/)))
  const { widths, unclosed } = rowWidths(sample, delimiter, cut)
  const notes = [...(verdict.notes ?? [])]
  if (unclosed) notes.push('a quoted cell is never closed')
  if (new Set(widths).size > 1) notes.push('rows have different numbers of cells')
  return { sound: true, notes, evidence: { ...verdict.evidence, delimiter, columns: widths[0] ?? 0 } }
}

function mostFrequent(line: string): string {
  const counts = [',', ';', '\t', '|'].map((delimiter) => ({ delimiter, count: line.split(delimiter).length }))
  return counts.reduce((best, next) => (next.count > best.count ? next : best)).delimiter
}

function rowWidths(text: string, delimiter: string, cut: boolean): { widths: number[]; unclosed: boolean } {
  const widths: number[] = []
  let cells = 1
  let quoted = false
  let empty = true
  for (const character of text) {
    if (character === '"') quoted = !quoted
    else if (!quoted && character === delimiter) cells++
    else if (!quoted && character === '\n') {
      if (!empty) widths.push(cells)
      cells = 1
      empty = true
      continue
    }
    if (character !== '\r') empty = false
  }
  if (!empty && !cut) widths.push(cells)
  return { widths, unclosed: quoted && !cut }
}
