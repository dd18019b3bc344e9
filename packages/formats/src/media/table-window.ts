import type { RandomAccessSource } from '../random-access-source.js'

/** Reads numbers from several tables through one window per table, so that long tables need little memory. */
export class WindowReader {
  private readonly windows = new Map<string, { start: number; bytes: Buffer }>()

  constructor(private readonly source: RandomAccessSource) {}

  readNumber(table: string, offset: number, size: number): number {
    let window = this.windows.get(table)
    if (!window || offset < window.start || offset + size > window.start + window.bytes.length) {
      window = { start: offset, bytes: this.source.read(offset, 16384) }
      this.windows.set(table, window)
    }
    if (offset + size > window.start + window.bytes.length) return 0
    const at = offset - window.start
    return size === 8 ? Number(window.bytes.readBigUInt64BE(at)) : window.bytes.readUIntBE(at, size)
  }
}

export function readUint32(source: RandomAccessSource, offset: number): number {
  const bytes = source.read(offset, 4)
  return bytes.length === 4 ? bytes.readUInt32BE(0) : 0
}
