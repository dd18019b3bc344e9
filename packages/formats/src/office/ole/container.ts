import { checkDeadline, type ReaderLimits } from '../../format.js'
import { createDamageError, createMaliciousError, FormatError } from '../../format-error.js'
import type { RandomAccessSource } from '../../random-access-source.js'
import { entrySize, type OleEntry, readOleDirectory } from './directory.js'
import { type OleLayout, OleStream } from './stream.js'

const signature = Buffer.from('d0cf11e0a1b11ae1', 'hex')
const endOfChain = 0xfffffffe
const free = 0xffffffff
const maxRegularSector = 0xfffffffa
const miniUnit = 64

/**
 * Lists streams without reading their content, which is fast enough for type detection. Returns null if the directory is
 * unreadable.
 */
export function listOleStreams(source: RandomAccessSource): OleEntry[] | null {
  try {
    return new OleContainer(source).entries
  } catch (error) {
    if (error instanceof FormatError) return null
    throw error
  }
}

/**
 * An OLE compound file ([MS-CFB]). The constructor throws a `FormatError` if the header, allocation table or directory is
 * damaged.
 */
export class OleContainer {
  readonly entries: OleEntry[]
  private readonly sectorSize: number
  private readonly sectorCount: number
  private readonly fat: Uint32Array
  private readonly miniCutoff: number
  private readonly miniFatStart: number
  private readonly root: OleEntry
  private miniFat?: Uint32Array
  private miniStream?: Uint32Array

  constructor(private readonly source: RandomAccessSource) {
    const header = Buffer.from(source.read(0, 512))
    if (header.length < 512 || !header.subarray(0, 8).equals(signature))
      throw createDamageError('the file does not start with the header of a compound file (OLE)')
    const shift = header.readUInt16LE(30)
    if (header.readUInt16LE(28) !== 0xfffe || (shift !== 9 && shift !== 12) || header.readUInt16LE(32) !== 6)
      throw createDamageError('the header of the compound file is damaged')
    this.sectorSize = 1 << shift
    this.sectorCount = Math.max(0, Math.ceil(source.size / this.sectorSize) - 1)
    this.miniCutoff = header.readUInt32LE(56)
    this.miniFatStart = header.readUInt32LE(64) === 0 ? endOfChain : header.readUInt32LE(60)
    this.fat = this.readFat(header)
    const { entries, root } = this.readDirectory(header.readUInt32LE(48))
    this.entries = entries
    this.root = root
  }

  findStream(name: string): OleEntry | undefined {
    const wanted = name.toLowerCase()
    return this.entries.find(
      (entry) => entry.kind === 'stream' && entry.parents.length === 0 && entry.name.toLowerCase() === wanted,
    )
  }

  openStream(entry: OleEntry): OleStream {
    const layout = this.getLayout(entry)
    const { sectors, getSectorOffset, unit, size } = layout
    for (const [index, sector] of sectors.entries()) {
      // The last sector may be incomplete, because many programs omit its padding, so only the bytes of the stream itself are
      // required.
      const end = getSectorOffset(sector) + Math.min(unit, size - index * unit)
      if (end > this.source.size) throw createDamageError(`the stream '${entry.name}' extends beyond the end of the file`)
    }
    return new OleStream(this.source, layout)
  }

  /**
   * Opens all streams except `excludedEntry`. Throws if a chain of sectors is circular or shares sectors with another stream.
   */
  openAllStreams(limits: ReaderLimits, excludedEntry?: OleEntry): void {
    const used = { mini: new Set<number>(), regular: new Uint8Array((this.sectorCount >> 3) + 1) }
    for (const entry of this.entries) {
      checkDeadline(limits)
      if (entry.kind !== 'stream' || entry === excludedEntry) continue
      const { sectors, unit } = this.getLayout(entry)
      for (const [index, sector] of sectors.entries()) {
        if (!testAndMarkUsedSector(used, unit === miniUnit, sector)) continue
        if (sectors.subarray(0, index).includes(sector))
          throw createMaliciousError('ole_circle', `the compound file's stream '${entry.name}' is circular`)
        throw createDamageError(`the compound file's stream '${entry.name}' overlaps another stream`)
      }
      this.openStream(entry)
    }
  }

  private getLayout(entry: OleEntry): OleLayout {
    const mini = entry.size < this.miniCutoff
    const unit = mini ? miniUnit : this.sectorSize
    const count = Math.ceil(entry.size / unit)
    const of = `the stream '${entry.name}'`
    if (count === 0) return { size: 0, unit, sectors: new Uint32Array(0), getSectorOffset: () => 0 }
    return {
      size: entry.size,
      unit,
      sectors: mini
        ? followChain(this.readMiniFat(), entry.firstSector, count, of)
        : this.readChain(entry.firstSector, count, of),
      getSectorOffset: mini ? (sector) => this.getMiniSectorOffset(sector, of) : (sector) => (sector + 1) * this.sectorSize,
    }
  }

