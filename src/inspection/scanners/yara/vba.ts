import type { Find } from './engine.js'

/**
 * The sources of Office macros lie in their documents packed by a scheme of their own, in which no pattern would find them. [MS-OVBA] 2.4.1.
 * Every module begins with `Attribute VB_…`, of which packing leaves this.
 */
const marker = Buffer.from('Attribut\0e VB', 'latin1')
// Node searches for up to six bytes many times faster than for more.
const sought = marker.subarray(-6)
const before = marker.length - sought.length
const zeroInSought = sought.indexOf(0)
const mostModules = 200
const mostBytes = 1024 * 1024

function* macroSources(bytes: Buffer): Iterable<Buffer> {
  // Most text has no zero in it, which shows many times faster than that it has no marker.
  const zero = bytes.indexOf(0)
  if (zero < 0) return
  let count = 0
  for (
    let end = bytes.indexOf(sought, Math.max(0, zero - zeroInSought));
    end >= 0;
    end = bytes.indexOf(sought, end + sought.length)
  ) {
    const at = end - before
    if (at < 0 || bytes.compare(marker, 0, marker.length, at, at + marker.length) !== 0) continue
    if (++count > mostModules) return
    // Before the marker: the container's 1, the first chunk's header of two bytes, the flags of the first eight tokens.
    if (at >= 4 && bytes[at - 4] === 1 && bytes[at - 1] === 0) yield unpack(bytes.subarray(at - 3))
  }
}

function unpack(chunks: Buffer): Buffer {
  const unpacked: number[] = []
  for (let at = 0; at + 2 <= chunks.length && unpacked.length < mostBytes; ) {
    const header = chunks.readUInt16LE(at)
    if (((header >> 12) & 7) !== 3) break
    const end = Math.min(chunks.length, at + (header & 0xfff) + 3)
    if (header & 0x8000) unpackChunk(chunks.subarray(at + 2, end), unpacked)
    else unpacked.push(...chunks.subarray(at + 2, end))
    at = end
  }
  return Buffer.from(unpacked)
}

function unpackChunk(chunk: Buffer, unpacked: number[]): void {
  const start = unpacked.length
  for (let at = 0; at < chunk.length; ) {
    const flags = chunk[at++] as number
    for (let bit = 0; bit < 8 && at < chunk.length; bit++) {
      if (!((flags >> bit) & 1)) {
        unpacked.push(chunk[at++] as number)
        continue
      }
      if (at + 2 > chunk.length) return
      const token = chunk.readUInt16LE(at)
      at += 2
      // How the 16 bits are shared between distance and length depends on how much of the chunk is known.
      const distanceBits = Math.max(4, Math.ceil(Math.log2(Math.max(1, unpacked.length - start))))
      const length = (token & (0xffff >> distanceBits)) + 3
      const from = unpacked.length - (token >> (16 - distanceBits)) - 1
      if (from < start) return
      for (let copied = 0; copied < length; copied++) unpacked.push(unpacked[from + copied] as number)
    }
  }
}

export function findInMacros(bytes: Buffer, find: Find): string | undefined {
  for (const macro of macroSources(bytes)) {
    const signature = find(macro, true)
    if (signature !== undefined) return signature
  }
  return undefined
}
