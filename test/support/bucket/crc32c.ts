// Castagnoli's CRC, reflected (RFC 3720, appendix B.4). Written here once more, so that the stand-in does not check the client with the client's own code.
const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1
  return value
})

/** As buckets tell it: base64 of the four bytes, highest first. */
export function crc32c(bytes: Uint8Array): string {
  let value = 0xffffffff
  for (const byte of bytes) value = (value >>> 8) ^ (table[(value ^ byte) & 0xff] as number)
  const result = Buffer.alloc(4)
  result.writeUInt32BE((value ^ 0xffffffff) >>> 0)
  return result.toString('base64')
}
