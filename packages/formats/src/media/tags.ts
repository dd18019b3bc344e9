import type { RandomAccessSource } from '../random-access-source.js'

/** Returns the offset of the audio after any ID3v2 tags. The offset may exceed the file size. */
export function findEndOfId3Tags(source: RandomAccessSource): number {
  let at = 0
  for (let tags = 0; tags < 16; tags++) {
    const head = source.read(at, 10)
    if (head.length < 10 || head.toString('latin1', 0, 3) !== 'ID3' || head[3] === 0xff || head[4] === 0xff) return at
    const size = [6, 7, 8, 9].map((index) => head[index] as number)
    if (size.some((byte) => byte > 0x7f)) return at
    const footer = (head[5] as number) & 0x10 ? 10 : 0
    at += 10 + size.reduce((sum, byte) => sum * 128 + byte, 0) + footer
  }
  return at
}

/** Returns the end of the audio, before any ID3v1, APE and Lyrics3 tags. It is never less than `start`. */
export function findAudioEnd(source: RandomAccessSource, start: number): number {
  let end = source.size
  for (let tags = 0; tags < 8; tags++) {
    const length = getTrailingTagLength(source, end)
    if (length === 0 || end - length < start) return end
    end -= length
  }
  return end
}

function getTrailingTagLength(source: RandomAccessSource, end: number): number {
  if (source.read(end - 128, 3).toString('latin1') === 'TAG' && end >= 128) return 128
  const footer = source.read(Math.max(0, end - 32), 32)
  if (footer.toString('latin1', 0, 8) === 'APETAGEX')
    return footer.readUInt32LE(12) + (footer.readUInt32LE(20) & 0x80000000 ? 32 : 0)
  const lyrics = source.read(Math.max(0, end - 15), 15).toString('latin1')
  const size = /^(\d{6})LYRICS200$/.exec(lyrics)
  return size ? Number(size[1]) + 15 : 0
}
