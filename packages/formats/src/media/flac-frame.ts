/** Samples in a block by the code of its frame's head; 0 where they follow it or the code is not used. FLAC format, frame header. */
const blockSizes = [0, 192, 576, 1152, 2304, 4608, 0, 0, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768]

/** The number of samples in the frame whose head stands at `at`; 0 where no head does. Its checksum is part of the whole frame's. */
export function frameSamples(bytes: Buffer, at: number): number {
  if (bytes[at] !== 0xff || ((bytes[at + 1] ?? 0) & 0xfe) !== 0xf8) return 0
  const sizeCode = (bytes[at + 2] ?? 0) >> 4
  const sizeAt = at + 4 + codedLength(bytes[at + 4] ?? 0)
  if (sizeCode === 6) return (bytes[sizeAt] ?? 0) + 1
  if (sizeCode === 7) return (bytes[sizeAt] ?? 0) * 256 + (bytes[sizeAt + 1] ?? 0) + 1
  return blockSizes[sizeCode] as number
}

/** Bytes of a number that is coded as UTF-8 codes characters, by its first byte. */
const codedLength = (first: number): number => (first < 0x80 ? 1 : Math.clz32(~(first << 24)))