  private readFat(header: Buffer): Uint32Array {
    const perSector = this.sectorSize / 4
    const sectors: number[] = []
    for (let at = 76; at < 512; at += 4) if (!this.tryToAddFatSector(sectors, header.readUInt32LE(at))) break
    let next = header.readUInt32LE(68)
    for (let hops = 0; next < maxRegularSector; hops++) {
      if (hops > this.sectorCount) throw createMaliciousError('ole_circle', "the compound file's allocation table is circular")
      const sector = this.readSector(next, 'the allocation table')
      for (let at = 0; at < perSector - 1; at++) if (!this.tryToAddFatSector(sectors, sector.readUInt32LE(at * 4))) break
      next = sector.readUInt32LE((perSector - 1) * 4)
    }
    // A table that is shorter than declared is accepted here. A chain of sectors that uses a missing part causes an error later.
    const announced = sectors.slice(0, header.readUInt32LE(44))
    const fat = new Uint32Array(Math.min(this.sectorCount, announced.length * perSector)).fill(free)
    for (const [index, number] of announced.entries())
      fillSectorTable(fat, index * perSector, this.readSector(number, 'the allocation table'))
    return fat
  }

  private tryToAddFatSector(list: number[], number: number): boolean {
    if (number >= maxRegularSector) return false
    if (list.length > this.sectorCount) throw createDamageError("the compound file's allocation table is larger than the file")
    list.push(number)
    return true
  }

  private readSector(number: number, description: string): Buffer {
    const bytes = this.source.read((number + 1) * this.sectorSize, this.sectorSize)
    if (number >= this.sectorCount || bytes.length < this.sectorSize)
      throw createDamageError(`${description} in the compound file extends beyond the end of the file`)
    return bytes
  }

  private readChain(first: number, count: number, description: string): Uint32Array {
    if (count > this.sectorCount) throw createDamageError(`${description} in the compound file is larger than the file`)
    return followChain(this.fat, first, count, description)
  }

  private readWholeChain(first: number, description: string): number[] {
    const sectors: number[] = []
    for (let at = first; at < maxRegularSector; at = this.fat[at] ?? free) {
      if (sectors.length >= this.sectorCount)
        throw createMaliciousError('ole_circle', `${description} in the compound file is circular`)
      if (at >= this.sectorCount) throw createDamageError(`${description} in the compound file points beyond the end of the file`)
      sectors.push(at)
    }
    return sectors
  }

  private readMiniFat(): Uint32Array {
    if (this.miniFat) return this.miniFat
    const of = 'the small allocation table'
    const sectors = this.readWholeChain(this.miniFatStart, of)
    this.miniFat = new Uint32Array((sectors.length * this.sectorSize) / 4)
    for (const [index, number] of sectors.entries())
      fillSectorTable(this.miniFat, (index * this.sectorSize) / 4, this.readSector(number, of))
    return this.miniFat
  }

  private getMiniSectorOffset(miniSector: number, description: string): number {
    this.miniStream ??= this.readChain(this.root.firstSector, Math.ceil(this.root.size / this.sectorSize), 'the mini stream')
    const offset = miniSector * miniUnit
    const sector = this.miniStream[Math.floor(offset / this.sectorSize)]
    if (sector === undefined) throw createDamageError(`${description} is outside the compound file's mini stream`)
    return (sector + 1) * this.sectorSize + (offset % this.sectorSize)
  }

  private readDirectory(first: number): { entries: OleEntry[]; root: OleEntry } {
    const sectors = this.readWholeChain(first, 'the directory')
    const perSector = this.sectorSize / entrySize
    return readOleDirectory((id) => {
      const sector = sectors[Math.floor(id / perSector)]
      if (sector === undefined) throw createDamageError("the compound file's directory refers to an entry that does not exist")
      const at = (id % perSector) * entrySize
      return this.readSector(sector, 'the directory').subarray(at, at + entrySize)
    }, this.sectorSize)
  }
}

function fillSectorTable(table: Uint32Array, from: number, bytes: Buffer): void {
  for (let at = 0; at + 4 <= bytes.length && from + at / 4 < table.length; at += 4) table[from + at / 4] = bytes.readUInt32LE(at)
}

function followChain(table: Uint32Array, first: number, count: number, description: string): Uint32Array {
  if (count > table.length) throw createDamageError(`${description} in the compound file is longer than the allocation table`)
  const sectors = new Uint32Array(count)
  let at = first
  for (let index = 0; index < count; index++) {
    if (at >= table.length) throw createDamageError(`${description} in the compound file is truncated`)
    sectors[index] = at
    at = table[at]!
  }
  return sectors
}

function testAndMarkUsedSector(used: { mini: Set<number>; regular: Uint8Array }, isMini: boolean, sector: number): boolean {
  if (isMini) {
    if (used.mini.has(sector)) return true
    used.mini.add(sector)
    return false
  }
  const bit = 1 << (sector & 7)
  if (used.regular[sector >> 3]! & bit) return true
  used.regular[sector >> 3]! |= bit
  return false
}
