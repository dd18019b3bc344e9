import type { Content } from '../body/content.js'
import { readRange } from './memory-content.js'
import { type EncryptionFacts, opensWithoutPassword } from './pdf-password.js'

const reach = 1024 * 1024

/**
 * How a PDF is encrypted so that nobody without its password can read it; undefined where it is not. Many PDFs are encrypted only to forbid
 * printing: their user password is empty, and clamd reads them like every viewer does. [ISO 32000-2, 7.6]
 */
export async function pdfEncryption(content: Content): Promise<string | undefined> {
  const tail = (await readRange(content, content.size - 2048, content.size)).toString('latin1')
  const startxref = Number(/startxref\s+(\d+)\s+%%EOF\s*$/.exec(tail)?.[1] ?? content.size)
  const trailer = tail + (await readRange(content, startxref, startxref + 2048)).toString('latin1')
  const reference = /\/Encrypt\s+(\d+)\s+(\d+)\s+R/.exec(trailer)
  const inline = /\/Encrypt\s*<</.exec(trailer)
  if (!reference && !inline) return undefined
  const dictionary = inline ? trailer.slice(inline.index) : await findObject(content, `${reference?.[1]} ${reference?.[2]} obj`)
  if (!dictionary) return 'its encryption cannot be found'
  const facts = readFacts(dictionary, trailer)
  if (!facts) return 'not by password'
  return opensWithoutPassword(facts) ? undefined : 'it wants a password'
}

/** The encryption dictionary is never inside a packed stream: [ISO 32000-2, 7.5.7]. Writers put it at one of the ends. */
async function findObject(content: Content, marker: string): Promise<string | undefined> {
  const after = new RegExp(`(?<![0-9])${marker}\\b`)
  for (const start of [content.size - reach, 0]) {
    const text = (await readRange(content, start, start + reach)).toString('latin1')
    const found = after.exec(text)
    if (found) return text.slice(found.index, found.index + 8192)
    if (content.size <= reach) return undefined
  }
  return undefined
}

function readFacts(dictionary: string, trailer: string): EncryptionFacts | undefined {
  const number = (key: string) => Number(new RegExp(`/${key}\\s+(-?\\d+)`).exec(dictionary)?.[1] ?? Number.NaN)
  const revision = number('R')
  const owner = readString(dictionary, /\/O(?![A-Za-z])\s*/)
  const user = readString(dictionary, /\/U(?![A-Za-z])\s*/)
  if (!/\/Filter\s*\/Standard/.test(dictionary) || !owner || !user || Number.isNaN(revision)) return undefined
  return {
    revision,
    owner,
    user,
    permissions: number('P'),
    // Revision 2 knows 40 bits only; in a crypt filter's own dictionary Length may count bytes.
    keyBytes: revision === 2 ? 5 : keyBytes(number('Length'), number('V')),
    id: readString(trailer, /\/ID\s*\[\s*/) ?? Buffer.alloc(0),
    metadata: !/\/EncryptMetadata\s+false/.test(dictionary),
  }
}

function keyBytes(length: number, version: number): number {
  if (version === 4) return 16
  if (Number.isNaN(length)) return 5
  return length >= 40 ? Math.floor(length / 8) : length
}

/** A string of a PDF, `(…)` with its escapes or `<hex>`, that follows `key`. [ISO 32000-2, 7.3.4] */
function readString(text: string, key: RegExp): Buffer | undefined {
  const found = key.exec(text)
  if (!found) return undefined
  const rest = text.slice(found.index + found[0].length)
  const hex = /^<([0-9A-Fa-f\s]*)>/.exec(rest)?.[1]
  if (hex !== undefined) return Buffer.from(hex.replace(/\s/g, ''), 'hex')
  return rest.startsWith('(') ? readLiteral(rest) : undefined
}

const escapes: Record<string, string> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }

function readLiteral(text: string): Buffer {
  let value = ''
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const char = text[at] as string
    if (char === '\\') {
      const octal = /^[0-7]{1,3}/.exec(text.slice(at + 1, at + 4))?.[0]
      const next = text[at + 1] ?? ''
      if (octal) value += String.fromCharCode(Number.parseInt(octal, 8) & 0xff)
      else if (next !== '\n' && next !== '\r') value += escapes[next] ?? next
      at += octal ? octal.length : 1
      continue
    }
    if (char === '(' && depth++ === 0) continue
    if (char === ')' && --depth === 0) break
    value += char
  }
  return Buffer.from(value, 'latin1')
}
