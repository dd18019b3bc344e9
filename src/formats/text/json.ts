import { broken, checkDeadline, type FormatReader, type FormatVerdict, type ReaderLimits, sound, trapped } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { JsonScanner } from './json-scanner.js'
import { decoded, textSign } from './text.js'

export const readJson: FormatReader = (source, limits) => judge(source, limits, false)

export const readJsonLines: FormatReader = (source, limits) => judge(source, limits, true)

function judge(source: RandomAccessSource, limits: ReaderLimits, many: boolean): FormatVerdict {
  const sign = textSign(source)
  if (sign && sign.bom === 0 && sign.encoding !== 'utf-8' && sign.encoding !== 'legacy')
    return broken(`it is ${sign.encoding.toUpperCase()} without a byte-order mark, and JSON is UTF-8`)
  const scanner = new JsonScanner(limits.maxDepth, many)
  for (const chunk of utf8Chunks(source, sign?.encoding ?? 'utf-8', sign?.bom ?? 0)) {
    checkDeadline(limits)
    scanner.take(chunk)
    if (scanner.fault) break
  }
  const fault = scanner.fault ?? scanner.end()
  if (!fault) return sound([], { encoding: sign?.encoding ?? 'utf-8', values: scanner.values, depth: scanner.deepest })
  const message = `${fault.problem} at byte ${fault.at + (sign?.bom ?? 0)}`
  return fault.tooDeep ? trapped('json_nesting', message, { depth: scanner.deepest }) : broken(message)
}

// RFC 8259 wants UTF-8; UTF-16 with a byte-order mark, as Windows programs write it, is opened by theirs all the same.
function* utf8Chunks(source: RandomAccessSource, encoding: string, bom: number): Iterable<Buffer> {
  if (encoding === 'utf-8' || encoding === 'legacy') return yield* source.chunks(bom)
  for (const text of decoded(source.chunks(bom), encoding, false)) yield Buffer.from(text, 'utf8')
}
