// @google-cloud/storage adds byte by byte, which blocks the event loop for 31 ms per 8 MiB. Eight bytes at a time take 6 ms.
const tables = Array.from({ length: 8 }, () => new Int32Array(256))
const [of0, of1, of2, of3, of4, of5, of6, of7] = tables as Eight<Int32Array>
type Eight<T> = [T, T, T, T, T, T, T, T]

// Castagnoli's polynomial, reflected.
for (let byte = 0; byte < 256; byte++) {
  let sum = byte
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0x82f63b78 : sum >>> 1
  of0[byte] = sum
}
for (let at = 1; at < 8; at++)
  for (let byte = 0; byte < 256; byte++) {
    const before = tables[at - 1]![byte]!
    tables[at]![byte] = (before >>> 8) ^ of0[before & 0xff]!
  }

/** The checksum that buckets keep of an object, of bytes as they come. */
export class Crc32c {
  #sum = -1

  update(bytes: Buffer): void {
    let sum = this.#sum
    let at = 0
    for (const end = bytes.length - 7; at < end; at += 8) {
      const low = sum ^ (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24))
      sum =
        of7[low & 0xff]! ^
        of6[(low >>> 8) & 0xff]! ^
        of5[(low >>> 16) & 0xff]! ^
        of4[low >>> 24]! ^
        of3[bytes[at + 4]!]! ^
        of2[bytes[at + 5]!]! ^
        of1[bytes[at + 6]!]! ^
        of0[bytes[at + 7]!]!
    }
    for (; at < bytes.length; at++) sum = (sum >>> 8) ^ of0[(sum ^ bytes[at]!) & 0xff]!
    this.#sum = sum
  }

  /** As buckets write it: base64 of the four bytes, highest first. */
  toString(): string {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32BE(~this.#sum)
    return bytes.toString('base64')
  }
}
