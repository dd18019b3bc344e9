import { checkDeadline, type ReaderLimits } from '../format.js'
import { type Box, readBoxes } from '../media/boxes.js'
import type { RandomAccessSource } from '../random-access-source.js'

export interface Extent {
  start: number
  length: number
}

export interface HeifItem {
  id: number
  type: string
  /** Location of the data, or undefined if the data is in another file or item. */
  extents: Extent[] | undefined
  properties: Box[]
  sources: number[]
  /** Ids of the images that use this item, for example as their transparency mask. */
  belongsTo: number[]
  /** Offset of the item info entry. If the lowest bit of its flags is set, the item is hidden. */
  entry: number
}

export interface HeifItems {
  primary: number | undefined
  /** Box that contains the id of the primary item. */
  primaryBox: Box | undefined
  items: Map<number, HeifItem>
}

const maxListBytes = 16 * 1024 * 1024

export function readItems(source: RandomAccessSource, limits: ReaderLimits, meta: Box): HeifItems | string {
  const boxes = new Map<string, Box>()
  for (const box of readBoxes(source, limits, meta.start + 4, meta.end)) {
    if (box.cut) return `the '${box.type.replace(/[^ -~]/g, '?') || 'next'}' box is longer than its parent box`
    if (!boxes.has(box.type)) boxes.set(box.type, box)
  }
  const handler = boxes.get('hdlr')
  if (!handler || source.read(handler.start + 8, 4).toString('latin1') !== 'pict')
    return 'the file is not declared as an image container'
  try {
    const found: HeifItems = { primary: undefined, primaryBox: boxes.get('pitm'), items: new Map() }
    const openListOfType = (type: string) => openList(source, boxes.get(type))
    readItemTypes(source, limits, boxes.get('iinf'), found)
    found.primary = openListOfType('pitm')?.readId()
    readItemLocations(limits, openListOfType('iloc'), boxes.get('idat'), source.size, found)
    readItemProperties(source, limits, boxes.get('iprp'), found)
    try {
      readItemReferences(source, limits, boxes.get('iref'), found)
    } catch (error) {
      // Readers ignore a damaged reference box, so this error is ignored too. A later check reports derived images that lack
      // their sources.
      if (!(error instanceof RangeError)) throw error
    }
    return found
  } catch (error) {
    if (error instanceof RangeError) return 'the item lists are truncated or damaged'
    throw error
  }
}

function readItemTypes(source: RandomAccessSource, limits: ReaderLimits, box: Box | undefined, { items }: HeifItems): void {
  if (!box) return
  const head = openList(source, box)!
  const countSize = head.version === 0 ? 2 : 4
  let left = head.readNumber(countSize)
  for (const { start, end, type, cut } of readBoxes(source, limits, box.start + 4 + countSize, box.end)) {
    const entry = openList(source, { start, end })!
    if (cut || type !== 'infe' || entry.version > 3) throw new RangeError('iinf')
    left--
    // Entries of versions 0 and 1 belong to other file formats, so they are skipped.
    if (entry.version < 2) continue
    const id = entry.readNumber(entry.version === 2 ? 2 : 4)
    entry.readNumber(2)
    items.set(id, { id, type: entry.readText(4), extents: undefined, properties: [], sources: [], belongsTo: [], entry: start })
  }
  if (left > 0) throw new RangeError('iinf')
}

