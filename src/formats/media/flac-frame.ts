import { crc8 } from './crc.js'

/** Samples in a block by the code of its frame's head; 0 where they follow it or the code is not used. FLAC format, frame header. */
const blockSizes = [0, 192, 576, 1152, 2304, 4608, 0, 0, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768]

/** The number of samples in the frame whose head stands at `at`; 0 where no head does. */
export function frameHeader(bytes: Buffer, at: number): number {
  if (bytes[at] !== 0xff || ((bytes[at + 1] ?? 0) & 0xfe) !== 0xf8) return 0
  const sizeCode = (bytes[at + 2] ?? 0) >> 4
  const rateCode = (bytes[at + 2] ?? 0) & 0x0f
  const channels = (bytes[at + 3] ?? 0xff) >> 4
  const depth = ((bytes[at + 3] ?? 0xff) >> 1) & 7
  if (sizeCode === 0 || rateCode === 15 || channels > 10 || depth === 3 || ((bytes[at + 3] ?? 1) & 1) !== 0) return 0
  const numberLength = codedLength(bytes[at + 4] ?? 0xff)
  if (numberLength === 0) return 0
  let next = at + 4 + numberLength
  const sizeAt = next
  if (sizeCode === 6) next += 1
  if (sizeCode === 7) next += 2
  if (rateCode === 12) next += 1
  if (rateCode === 13 || rateCode === 14) next += 2
  if (next >= bytes.length || crc8(bytes, at, next) !== bytes[next]) return 0
  if (sizeCode === 6) return (bytes[sizeAt] as number) + 1
  if (sizeCode === 7) return bytes.readUInt16BE(sizeAt) + 1
  return blockSizes[sizeCode] as number
}

/** Bytes of a number that is coded as UTF-8 codes characters, by its first byte; 0 where it cannot be a first byte. */
function codedLength(first: number): number {
  if (first < 0x80) return 1
  if (first < 0xc0 || first === 0xff) return 0
  return Math.clz32(~(first << 24))
}
