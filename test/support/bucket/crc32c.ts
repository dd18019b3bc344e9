// Reflected CRC32C (RFC 3720, appendix B.4), computed four bytes at a time for speed. The emulator must not use the code under
// test.
const tables = [0, 1, 2, 3].map(() => new Int32Array(256))
const [first, second, third, fourth] = tables as [Int32Array, Int32Array, Int32Array, Int32Array]
for (let byte = 0; byte < 256; byte++) {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1
  first[byte] = value
}
for (const [at, table] of tables.entries())
  if (at > 0) for (let byte = 0; byte < 256; byte++) table[byte] = updateCrc(tables[at - 1]![byte]!, 0)

function updateCrc(value: number, byte: number): number {
  return (value >>> 8) ^ first[(value ^ byte) & 0xff]!
}

/** Returns the Base64 encoding of the four big-endian bytes, as in bucket responses. */
export function computeCrc32c(bytes: Uint8Array): string {
  let value = -1
  let at = 0
  for (; at + 4 <= bytes.length; at += 4) {
    const word = value ^ (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24))
    value = fourth[word & 0xff]! ^ third[(word >>> 8) & 0xff]! ^ second[(word >>> 16) & 0xff]! ^ first[word >>> 24]!
  }
  for (; at < bytes.length; at++) value = updateCrc(value, bytes[at]!)
  const result = Buffer.alloc(4)
  result.writeInt32BE(~value)
  return result.toString('base64')
}
