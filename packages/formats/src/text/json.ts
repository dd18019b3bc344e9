import {
  checkDeadline,
  createInvalidVerdict,
  createMaliciousVerdict,
  createValidVerdict,
  type FormatReader,
  type FormatVerdict,
  type ReaderLimits,
} from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { JsonScanner, JsonSyntaxError } from './json-scanner.js'
import { decodeText, detectText } from './text.js'

export const readJson: FormatReader = (source, limits) => checkJson(source, limits, false)

export const readJsonLines: FormatReader = (source, limits) => checkJson(source, limits, true)

function checkJson(source: RandomAccessSource, limits: ReaderLimits, allowMultipleValues: boolean): FormatVerdict {
  const { encoding, bom } = detectText(source) ?? { encoding: 'utf-8', bom: 0 }
  if (bom === 0 && encoding !== 'utf-8' && encoding !== 'legacy')
    return createInvalidVerdict(`the file is ${encoding.toUpperCase()} without a byte-order mark. JSON must be UTF-8`)
  const scanner = new JsonScanner(readUtf8Chunks(source, limits, { encoding, bom }), {
    maxDepth: limits.maxDepth,
    many: allowMultipleValues,
  })
  try {
    scanner.scan()
    return createValidVerdict([], { encoding, values: scanner.values, depth: scanner.deepest })
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    const message = `${error.problem} at byte ${error.at + bom}`
    return error.tooDeep
      ? createMaliciousVerdict('json_nesting', message, { depth: scanner.deepest })
      : createInvalidVerdict(message)
  }
}

// Yields UTF-8, which RFC 8259 requires. Also converts UTF-16 with a byte-order mark, which Windows programs write.
function* readUtf8Chunks(source: RandomAccessSource, limits: ReaderLimits, text: { encoding: string; bom: number }) {
  const chunks = source.chunks(text.bom)
  const isBytes = text.encoding === 'utf-8' || text.encoding === 'legacy'
  for (const chunk of isBytes ? chunks : decodeText(chunks, text.encoding, false)) {
    checkDeadline(limits)
    yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk
  }
}
