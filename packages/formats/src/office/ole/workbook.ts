import { createDamageError } from '../../format-error.js'
import type { OleContainer } from './container.js'
import type { OleFacts } from './facts.js'
import type { OleStream } from './stream.js'

const bofRecords = new Set([0x0809, 0x0409, 0x0209, 0x0009])
const eof = 0x000a
const filePass = 0x002f
const boundSheet = 0x0085
const supBook = 0x01ae
const macroSheet = 1
const maxRecords = 5_000_000

export function checkWorkbook(container: OleContainer): OleFacts {
  const entry = container.findStream('Workbook') ?? container.findStream('Book')
  if (!entry)
    throw createDamageError('the compound file has neither a Workbook nor a Book stream, so it is not an Excel workbook')
  const stream = container.openStream(entry)
  const start = stream.read(0, 4)
  if (start.length < 4 || !bofRecords.has(start.readUInt16LE(0)))
    throw createDamageError(`the ${entry.name} stream does not start with the header of an Excel workbook`)
  const { sheets, encrypted, active } = readWorkbookGlobals(stream)
  for (const position of sheets) {
    const head = stream.read(position, 4)
    if (head.length < 4 || !bofRecords.has(head.readUInt16LE(0)))
      throw createDamageError('a sheet in the Excel workbook is not at the declared offset')
  }
  return { stream: entry.name, encrypted, active: [...active] }
}

// Number of records to search for the encryption record, which is one of the first.
const leadingRecords = 64

export function isEncryptedWorkbook(container: OleContainer): boolean {
  const entry = container.findStream('Workbook') ?? container.findStream('Book')
  if (!entry) return false
  const records = new RecordReader(container.openStream(entry))
  for (let count = 0; count < leadingRecords; count++) {
    const record = records.readNext()
    if (!record || record.type === filePass) return record !== undefined
  }
  return false
}

function readWorkbookGlobals(stream: OleStream): { sheets: number[]; encrypted: boolean; active: Set<string> } {
  const records = new RecordReader(stream)
  const sheets: number[] = []
  const active = new Set<string>()
  let encrypted = false
  for (let count = 0; count < maxRecords; count++) {
    const record = records.readNext()
    if (!record) throw createDamageError('the Excel workbook is truncated within a record')
    if (record.type === eof) return { sheets, encrypted, active }
    if (record.type === filePass) encrypted = true
    if (record.type === boundSheet && record.length >= 6) {
      sheets.push(records.readUint32(record.at))
      if (records.readBytes(record.at + 5, 1)[0] === macroSheet) active.add('XLM macros')
    }
    // A DDE link contains a program name and a topic, separated by U+0003 ([MS-XLS] 2.5.277).
    if (record.type === supBook && !encrypted && records.readBytes(record.at + 4, record.length - 4).includes(3))
      active.add('DDE or OLE link')
  }
  throw createDamageError("the Excel workbook's globals have no end record")
}

/** Iterates over BIFF records through a window, because a separate read for each small record would be slow. */
class RecordReader {
  private window: Buffer = Buffer.alloc(0)
  private windowAt = 0
  private position = 0

  constructor(private readonly stream: OleStream) {}

  readNext(): { type: number; length: number; at: number } | undefined {
    const head = this.readBytes(this.position, 4)
    if (head.length < 4) return undefined
    const record = { type: head.readUInt16LE(0), length: head.readUInt16LE(2), at: this.position + 4 }
    this.position = record.at + record.length
    return this.position > this.stream.size ? undefined : record
  }

  readUint32(offset: number): number {
    return this.readBytes(offset, 4).readUInt32LE(0)
  }

  readBytes(offset: number, length: number): Buffer {
    if (offset < this.windowAt || offset + length > this.windowAt + this.window.length) {
      this.window = this.stream.read(offset, 64 * 1024)
      this.windowAt = offset
    }
    return this.window.subarray(offset - this.windowAt, offset - this.windowAt + length)
  }
}
