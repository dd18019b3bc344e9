import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import type { DetectedText } from './text.js'
import { decodeText } from './text.js'

type Patterns = [RegExp, string][]

const pagePatterns: Patterns = [
  [/<(?:\w+:)?script[\s/>]/i, 'script'],
  [/<[a-z][^<>]{0,2000}[\s/"']on[a-z]{3,30}\s*=/i, 'event handler'],
  [
    /(?:href|src|action|data|to|values)\s*=\s*["']?[\s\0]*j[\s]*a[\s]*v[\s]*a[\s]*s[\s]*c[\s]*r[\s]*i[\s]*p[\s]*t[\s]*:/i,
    'javascript: link',
  ],
  [/<(?:iframe|frame|object|embed|applet)[\s/>]/i, 'embedded page or program'],
  [/<meta[^<>]{0,200}http-equiv\s*=\s*["']?refresh/i, 'redirection'],
]
const rtfPatterns: Patterns = [
  [/\\objdata/, 'embedded object'],
  [/\\obj(?:update|autlink|link)\b/, 'linked object'],
  [/\\\*\s*\\template\s+(?:[a-z]+:|\\\\)/i, 'remote template'],
  [/\bDDE(?:AUTO)?\s/, 'DDE field'],
]

const overlapLength = 2048

export const findWebPageActiveContent = (source: RandomAccessSource, detected: DetectedText, limits: ReaderLimits): string[] =>
  findMatches(decodeText(source.chunks(detected.bom), detected.encoding, false), pagePatterns, limits)

export const findRtfActiveContent = (source: RandomAccessSource, limits: ReaderLimits): string[] =>
  findMatches(decodeText(source.chunks(), 'latin1', false), rtfPatterns, limits)

function findMatches(texts: Iterable<string>, patterns: Patterns, limits: ReaderLimits): string[] {
  const found = new Set<string>()
  let carried = ''
  for (const chunk of texts) {
    checkDeadline(limits)
    const text = carried + chunk
    for (const [pattern, what] of patterns) if (!found.has(what) && pattern.test(text)) found.add(what)
    carried = text.slice(-overlapLength)
  }
  return [...found]
}
