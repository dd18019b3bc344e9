import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { type FrameComponent, type JpegFrame, readJpegFrame } from './jpeg-frame.js'
import { buildHuffmanTable, type HuffmanTable, type ScanComponent, type SkipResult, skipScanCodes } from './jpeg-huffman.js'

/** Result of reading the scans. `plain` is true if all codes were checked and the image uses only common features. */
export interface ScanResult {
  problem?: string
  plain: boolean
}

/** Maximum number of arbitrary padding bytes before a marker. Longer padding must consist of equal bytes. */
const maxPaddingBytes = 16
/** Spectral selection and approximation bytes of a sequential scan. */
const fullSpectrum = 0x003f00
/** Maximum number of blocks per MCU that readers support. */
const maxBlocks = 10
const missingEndMessage = 'the file is truncated: the end marker (EOI) is missing'

/**
 * Checks the entropy-coded data of a sequential JPEG. Unlike libvips, rejects excess codes and a missing end marker. Other
 * coding processes, such as progressive, are not checked: the result then has no problem, and `plain` is false.
 */
export const checkScans = (source: RandomAccessSource, limits: ReaderLimits): ScanResult =>
  new ScanChecker(source, limits).checkAllScans()

/**
 * True if the `count` bytes before a marker are displaced image data instead of padding. Padding is short or consists of equal
 * bytes.
 */
