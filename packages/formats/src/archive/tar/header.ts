import { createDamageError, type FormatError } from '../../format-error.js'

export const tarBlock = 512

export interface TarHeader {
  name: string
  linkName: string
  type: string
  size: number
  sparse?: { realSize: number; extended: boolean }
}

export function looksLikeTar(block: Buffer): boolean {
  return block.length === tarBlock && block.toString('latin1', 257, 262) === 'ustar' && hasValidTarChecksum(block)
}

export const isZeroBlock = (block: Buffer) => block.every((byte) => byte === 0)

/** Validates the header checksum. Like other programs, accepts the sum of signed or unsigned bytes. */
export function hasValidTarChecksum(block: Buffer): boolean {
  const announced = parseOctal(block.subarray(148, 156))
  if (announced === undefined) return false
  let unsigned = 0
  let signed = 0
  for (let at = 0; at < tarBlock; at++) {
    const byte = at >= 148 && at < 156 ? 0x20 : block[at]!
    unsigned += byte
    signed += byte > 127 ? byte - 256 : byte
  }
  return announced === unsigned || announced === signed
}

/** Parses a header. `onError` receives errors that do not affect the position of the data. Other errors are thrown. */
export function readTarHeader(block: Buffer, onError: (error: FormatError) => void): TarHeader {
  const type = String.fromCharCode(block[156]!)
  const magic = block.toString('latin1', 257, 265)
  const gnu = magic === 'ustar  \0'
  try {
    parseNumber(block.subarray(100, 108), 'mode', 0, 0xffffffff)
    parseNumber(block.subarray(108, 116), 'user id', 0, 0xffffffff)
    parseNumber(block.subarray(116, 124), 'group id', 0, 0xffffffff)
    parseNumber(block.subarray(136, 148), 'time', -(2 ** 63), 2 ** 63)
  } catch (error) {
    onError(error as FormatError)
  }
  const size = parseNumber(block.subarray(124, 136), 'size', 0, Number.MAX_SAFE_INTEGER)
  const name = readText(block.subarray(0, 100))
  const prefix = magic.startsWith('ustar\0') ? readText(block.subarray(345, 500)) : ''
  const header: TarHeader = {
    name: prefix ? `${prefix}/${name}` : name,
    linkName: readText(block.subarray(157, 257)),
    type,
    // A hard link has no data in the archive, even if its size field is not 0.
    size: type === '1' ? 0 : size,
  }
  if (gnu && type === 'S') {
    header.sparse = {
      realSize: parseNumber(block.subarray(483, 495), 'sparse size', 0, Number.MAX_SAFE_INTEGER),
      extended: block[482] !== 0,
    }
  }
  return header
}

function readText(field: Buffer): string {
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end < 0 ? field.length : end)
}

/** Parses octal digits that may have leading spaces. Returns undefined for any other content. */
function parseOctal(field: Buffer): number | undefined {
  const found = /^\0? *([0-7]+)(?:[\0 ]|$)/.exec(field.toString('latin1'))
  return found ? Number.parseInt(found[1]!, 8) : undefined
}

/** Parses octal digits or GNU tar's base-256 encoding. An empty field is 0. Other content is an error, as in GNU tar. */
function parseNumber(field: Buffer, fieldName: string, min: number, max: number): number {
  const value = field[0]! & 0x80 ? parseBase256(field) : (parseOctal(field) ?? parseBlankField(field, fieldName))
  if (value < min || value > max) throw createDamageError(`the ${fieldName} in a tar header is out of range`)
  return value
}

function parseBase256(field: Buffer): number {
  const negative = (field[0]! & 0x40) !== 0
  let value = negative ? -1n : 0n
  for (const [index, byte] of field.entries()) value = (value << 8n) | BigInt(index === 0 && !negative ? byte & 0x7f : byte)
  return Number(value)
}

function parseBlankField(field: Buffer, fieldName: string): number {
  const written = field.toString('latin1')
  if (/^\0? *\0/.test(written) || /^\0? *[-+]/.test(written)) return 0
  throw createDamageError(`the ${fieldName} in a tar header is not a number`)
}
