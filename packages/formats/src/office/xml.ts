import { TextDecoder } from 'node:util'
import { SaxesParser } from 'saxes'
import { checkDeadline, type ReaderLimits } from '../format.js'
import { createDamageError, createMaliciousError, FormatError } from '../format-error.js'
import type { PartSink } from '../member-observer.js'

export interface XmlElement {
  name: string
  attributes: Record<string, string>
}

interface XmlPartOptions {
  limits: ReaderLimits
  root?: string
  /** Policy for document type declarations. Office rejects all of them. Other programs reject only those with entities. */
  doctype: 'refused' | 'without entities'
  onElement?: (element: XmlElement) => void
}

// For larger parts, only the checksum is verified, because parsing them would take too long.
const maxParsedBytes = 64 * 1024 * 1024
// Maximum number of bytes between two parser events. The parser buffers whole text nodes, comments and attributes in memory.
const maxRun = 16 * 1024 * 1024
const maxPrologue = 2 * 1024 * 1024
const sniffedBytes = 256

/** Parses an XML part while it is unpacked. Throws a `FormatError` if it is not well-formed. */
export class XmlPart implements PartSink {
  private readonly parser = new SaxesParser({ xmlns: false, position: false })
  private decoder?: TextDecoder
  private start: Buffer | undefined = Buffer.alloc(0)
  private depth = 0
  private parsed = 0
  private sinceEvent = 0
  private rootSeen = false

  constructor(
    private readonly name: string,
    private readonly options: XmlPartOptions,
  ) {
    this.parser.on('opentag', ({ name: tag, attributes }) => this.openElement(tag, attributes as Record<string, string>))
    this.parser.on('closetag', () => {
      this.depth--
      this.sinceEvent = 0
    })
    this.parser.on('doctype', (text) => this.checkDoctype(text))
  }

  write(chunk: Buffer): void {
    if (this.parsed > maxParsedBytes) return
    this.parsed += chunk.length
    if (this.start === undefined) {
      this.parseChunk(chunk)
      return
    }
    this.start = this.start.length === 0 ? chunk : Buffer.concat([this.start, chunk])
    if (this.start.length >= sniffedBytes) this.startParsing()
    // The chunk is valid only during this call, so it is copied.
    else this.start = Buffer.from(this.start)
  }

  end(): void {
    if (this.parsed > maxParsedBytes) return
    if (this.start !== undefined) this.startParsing()
    this.catchXmlError(() => {
      this.parser.write(this.decoder!.decode())
      this.parser.close()
    })
    if (!this.rootSeen) throw createDamageError(`the part ${this.name} contains no XML`)
  }

  private startParsing(): void {
    const start = this.start!
    this.start = undefined
    const encoding = detectEncoding(start)
    try {
      this.decoder = new TextDecoder(encoding, { fatal: true })
    } catch {
      throw createDamageError(`the part ${this.name} has the unknown encoding '${encoding.slice(0, 40)}'`)
    }
    this.parseChunk(start)
  }

  private parseChunk(chunk: Buffer): void {
    checkDeadline(this.options.limits)
    this.sinceEvent += chunk.length
    // The limit for a document type declaration is lower, because the parser needs several times its size in memory.
    const maxLength = this.rootSeen ? maxRun : maxPrologue
    if (this.sinceEvent > maxLength)
      throw createMaliciousError('xml_size', `the part ${this.name} contains more than ${maxLength} bytes without a tag`)
    this.catchXmlError(() => this.parser.write(this.decoder!.decode(chunk, { stream: true })))
  }

  private catchXmlError(work: () => void): void {
    try {
      work()
    } catch (error) {
      if (error instanceof FormatError) throw error
      throw createDamageError(`the part ${this.name} is not well-formed XML: ${(error as Error).message.slice(0, 200)}`)
    }
  }

  private openElement(tag: string, attributes: Record<string, string>): void {
    this.sinceEvent = 0
    if (++this.depth > this.options.limits.maxDepth) {
      throw createMaliciousError(
        'xml_depth',
        `the part ${this.name} has elements nested more than ${this.options.limits.maxDepth} levels deep`,
      )
    }
    const name = getLocalName(tag)
    const { root, onElement } = this.options
    if (!this.rootSeen && root !== undefined && name !== root)
      throw createDamageError(`the root element of the part ${this.name} is <${name.slice(0, 40)}>, not <${root}>`)
    this.rootSeen = true
    onElement?.({ name, attributes })
  }

  private checkDoctype(text: string): void {
    if (this.options.doctype === 'refused')
      throw createMaliciousError('xml_doctype', `the part ${this.name} declares a document type, which is typical of XML bombs`)
    if (/<!ENTITY/i.test(text)) throw createMaliciousError('xml_entities', `the part ${this.name} defines XML entities`)
  }
}

export function parseXmlPart(name: string, bytes: Buffer, options: XmlPartOptions): void {
  const part = new XmlPart(name, options)
  part.write(bytes)
  part.end()
}

/** Returns an attribute's value by its local name, because prefixes vary. */
export function getAttribute(element: XmlElement, name: string): string | undefined {
  const key = Object.keys(element.attributes).find((candidate) => getLocalName(candidate) === name)
  return key === undefined ? undefined : element.attributes[key]
}

const getLocalName = (name: string) => name.slice(name.indexOf(':') + 1)

function detectEncoding(start: Buffer): string {
  const hex = start.toString('hex', 0, 4)
  if (hex.startsWith('efbbbf')) return 'utf-8'
  if (hex.startsWith('fffe') || hex.startsWith('3c00')) return 'utf-16le'
  if (hex.startsWith('feff') || hex.startsWith('003c')) return 'utf-16be'
  const declared = /^<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']/.exec(start.toString('latin1', 0, sniffedBytes))?.[1]
  // The bytes are not UTF-16, so a UTF-16 declaration is wrong.
  return declared === undefined || /^utf-?16/i.test(declared) ? 'utf-8' : declared
}
