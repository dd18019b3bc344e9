import { toPartKey } from '../archive/zip/package.js'
import type { PartSink } from '../member-observer.js'

/** Types of external relationships that Office opens only after a click or a confirmation. */
const clickTypes = /\/(hyperlink|externalLinkPath|externalLink|xlExternalLinkPath|video|audio|media)$/i
const remoteTarget = /^(?:https?|ftp|mhtml|mk|ms-its):|^(?:file:)?(?:\/\/|\\\\)(?![/\\][a-z]:)/i
const maxChars = 4 * 1024 * 1024
const maxTagLength = 8 * 1024

/** Collects content that Office runs or loads without a click. Reads the parts while they are unpacked. */
export class OfficeActiveContent {
  readonly found = new Set<string>()

  /** Returns a sink for a part that may have active content, and undefined for any other part. */
  createSink(name: string): PartSink | undefined {
    const part = toPartKey(name)
    if (part.endsWith('.rels')) return new TextCollector((text) => this.#searchRelationships(text))
    if (part.startsWith('xl/externallinks/'))
      return new TextCollector((text) => /<(?:\w+:)?ddeLink\b/.test(text) && this.found.add('DDE link'))
    if (/^word\/[^/]+\.xml$/.test(part)) return new FieldCollector((instructions) => this.#searchFields(instructions))
    return undefined
  }

  #searchRelationships(text: string): void {
    if (!/TargetMode\s*=\s*["']External/i.test(text)) return
    for (const [element] of text.matchAll(/<(?:\w+:)?Relationship\s[^>]*>/g)) {
      const getRelationshipAttribute = (name: string) =>
        new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, 'i')
          .exec(element)
          ?.slice(1)
          .find((each) => each !== undefined) ?? ''
      const type = getRelationshipAttribute('Type')
      if (
        !/^external$/i.test(getRelationshipAttribute('TargetMode')) ||
        clickTypes.test(type) ||
        !remoteTarget.test(unescapeXml(getRelationshipAttribute('Target')).trim())
      )
        continue
      this.found.add(
        /\/attachedTemplate$/i.test(type) ? 'remote template' : `external reference (${/[^/]{0,40}$/.exec(type)![0]})`,
      )
    }
  }

  #searchFields(instructions: string): void {
    if (/DDE(?:AUTO)?[\s"]/i.test(instructions)) this.found.add('DDE field')
    if (/INCLUDE(?:PICTURE|TEXT)\s+"?(?:https?:|\\\\)/i.test(instructions)) this.found.add('external reference (field)')
  }
}

class TextCollector implements PartSink {
  #text = ''
  constructor(private readonly onEnd: (text: string) => void) {}

  write(chunk: Buffer): void {
    if (this.#text.length < maxChars) this.#text += chunk.toString('latin1').replaceAll('\0', '')
  }

  end(): void {
    this.onEnd(this.#text)
  }
}

/** Collects Word field instructions, which can be split into many elements. */
class FieldCollector implements PartSink {
  #instructions = ''
  #carried = ''
  constructor(private readonly onEnd: (instructions: string) => void) {}

  write(chunk: Buffer): void {
    const text = this.#carried + chunk.toString('latin1').replaceAll('\0', '')
    let end = 0
    // The pattern is slow, so it is applied only to text that contains field instructions.
    if (text.includes('instr'))
      for (const match of text.matchAll(/<\w+:instrText\b[^>]*>([^<]*)<|\s\w+:instr\s*=\s*"([^"]*)"/g)) {
        if (this.#instructions.length < maxChars) this.#instructions += unescapeXml(match[1] ?? ` ${match[2]} `)
        end = match.index + match[0].length - 1
      }
    this.#carried = text.slice(Math.max(end, text.length - maxTagLength))
  }

  end(): void {
    this.onEnd(this.#instructions)
  }
}

const unescapeXml = (text: string): string =>
  text
    .replace(/&#(x[0-9a-f]{1,6}|\d{1,7});/gi, (_, code: string) => {
      const point = /^x/i.test(code) ? Number.parseInt(code.slice(1), 16) : Number(code)
      return point <= 0x10ffff ? String.fromCodePoint(point) : ''
    })
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
