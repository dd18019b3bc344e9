import { createMaliciousError } from '../format-error.js'
import type { PartSink } from '../member-observer.js'
import { XmlEntities } from '../text/xml-entities.js'

const searchedBytes = 64 * 1024

/** True if programs parse a part with this name as XML. */
export const isXmlPart = (name: string): boolean => /\.(xml|rels|vml|xhtml|html|htm|opf|ncx|rdf)$/i.test(name)

/** Detects entity bombs in parts that are not fully parsed, such as custom XML and e-book pages. */
export class EntityBombDetector implements PartSink {
  private start: Buffer = Buffer.alloc(0)

  constructor(private readonly name: string) {}

  write(chunk: Buffer): void {
    if (this.start.length < searchedBytes)
      this.start = Buffer.concat([this.start, chunk.subarray(0, searchedBytes - this.start.length)])
  }

  end(): void {
    // Markup is ASCII, so removing zero bytes is sufficient to read UTF-16.
    const text = this.start.toString('latin1').replaceAll('\0', '')
    const at = text.search(/<!DOCTYPE/i)
    if (at < 0) return
    const entities = new XmlEntities(text.slice(at), 0)
    if (entities.expandsTooMuch)
      throw createMaliciousError('xml_entities', `the part ${this.name.slice(0, 100)} contains an XML entity bomb`)
  }
}