export function isDisplacedData(source: RandomAccessSource, limits: ReaderLimits, count: number, code: number): boolean {
  if (count <= maxPaddingBytes) return false
  let found = false
  let inScans = false
  for (let at = 2; ; ) {
    const marker = findNextMarker(source, limits, at)
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

const unsupportedScan: ScanResult = { plain: false }

class ScanChecker {
  private frame: JpegFrame | undefined
  private restart = 0
  private plain = true
  private readonly tables = new Map<number, HuffmanTable>()
  private readonly quantizations = new Set<number>()
  private readonly scanned = new Set<FrameComponent>()

  constructor(
    private readonly source: RandomAccessSource,
    private readonly limits: ReaderLimits,
  ) {}

  checkAllScans(): ScanResult {
    for (let at = 2; ; ) {
      checkDeadline(this.limits)
      const marker = this.readMarker(at)
      if (!marker) return this.frame ? { problem: missingEndMessage, plain: false } : unsupportedScan
      const { code, after } = marker
      this.updatePlain(after - 2 === at)
      if (code === 0xd9)
        return { plain: this.plain && this.frame !== undefined && this.scanned.size === this.frame.components.length }
      at = after
      if (code === 0x01 || (code >= 0xd0 && code <= 0xd8)) {
        this.updatePlain(false)
        continue
      }
      const head = this.source.read(after, 2)
      const length = head.length < 2 ? 0 : head.readUInt16BE(0)
      const body = this.source.read(after + 2, length - 2)
      if (length < 2 || !this.tryToReadSegment(code, body)) return unsupportedScan
      this.updatePlain(body.length === length - 2)
      at += length
      if (code !== 0xda) continue
      const end = this.checkScan(body, at)
      if (typeof end !== 'number') return end
      at = end
    }
  }

  private updatePlain(isCommon: boolean): void {
    if (!isCommon) this.plain = false
  }

  /** Processes a marker segment. Returns false for unsupported coding processes, such as progressive, lossless and arithmetic. */
  private tryToReadSegment(code: number, body: Buffer): boolean {
    if (code === 0xc4) this.readHuffmanTables(body)
    else if (code === 0xdb) this.readQuantizationTables(body)
    else if (code === 0xdd) {
      this.updatePlain(body.length === 2)
      this.restart = body.length >= 2 ? body.readUInt16BE(0) : 0
    } else if (code === 0xc0 || code === 0xc1) {
      this.updatePlain(this.frame === undefined)
      this.frame = readJpegFrame(body)
      this.updatePlain(this.frame?.isCommon === true)
    } else if ((code >= 0xc2 && code <= 0xcf) || code === 0xdc) return false
    else this.updatePlain(code === 0xda || code === 0xfe || (code >= 0xe0 && code <= 0xef))
    return true
  }

  private readHuffmanTables(body: Buffer): void {
    let at = 0
    while (at + 17 <= body.length) {
      const counts = body.subarray(at + 1, at + 17)
      const size = counts.reduce((sum, count) => sum + count, 0)
      const symbols = body.subarray(at + 17, at + 17 + size)
      const table = symbols.length === size ? buildHuffmanTable(counts, symbols) : undefined
      const which = body[at]!
      if (table) this.tables.set(which, table)
      this.updatePlain(table !== undefined && size <= 256 && (which & 0xef) <= 3)
      // Each symbol of a DC table is the bit length of a difference. Common images use at most 15 bits.
      if (which < 0x10) this.updatePlain(symbols.every((symbol) => symbol <= 15))
      at += 17 + size
    }
    this.updatePlain(at === body.length)
  }

  private readQuantizationTables(body: Buffer): void {
    let at = 0
    for (; at < body.length; at += body[at]! >> 4 ? 129 : 65) {
      this.updatePlain((body[at]! & 0xef) <= 3)
      this.quantizations.add(body[at]! & 15)
    }
    this.updatePlain(at === body.length)
  }

  private checkScan(body: Buffer, start: number): number | ScanResult {
    const parts = this.frame && this.getScanComponents(this.frame, body)
    if (!parts) return unsupportedScan
    let at = start
    let restarts = 0
    for (let done = 0; done < parts.units; ) {
      const units = Math.min(this.restart || parts.units, parts.units - done)
      const followed = skipScanCodes(this.source, this.limits, at, units, parts.components)
      if (!followed) return { problem: 'the image data ends before the last block', plain: false }
      done += units
      const marker = this.readMarker(followed.end)
      if (!marker) return { problem: missingEndMessage, plain: false }
      if (this.hasExcessCodes(followed, marker.after - 2))
        return { problem: 'excess codes follow the last block of a scan or restart interval', plain: false }
      this.updatePlain(!followed.displaced)
      if (done >= parts.units) return followed.end
      // libvips decodes this image instead and reports unexpected markers, so they need no check here.
      if (marker.code < 0xd0 || marker.code > 0xd7) return unsupportedScan
      this.updatePlain(marker.after - 2 === followed.end && marker.code === 0xd0 + (restarts++ & 7))
      at = marker.after
    }
    return at
  }

  private getScanComponents(frame: JpegFrame, body: Buffer): { units: number; components: ScanComponent[] } | undefined {
    const { width, height, components } = frame
    const count = body[0] ?? 0
    if (count < 1 || count > 4 || body.length < 1 + count * 2) return undefined
    this.updatePlain(body.length === 4 + count * 2 && body.readUIntBE(1 + count * 2, 3) === fullSpectrum)
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
      this.updatePlain(!this.scanned.has(component) && this.quantizations.has(component.quantization))
      this.scanned.add(component)
      const { across, down } = component
      parts.push({ blocks: count === 1 ? 1 : across * down, dc, ac })
      if (count === 1)
        units = Math.ceil(Math.ceil((width * across) / widest) / 8) * Math.ceil(Math.ceil((height * down) / highest) / 8)
    }
    this.updatePlain(parts.reduce((sum, { blocks }) => sum + blocks, 0) <= maxBlocks)
    return { units, components: parts }
  }

  private hasExcessCodes({ end, displaced }: SkipResult, marker: number): boolean {
    const bytes = this.source.read(end, Math.min(marker - end, 65536))
    return displaced ? bytes.some((byte) => byte !== 0xff) : bytes.length > maxPaddingBytes && !isUniform(bytes)
  }

  private readMarker(offset: number): { code: number; after: number } | undefined {
    const next = this.source.read(offset, 2)
    if (next.length === 2 && next[0] === 0xff && next[1] !== 0 && next[1] !== 0xff) return { code: next[1]!, after: offset + 2 }
    return findNextMarker(this.source, this.limits, offset)
  }
}

export function findNextMarker(
  source: RandomAccessSource,
  limits: Pick<ReaderLimits, 'deadline'>,
  position: number,
): { code: number; after: number } | undefined {
  let offset = position
  let previous = 0
  for (const chunk of source.chunks(position)) {
    checkDeadline(limits)
    for (const byte of chunk) {
      offset++
      if (previous === 0xff && byte !== 0xff && byte !== 0) return { code: byte, after: offset }
      previous = byte
    }
  }
  return undefined
}
