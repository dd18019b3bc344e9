import type { RandomAccessSource } from '../random-access-source.js'

/** Size of each field type in bytes (TIFF 6.0, section 2). Types 13 and 16 to 18 come from later supplements. */
const typeSizes = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8]

interface Field {
  type: number
  count: number
  offset: number
  /** File offset of the directory entry. */
  entryAt: number
}

/** Reads the directories of a TIFF or BigTIFF. Counts in the file never determine the size of an allocation. */
export class TiffReader {
  private constructor(
    private readonly source: RandomAccessSource,
    private readonly little: boolean,
    private readonly big: boolean,
    readonly first: number,
  ) {}

  static open(source: RandomAccessSource): TiffReader | undefined {
    const head = source.read(0, 16)
    const order = head.toString('latin1', 0, 2)
    if (head.length < 8 || (order !== 'II' && order !== 'MM')) return undefined
    const little = order === 'II'
    const version = little ? head.readUInt16LE(2) : head.readUInt16BE(2)
    if (version === 42) return new TiffReader(source, little, false, little ? head.readUInt32LE(4) : head.readUInt32BE(4))
    if (version !== 43 || head.length < 16) return undefined
    return new TiffReader(source, little, true, Number(little ? head.readBigUInt64LE(8) : head.readBigUInt64BE(8)))
  }

  readDirectory(offset: number): { fields: Map<number, Field>; next: number | undefined } | undefined {
    const countSize = this.big ? 8 : 2
    const entrySize = this.big ? 20 : 12
    const count = this.readNumber(offset, countSize)
    if (count === undefined || count === 0 || count > 0xffff) return undefined
    const entries = this.source.read(offset + countSize, count * entrySize)
    if (entries.length < count * entrySize) return undefined
    const fields = new Map<number, Field>()
    for (let index = 0; index < count; index++) {
      const at = offset + countSize + index * entrySize
      const field = this.parseField(entries.subarray(index * entrySize), at)
      // Readers use the first field of a repeated tag, so later ones are ignored.
      if (!fields.has(field.tag)) fields.set(field.tag, field)
    }
    return { fields, next: this.readNumber(offset + countSize + count * entrySize, this.big ? 8 : 4) }
  }

  private parseField(entry: Buffer, position: number): Field & { tag: number } {
    const tag = this.little ? entry.readUInt16LE(0) : entry.readUInt16BE(0)
    const type = this.little ? entry.readUInt16LE(2) : entry.readUInt16BE(2)
    const width = this.big ? 8 : 4
    const count = this.decodeNumber(entry, 4, width)
    const inline = (typeSizes[type] ?? 1) * count <= width
    const place = position + 4 + width
    return { tag, type, count, offset: inline ? place : this.decodeNumber(entry, 4 + width, width), entryAt: position }
  }

  /** Encodes a directory entry with a single 16-bit value. */
  encodeEntry(tag: number, value: number): Buffer {
    const bytes = Buffer.alloc(this.big ? 20 : 12)
    const writeUint16 = (number: number, offset: number) =>
      this.little ? bytes.writeUInt16LE(number, offset) : bytes.writeUInt16BE(number, offset)
    writeUint16(tag, 0)
    writeUint16(3, 2)
    const width = this.big ? 8 : 4
    writeUint16(1, this.little ? 4 : 2 + width)
    writeUint16(value, 4 + width)
    return bytes
  }

  readValue(field: Field | undefined, index = 0): number | undefined {
    if (!field || index >= field.count) return undefined
    const size = typeSizes[field.type] ?? 0
    if (![1, 2, 4, 8].includes(size) || [5, 10, 11, 12].includes(field.type)) return undefined
    return this.readNumber(field.offset + index * size, size)
  }

  *readValues(field: Field): Generator<number> {
    const size = typeSizes[field.type] ?? 0
    if (![1, 2, 4, 8].includes(size)) return
    const step = 8192
    for (let index = 0; index < field.count; index += step) {
      const wanted = Math.min(step, field.count - index)
      const bytes = this.source.read(field.offset + index * size, wanted * size)
      for (let at = 0; at + size <= bytes.length; at += size) yield this.decodeNumber(bytes, at, size)
      if (bytes.length < wanted * size) return
    }
  }

  /** Returns the encoded values of a field, or undefined if they are truncated or exceed `maxBytes`. */
  readArray({ type, count, offset }: Field, maxBytes: number): Buffer[] | undefined {
    const size = typeSizes[type] ?? 0
    if (size === 0 || count * size > maxBytes) return undefined
    const bytes = this.source.read(offset, count * size)
    if (bytes.length < count * size) return undefined
    return Array.from({ length: count }, (_, index) => bytes.subarray(index * size, (index + 1) * size))
  }

  private readNumber(offset: number, size: number): number | undefined {
    if (offset < 0 || !Number.isSafeInteger(offset) || offset + size > this.source.size) return undefined
    return this.decodeNumber(this.source.read(offset, size), 0, size)
  }

  private decodeNumber(bytes: Buffer, offset: number, size: number): number {
    if (size === 8) return Number(this.little ? bytes.readBigUInt64LE(offset) : bytes.readBigUInt64BE(offset))
    return this.little ? bytes.readUIntLE(offset, size) : bytes.readUIntBE(offset, size)
  }
}

export type TiffField = Field
export type TiffFields = Map<number, Field>
