import { gunzipSync } from 'node:zlib'
import { SaxesParser } from 'saxes'
import {
  checkDeadline,
  createInvalidVerdict,
  createMaliciousVerdict,
  createValidVerdict,
  DeadlineExceeded,
  type FormatReader,
  type FormatVerdict,
  type ReaderLimits,
} from '../format.js'
import { createMaliciousError, FormatError } from '../format-error.js'
import { MemorySource, type RandomAccessSource } from '../random-access-source.js'
import { SvgUses } from './svg-uses.js'
import { decodeText, detectText } from './text.js'
import { XmlEntities } from './xml-entities.js'

const maxPrologue = 2 * 1024 * 1024
const maxAttributes = 10_000

export interface XmlFacts {
  root: string
  rootNamespace: string | undefined
  active: Set<string>
  notes: string[]
}

export const readXml: FormatReader = (source, limits) => checkXml(source, limits, () => undefined)

export const readSvg: FormatReader = (source, limits) =>
  checkXml(source, limits, (facts) => (isSvg(facts) ? undefined : `the root element is '${facts.root.slice(0, 50)}', not 'svg'`))

const maxPackedBytes = 16 * 1024 * 1024

/** Checks a gzip-compressed SVG, which browsers open directly. */
export const readSvgz: FormatReader = (source, limits) => {
  const packed = source.readAll(maxPackedBytes)
  try {
    const svg = gunzipSync(packed, { maxOutputLength: 4 * maxPackedBytes })
    return readSvg(new MemorySource(svg, 'svg'), limits)
  } catch (error) {
    const { code, message } = error as Error & { code?: string }
    if (code === 'ERR_BUFFER_TOO_LARGE')
      return createMaliciousVerdict('archive_ratio', `the file expands to more than ${4 * maxPackedBytes} bytes`)
    if (code?.startsWith('Z_')) return createInvalidVerdict(`the gzip data cannot be unpacked: ${message}`)
    throw error
  }
}

export const isSvg = (facts: XmlFacts): boolean => facts.root.replace(/^[^:]*:/, '') === 'svg'

function checkXml(
  source: RandomAccessSource,
  limits: ReaderLimits,
  findProblem: (facts: XmlFacts) => string | undefined,
): FormatVerdict {
  try {
    const facts = parseXml(source, limits)
    const problem = findProblem(facts)
    if (problem) return createInvalidVerdict(problem, { root: facts.root })
    const active = facts.active.size > 0 ? { active_content: [...facts.active] } : {}
    return createValidVerdict(facts.active.has('script') ? [...facts.notes, 'the file contains a script'] : facts.notes, {
      root: facts.root.slice(0, 100),
      ...active,
    })
  } catch (error) {
    if (error instanceof FormatError) return error.verdict
    if (error instanceof DeadlineExceeded) throw error
    return createInvalidVerdict(`the file is not well-formed XML: ${describeError(error)}`)
  }
}

/** Parses XML. Throws parser errors, a TypeError for invalid bytes, or a `FormatError`. */
export function parseXml(source: RandomAccessSource, limits: ReaderLimits): XmlFacts {
  const detected = detectText(source)
  if (!detected) throw new Error('the content is binary')
  const facts: XmlFacts = { root: '', rootNamespace: undefined, active: new Set(), notes: [] }
  const parser = new SaxesParser({ xmlns: false, position: true })
  attachHandlers(parser, facts, limits, source.size)
  const label =
    detected.encoding === 'utf-8' || detected.encoding === 'legacy'
      ? getDeclaredEncoding(source.read(detected.bom, 1024), detected.bom > 0)
      : detected.encoding
  let prologue = 0
  for (const text of decodeText(source.chunks(detected.bom), label, true)) {
    checkDeadline(limits)
    // Limit the size of the document type declaration, because the parser needs several times its size in memory.
    if (facts.root === '' && (prologue += text.length) > maxPrologue)
      throw createMaliciousError('xml_prologue', `more than ${maxPrologue} characters precede the root element`)
    parser.write(text)
  }
  parser.close()
  return facts
}

