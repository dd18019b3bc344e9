import { createDecipheriv, createHash } from 'node:crypto'
import type { RandomAccessSource } from '../random-access-source.js'
import { applyRc4, type EncryptionFacts, getKeyForEmptyPassword } from './password.js'

const searchBytes = 1024 * 1024

/** Encryption of a PDF. `closed` states why the PDF cannot be decrypted. Many encrypted PDFs open without a password. */
export interface PdfEncryption {
  closed?: string
  decrypt(data: Buffer, number: number, generation: number): Buffer
}

/** Reads the encryption dictionary (ISO 32000-2, 7.6). Returns undefined if the PDF is not encrypted. */
export function readEncryption(source: RandomAccessSource): PdfEncryption | undefined {
  const tail = source.read(Math.max(0, source.size - 2048), 2048).toString('latin1')
  const startxref = Number(/startxref\s+(\d+)\s+%%EOF\s*$/.exec(tail)?.[1] ?? source.size)
  const trailer = tail + source.read(startxref, 2048).toString('latin1')
  const reference = /\/Encrypt\s+(\d+)\s+(\d+)\s+R/.exec(trailer)
  const inline = /\/Encrypt\s*<</.exec(trailer)
  if (!reference && !inline) return undefined
  const dictionary = inline ? trailer.slice(inline.index) : findObject(source, `${reference?.[1]} ${reference?.[2]} obj`)
  if (!dictionary) return createUndecryptableEncryption('the encryption dictionary cannot be found')
  const facts = readEncryptionFacts(dictionary, trailer)
  if (!facts) return createUndecryptableEncryption('the encryption does not use a password')
  const key = getKeyForEmptyPassword(facts)
  if (!key) return createUndecryptableEncryption('it requires a password')
  return { decrypt: (data, number, generation) => decryptData(data, { key, method: facts.method, number, generation }) }
}

const createUndecryptableEncryption = (reason: string): PdfEncryption => ({ closed: reason, decrypt: (data) => data })

/** Finds an object near the start or end of the file. Encryption dictionaries are never compressed (ISO 32000-2, 7.5.7). */
function findObject(source: RandomAccessSource, marker: string): string | undefined {
  const after = new RegExp(`(?<![0-9])${marker}\\b`)
  for (const start of [Math.max(0, source.size - searchBytes), 0]) {
    const text = source.read(start, searchBytes).toString('latin1')
    const found = after.exec(text)
    if (found) return text.slice(found.index, found.index + 8192)
    if (source.size <= searchBytes) return undefined
  }
  return undefined
}

type Method = 'rc4' | 'aes-128' | 'aes-256' | 'none'

interface Facts extends EncryptionFacts {
  method: Method
}

function readEncryptionFacts(dictionary: string, trailer: string): Facts | undefined {
  const readNumber = (key: string) => Number(new RegExp(`/${key}\\s+(-?\\d+)`).exec(dictionary)?.[1] ?? Number.NaN)
  const revision = readNumber('R')
  const owner = readStringValue(dictionary, /\/O(?![A-Za-z])\s*/)
  const user = readStringValue(dictionary, /\/U(?![A-Za-z])\s*/)
  if (!/\/Filter\s*\/Standard/.test(dictionary) || !owner || !user || Number.isNaN(revision)) return undefined
  return {
    revision,
    owner,
    user,
    userKey: readStringValue(dictionary, /\/UE\s*/) ?? Buffer.alloc(0),
    permissions: readNumber('P'),
    // Revision 2 supports only 40 bits. `Length` is in bits, or in bytes in a crypt filter.
    keyBytes: revision === 2 ? 5 : getKeyLength(readNumber('Length'), readNumber('V')),
    id: readStringValue(trailer, /\/ID\s*\[\s*/) ?? Buffer.alloc(0),
    metadata: !/\/EncryptMetadata\s+false/.test(dictionary),
    method: getEncryptionMethod(dictionary, readNumber('V')),
  }
}

function getEncryptionMethod(dictionary: string, version: number): Method {
  if (version < 4) return 'rc4'
  const filter = /\/StmF\s*\/(\w+)/.exec(dictionary)?.[1] ?? 'Identity'
  if (filter === 'Identity') return 'none'
  const declared = /\/CFM\s*\/(\w+)/.exec(dictionary.slice(Math.max(0, dictionary.search(new RegExp(`/${filter}\\s*<<`)))))?.[1]
  return declared === 'AESV2' ? 'aes-128' : declared === 'AESV3' ? 'aes-256' : 'rc4'
}

function getKeyLength(length: number, version: number): number {
  if (version === 4) return 16
  if (Number.isNaN(length)) return 5
  return length >= 40 ? Math.floor(length / 8) : length
}

interface Cipher {
  key: Buffer
  method: Method
  number: number
  generation: number
}

/** Decrypts data with algorithm 1 or 1.A (ISO 32000-2, 7.6). Discards an incomplete last block. */
function decryptData(data: Buffer, { key, method, number, generation }: Cipher): Buffer {
  if (method === 'none') return data
  if (method === 'rc4') return applyRc4(deriveObjectKey(key, number, generation), data)
  const whole = data.length - (data.length % 16)
  if (whole < 32) return Buffer.alloc(0)
  const [name, aesKey] =
    method === 'aes-256' ? ['aes-256-cbc', key] : ['aes-128-cbc', deriveObjectKey(key, number, generation, Buffer.from('sAlT'))]
  const decipher = createDecipheriv(name as string, aesKey as Buffer, data.subarray(0, 16)).setAutoPadding(false)
  return Buffer.concat([decipher.update(data.subarray(16, whole)), decipher.final()])
}

function deriveObjectKey(key: Buffer, number: number, generation: number, salt = Buffer.alloc(0)): Buffer {
  const place = Buffer.from([number, number >> 8, number >> 16, generation, generation >> 8])
  return createHash('md5')
    .update(Buffer.concat([key, place, salt]))
    .digest()
    .subarray(0, Math.min(16, key.length + 5))
}

function readStringValue(text: string, key: RegExp): Buffer | undefined {
  const found = key.exec(text)
  if (!found) return undefined
  const rest = text.slice(found.index + found[0].length)
  const hex = /^<([0-9A-Fa-f\s]*)>/.exec(rest)?.[1]
  if (hex !== undefined) return Buffer.from(hex.replace(/\s/g, ''), 'hex')
  return rest.startsWith('(') ? readLiteralString(rest) : undefined
}

const escapes: Record<string, string> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }

function readLiteralString(text: string): Buffer {
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
