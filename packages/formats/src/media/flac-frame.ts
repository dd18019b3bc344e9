/**
 * Number of samples for each block size code in a FLAC frame header. 0 means that the code is reserved or that the number follows
 * the header.
 */
const blockSizes = [0, 192, 576, 1152, 2304, 4608, 0, 0, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768]

/** Returns the number of samples in the frame at `offset`, or 0 if no frame header exists there. */
export function readSampleCount(bytes: Buffer, offset: number): number {
  if (bytes[offset] !== 0xff || ((bytes[offset + 1] ?? 0) & 0xfe) !== 0xf8) return 0
  const sizeCode = (bytes[offset + 2] ?? 0) >> 4
  const sizeAt = offset + 4 + getEncodedNumberLength(bytes[offset + 4] ?? 0)
  if (sizeCode === 6) return (bytes[sizeAt] ?? 0) + 1
  if (sizeCode === 7) return (bytes[sizeAt] ?? 0) * 256 + (bytes[sizeAt + 1] ?? 0) + 1
  return blockSizes[sizeCode] as number
}

/** Length of a UTF-8-encoded number, derived from its first byte. */
const getEncodedNumberLength = (first: number): number => (first < 0x80 ? 1 : Math.clz32(~(first << 24)))
