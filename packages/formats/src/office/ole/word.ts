import { createDamageError } from '../../format-error.js'
import type { OleContainer } from './container.js'
import type { OleFacts } from './facts.js'
import type { OleStream } from './stream.js'

const word97 = 0xa5ec
const word95 = 0xa5dc
const encryptedFlag = 0x0100
const tableFlag = 0x0200

/** Checks the file information block (FIB) and, for Word 97 and later, the piece table ([MS-DOC] 2.5). */
export function checkWordDocument(container: OleContainer): OleFacts {
  const entry = container.findStream('WordDocument')
  if (!entry) throw createDamageError('the compound file has no WordDocument stream, so it is not a Word document')
  const document = container.openStream(entry)
  const base = document.read(0, 32)
  if (base.length < 32) throw createDamageError('the WordDocument stream is too short for a Word document')
  const magic = base.readUInt16LE(0)
  const version = base.readUInt16LE(2)
  if (magic !== word97 && magic !== word95)
    throw createDamageError('the WordDocument stream does not start with the header of a Word document')
  const flags = base.readUInt16LE(10)
  const encrypted = (flags & encryptedFlag) !== 0
  // Word 6 and Word 95 store everything in the WordDocument stream.
  if (magic === word97 && version >= 0x00c1)
    checkTableStream(container, document, flags & tableFlag ? '1Table' : '0Table', encrypted)
  return { stream: entry.name, encrypted, active: !encrypted && hasDdeField(document) ? ['DDE field'] : [] }
}

const windowBytes = 64 * 1024

/** Searches for a DDE field. Fields start with U+0013, stored in 8 or 16 bits ([MS-DOC] 2.8.25). */
function hasDdeField(document: OleStream): boolean {
  for (let at = 0; at < document.size; at += windowBytes - 64) {
    const text = document.read(at, windowBytes).toString('latin1').replaceAll('\0', '')
    if (/\x13\s*DDE(?:AUTO)?\s/i.test(text)) return true
  }
  return false
}

export function isEncryptedWord(container: OleContainer): boolean {
  const entry = container.findStream('WordDocument')
  const base = entry && container.openStream(entry).read(0, 12)
  return base?.length === 12 && (base.readUInt16LE(10) & encryptedFlag) !== 0
}

function checkTableStream(container: OleContainer, document: OleStream, name: string, encrypted: boolean): void {
  const entry = container.findStream(name)
  if (!entry) throw createDamageError(`the ${name} stream required by the Word document is missing`)
  const table = container.openStream(entry)
  // In an encrypted document, only the first bytes of the file information block are readable, so the piece table cannot be
  // located.
  if (encrypted) return
  const place = document.read(0x1a2, 8)
  if (place.length < 8) throw createDamageError("the Word document's file information block is truncated")
  const offset = place.readUInt32LE(0)
  const length = place.readUInt32LE(4)
  if (offset + length > table.size)
    throw createDamageError("the Word document's chunk table extends beyond the end of its stream")
  if (length === 0) return
  checkPieceTable(table, offset, offset + length)
}

/** Checks that formatting runs (type 1), if any, precede a piece table (type 2) that fits into the remaining bytes. */
function checkPieceTable(table: OleStream, start: number, end: number): void {
  let at = start
  for (let head = table.read(at, 5); head[0] === 1 && at + 3 <= end; head = table.read(at, 5)) at += 3 + head.readUInt16LE(1)
  const head = table.read(at, 5)
  if (head.length < 5 || head[0] !== 2 || at + 5 + head.readUInt32LE(1) > end)
    throw createDamageError("the Word document's chunk table is damaged")
}
