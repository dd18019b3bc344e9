import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { type Followed, followCodes, type HuffmanTable, huffmanTable, type ScanComponent } from './jpeg-huffman.js'

interface FrameComponent {
  id: number
  across: number
  down: number
}

interface Frame {
  width: number
  height: number
  components: FrameComponent[]
}

/** What cameras leave before a marker: few bytes, or many of the same. More are codes that damage has displaced. */
const paddingBytes = 16
const noEnd = 'it ends without its end marker: it is truncated'

/**
 * What is wrong with the data of a sequential JPEG behind its last pixel, where libvips does not look: codes are left over, or
 * the end is missing. Undefined too for what is coded otherwise, and where segments are odd: readers complain of those themselves.
 */
export const dataFault = (source: RandomAccessSource, limits: ReaderLimits): string | undefined =>
  new ScanWalk(source, limits).run()

/**
 * True where `count` bytes that a reader found in front of a marker, behind the start of the first scan, are displaced codes:
 * nowhere in front of such a marker do as many bytes of padding stand.
 */
export function areCodes(source: RandomAccessSource, limits: ReaderLimits, count: number, code: number): boolean {
  if (count <= paddingBytes) return false
  let found = false
  let inScans = false
  for (let at = 2; ; ) {
    const marker = nextMarker(source, limits, at)
    if (!marker) return found
    at = marker.after
    if (inScans && marker.code === code) {
      const length = Math.min(count, 65536)
      if (isUniform(source.read(at - 2 - length, length))) return false
      found = true
    }
    if (marker.code === 0xda) inScans = true
    if (inScans && marker.code !== 0xda) continue
    const head = source.read(at, 2)
    if (head.length === 2 && (marker.code < 0xd0 || marker.code > 0xd9)) at += Math.max(2, head.readUInt16BE(0))
  }
}

const isUniform = (bytes: Buffer) => bytes.every((byte) => byte === bytes[0])

class ScanWalk {
  private frame: Frame | undefined
  private restart = 0
  private readonly tables = new Map<number, HuffmanTable>()

  constructor(
    private readonly source: RandomAccessSource,
    private readonly limits: ReaderLimits,
  ) {}

  run(): string | undefined {
    for (let at = 2; ; ) {
      checkDeadline(this.limits)
      const marker = this.marker(at)
      if (!marker) return this.frame && noEnd
      const { code, after } = marker
      if (code === 0xd9) return undefined
      at = after
      if (code === 0x01 || (code >= 0xd0 && code <= 0xd8)) continue
      const head = this.source.read(after, 2)
      const length = head.length < 2 ? 0 : head.readUInt16BE(0)
      if (length < 2) return undefined
      const body = this.source.read(after + 2, length - 2)
      at += length
      if (code === 0xc4) this.readTables(body)
      else if (code === 0xdd) this.restart = body.length >= 2 ? body.readUInt16BE(0) : 0
      else if (code === 0xc0 || code === 0xc1) this.frame = readFrame(body)
      // Progressive, lossless, arithmetic and hierarchical ones.
      else if (code >= 0xc2 && code <= 0xcf) return undefined
      if (code === 0xdc) return undefined
      if (code !== 0xda) continue
      const end = this.followScan(body, at)
      if (typeof end !== 'number') return end
      at = end
    }
  }

  private readTables(body: Buffer): void {
    for (let at = 0; at + 17 <= body.length; ) {
      const counts = body.subarray(at + 1, at + 17)
      const size = counts.reduce((sum, count) => sum + count, 0)
      const symbols = body.subarray(at + 17, at + 17 + size)
      const table = symbols.length === size ? huffmanTable(counts, symbols) : undefined
      if (table) this.tables.set(body[at]!, table)
      at += 17 + size
    }
  }

  private followScan(body: Buffer, start: number): number | string | undefined {
    const parts = this.frame && this.partsOf(this.frame, body)
    if (!parts) return undefined
    let at = start
    for (let done = 0; done < parts.units; ) {
      const units = Math.min(this.restart || parts.units, parts.units - done)
      const followed = followCodes(this.source, this.limits, at, units, parts.components)
      if (!followed) return 'its data ends before its picture does'
      done += units
      const marker = this.marker(followed.end)
      if (!marker) return noEnd
      if (this.isLeftOver(followed, marker.after - 2)) return 'codes are left over where a part of its picture ends'
      if (done >= parts.units) return followed.end
      // Where another marker stands, readers complain themselves.
      if (marker.code < 0xd0 || marker.code > 0xd7) return undefined
      at = marker.after
    }
    return at
  }

  private partsOf(
    { width, height, components }: Frame,
    body: Buffer,
  ): { units: number; components: ScanComponent[] } | undefined {
    const count = body[0] ?? 0
    if (count < 1 || count > 4 || body.length < 1 + count * 2) return undefined
    const widest = Math.max(...components.map(({ across }) => across))
    const highest = Math.max(...components.map(({ down }) => down))
    const parts: ScanComponent[] = []
    let units = Math.ceil(width / (8 * widest)) * Math.ceil(height / (8 * highest))
    for (let index = 0; index < count; index++) {
      const component = components.find(({ id }) => id === body[1 + index * 2])
      const which = body[2 + index * 2]!
      const dc = this.tables.get(which >> 4)
      const ac = this.tables.get(0x10 | (which & 15))
      if (!component || !dc || !ac) return undefined
      const { across, down } = component
      parts.push({ blocks: count === 1 ? 1 : across * down, dc, ac })
      if (count === 1)
        units = Math.ceil(Math.ceil((width * across) / widest) / 8) * Math.ceil(Math.ceil((height * down) / highest) / 8)
    }
    return { units, components: parts }
  }

  private isLeftOver({ end, displaced }: Followed, marker: number): boolean {
    const bytes = this.source.read(end, Math.min(marker - end, 65536))
    return displaced ? bytes.some((byte) => byte !== 0xff) : bytes.length > paddingBytes && !isUniform(bytes)
  }

  private marker(at: number): { code: number; after: number } | undefined {
    const next = this.source.read(at, 2)
    if (next.length === 2 && next[0] === 0xff && next[1] !== 0 && next[1] !== 0xff) return { code: next[1]!, after: at + 2 }
    return nextMarker(this.source, this.limits, at)
  }
}

function readFrame(body: Buffer): Frame | undefined {
  if (body.length < 6) return undefined
  const components: FrameComponent[] = []
  for (let at = 6; at + 3 <= body.length && components.length < body[5]!; at += 3)
    components.push({ id: body[at]!, across: body[at + 1]! >> 4, down: body[at + 1]! & 15 })
  const possible = components.length > 0 && components.every(({ across, down }) => across > 0 && down > 0)
  return possible ? { width: body.readUInt16BE(3), height: body.readUInt16BE(1), components } : undefined
}

export function nextMarker(
  source: RandomAccessSource,
  limits: ReaderLimits,
  at: number,
): { code: number; after: number } | undefined {
  let offset = at
  let previous = 0
  for (const chunk of source.chunks(at)) {
    checkDeadline(limits)
    for (const byte of chunk) {
      offset++
      if (previous === 0xff && byte !== 0xff && byte !== 0) return { code: byte, after: offset }
      previous = byte
    }
  }
  return undefined
}