function readItemLocations(
  limits: ReaderLimits,
  list: ListReader | undefined,
  idat: Box | undefined,
  size: number,
  { items }: HeifItems,
): void {
  if (!list) return
  const sizes = list.readNumber(2)
  const [offsetSize, lengthSize, baseSize] = [sizes >> 12, (sizes >> 8) & 15, (sizes >> 4) & 15]
  const indexSize = list.version > 0 ? sizes & 15 : 0
  const count = list.readNumber(list.version < 2 ? 2 : 4)
  for (let index = 0; index < count; index++) {
    checkDeadline(limits)
    const id = list.readNumber(list.version < 2 ? 2 : 4)
    const method = list.version > 0 ? list.readNumber(2) & 15 : 0
    const elsewhere = list.readNumber(2) !== 0
    const base = list.readNumber(baseSize) + (method === 1 ? (idat?.start ?? size) : 0)
    const extents: Extent[] = []
    for (let left = list.readNumber(2); left > 0; left--) {
      list.readNumber(indexSize)
      const start = base + list.readNumber(offsetSize)
      // Length 0 means that the extent covers all of the data.
      extents.push({ start, length: list.readNumber(lengthSize) || Math.max(0, size - start) })
      if (extents.length > 1 && offsetSize + lengthSize === 0) break
    }
    const item = items.get(id)
    if (item && !elsewhere && method < 2) item.extents = extents
  }
}

function readItemProperties(source: RandomAccessSource, limits: ReaderLimits, box: Box | undefined, { items }: HeifItems): void {
  if (!box) return
  const properties: Box[] = []
  for (const part of readBoxes(source, limits, box.start, box.end)) {
    if (part.cut) throw new RangeError('iprp')
    if (part.type === 'ipco') {
      for (const property of readBoxes(source, limits, part.start, part.end)) {
        if (property.cut) throw new RangeError('ipco')
        properties.push(property)
      }
    }
    if (part.type !== 'ipma') continue
    const list = openList(source, part)!
    for (let left = list.readNumber(4); left > 0; left--) {
      checkDeadline(limits)
      const item = items.get(list.readNumber(list.version < 1 ? 2 : 4))
      for (let links = list.readNumber(1); links > 0; links--) {
        const index = list.flags & 1 ? list.readNumber(2) & 0x7fff : list.readNumber(1) & 0x7f
        const property = properties[index - 1]
        if (index > 0 && !property) throw new RangeError('ipma')
        if (property) item?.properties.push(property)
      }
    }
  }
}

function readItemReferences(source: RandomAccessSource, limits: ReaderLimits, box: Box | undefined, { items }: HeifItems): void {
  if (!box) return
  const width = source.read(box.start, 1)[0] === 0 ? 2 : 4
  for (const { start, end, type, cut } of readBoxes(source, limits, box.start + 4, box.end)) {
    if (cut) throw new RangeError('iref')
    if (type !== 'dimg' && type !== 'auxl') continue
    const list = new ListReader(source.read(start, Math.min(end - start, maxListBytes)))
    const item = items.get(list.readNumber(width))
    const targets = type === 'dimg' ? item?.sources : item?.belongsTo
    for (let left = list.readNumber(2); left > 0; left--) targets?.push(list.readNumber(width))
  }
}

function openList(source: RandomAccessSource, box: { start: number; end: number } | undefined): ListReader | undefined {
  if (!box) return undefined
  const list = new ListReader(source.read(box.start, Math.min(box.end - box.start, maxListBytes)))
  list.readHeader()
  return list
}

class ListReader {
  version = 0
  flags = 0
  private at = 0

  constructor(private readonly bytes: Buffer) {}

  readHeader(): void {
    this.version = this.readNumber(1)
    this.flags = this.readNumber(3)
  }

  readId = () => this.readNumber(this.version === 0 ? 2 : 4)

  readNumber(width: number): number {
    if (width === 0) return 0
    const at = this.advanceBy(width)
    return width === 8 ? Number(this.bytes.readBigUInt64BE(at)) : this.bytes.readUIntBE(at, width)
  }

  readText(length: number): string {
    const at = this.advanceBy(length)
    return this.bytes.toString('latin1', at, at + length)
  }

  private advanceBy(length: number): number {
    const at = this.at
    if (length > 8 || at + length > this.bytes.length) throw new RangeError('the read extends beyond the end of the box')
    this.at += length
    return at
  }
}
