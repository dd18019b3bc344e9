import { createDamageError } from '../../format-error.js'
import type { RandomAccessSource } from '../../random-access-source.js'

export interface OleLayout {
  size: number
  unit: number
  sectors: Uint32Array
  getSectorOffset: (sector: number) => number
}

export class OleStream {
  constructor(
    private readonly source: RandomAccessSource,
    private readonly layout: OleLayout,
  ) {}

  get size(): number {
    return this.layout.size
  }

  read(offset: number, length: number): Buffer {
    const { unit, sectors, getSectorOffset, size } = this.layout
    const end = Math.min(size, offset + length)
    const parts: Buffer[] = []
    for (let at = offset; at < end; ) {
      const within = at % unit
      const wanted = Math.min(unit - within, end - at)
      const part = this.source.read(getSectorOffset(sectors[Math.floor(at / unit)]!) + within, wanted)
      if (part.length < wanted) throw createDamageError('a stream in the compound file extends beyond the end of the file')
      parts.push(Buffer.from(part))
      at += wanted
    }
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  }
}
