import {
  broken,
  checkDeadline,
  type FormatReader,
  type FormatVerdict,
  maliciousVerdict,
  type ReaderLimits,
  sound,
} from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { JsonScanner, JsonSyntaxError } from './json-scanner.js'
import { decoded, textSign } from './text.js'

export const readJson: FormatReader = (source, limits) => checkJson(source, limits, false)

export const readJsonLines: FormatReader = (source, limits) => checkJson(source, limits, true)

function checkJson(source: RandomAccessSource, limits: ReaderLimits, many: boolean): FormatVerdict {
  const { encoding, bom } = textSign(source) ?? { encoding: 'utf-8', bom: 0 }
  if (bom === 0 && encoding !== 'utf-8' && encoding !== 'legacy')
    return broken(`the file is ${encoding.toUpperCase()} without a byte-order mark. JSON must be UTF-8`)
  const scanner = new JsonScanner(utf8Chunks(source, limits, { encoding, bom }), { maxDepth: limits.maxDepth, many })
  try {
    scanner.scan()
    return sound([], { encoding, values: scanner.values, depth: scanner.deepest })
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    const message = `${error.problem} at byte ${error.at + bom}`
    return error.tooDeep ? maliciousVerdict('json_nesting', message, { depth: scanner.deepest }) : broken(message)
  }
}

// Yields UTF-8, which RFC 8259 requires. Also accepts UTF-16 with a byte-order mark, which Windows programs write.
function* utf8Chunks(source: RandomAccessSource, limits: ReaderLimits, text: { encoding: string; bom: number }) {
  const chunks = source.chunks(text.bom)
  const isBytes = text.encoding === 'utf-8' || text.encoding === 'legacy'
  for (const chunk of isBytes ? chunks : decoded(chunks, text.encoding, false)) {
    checkDeadline(limits)
    yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk
  }
}