function attachHandlers(parser: SaxesParser, facts: XmlFacts, limits: ReaderLimits, size: number): void {
  let depth = 0
  let uses: SvgUses | undefined
  parser.on('error', (error) => {
    throw error
  })
  parser.on('doctype', (text) => installEntities(parser, new XmlEntities(text, size), facts))
  let attributes = 0
  parser.on('attribute', () => {
    if (++attributes > maxAttributes)
      throw createMaliciousError('xml_attributes', `an element has more than ${maxAttributes} attributes`)
  })
  parser.on('opentag', (tag) => {
    attributes = 0
    if (depth === 0) {
      facts.root = tag.name
      facts.rootNamespace = (tag.attributes as Record<string, string>).xmlns
    }
    if (depth === 0 && isSvg(facts)) uses = new SvgUses()
    uses?.openElement(tag.name, tag.attributes as Record<string, string>)
    if (isSvg(facts) || /^html$/i.test(facts.root))
      collectActiveContent(tag.name, tag.attributes as Record<string, string>, facts.active)
    if (++depth > limits.maxDepth)
      throw createMaliciousError('xml_nesting', `elements are nested more than ${limits.maxDepth} levels deep`)
  })
  parser.on('closetag', () => {
    uses?.closeElement()
    if (--depth === 0) uses?.checkTotal()
  })
}

function collectActiveContent(name: string, attributes: Record<string, string>, active: Set<string>): void {
  if (/^(.*:)?script$/i.test(name)) active.add('script')
  if (/^(.*:)?foreignObject$/i.test(name)) active.add('foreignObject')
  const loads = /^(.*:)?(image|use|feImage|script|iframe|embed|object|img)$/i.test(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (/^on\w+$/i.test(key)) active.add('event handler')
    // Browsers ignore white space and control characters in URL schemes, so they are removed before the comparison.
    if (/^javascript:/i.test(value.replace(/[\0-\x20]+/g, ''))) active.add('javascript: link')
    if (loads && /^(.*:)?(href|src|data)$/i.test(key) && /^\s*(https?:)?\/\//i.test(value)) active.add('external reference')
  }
}

// Counts each use of an entity through `parser.ENTITIES`, in which the parser looks up every `&name;`.
function installEntities(parser: SaxesParser, entities: XmlEntities, facts: XmlFacts): void {
  if (entities.external.length > 0)
    facts.notes.push(`the file refers to ${entities.external.length} external entities, which were not fetched`)
  const plain = parser.ENTITIES
  parser.ENTITIES = new Proxy(plain, {
    get: (target, name) => (typeof name === 'string' ? (target[name] ?? entities.getReplacement(name)) : undefined),
  })
}

const codePage = /^(?:cs)?(?:x-)?(?:ibm|cp|dos|mac|koi|iso-?8859|windows|hp|tis|viscii|georgian|armscii)[-_]?[a-z0-9_-]*$/

function getDeclaredEncoding(start: Buffer, hasByteOrderMark: boolean): string {
  if (hasByteOrderMark) return 'utf-8'
  const declared = /^<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.-]*)["']/.exec(start.toString('latin1'))?.[1]?.toLowerCase()
  // The bytes are not UTF-16, so the declaration is wrong. Some programs convert the text but not its declaration.
  if (!declared || declared.startsWith('utf-16') || declared.startsWith('ucs')) return 'utf-8'
  try {
    return new TextDecoder(declared).encoding
  } catch {
    // XML parsers also support DOS, IBM and Macintosh code pages. Their markup is ASCII, so decoding it as Latin-1 is sufficient.
    if (codePage.test(declared)) return 'latin1'
    throw new Error(`the encoding '${declared.slice(0, 40)}' is unknown`)
  }
}

function describeError(error: unknown): string {
  if ((error as { code?: unknown }).code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
    return 'some bytes are invalid in the declared encoding'
  const message = error instanceof Error ? error.message : String(error)
  return message.slice(0, 200)
}
