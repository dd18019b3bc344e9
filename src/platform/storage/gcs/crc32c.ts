// Tables for processing eight bytes per step, which takes 6 ms per 8 MiB. One byte per step would block the event loop for 31 ms.
const tables = Array.from({ length: 8 }, () => new Int32Array(256))
const [table0, table1, table2, table3, table4, table5, table6, table7] = tables as Eight<Int32Array>
type Eight<T> = [T, T, T, T, T, T, T, T]

// Reflected form of the Castagnoli polynomial.
for (let byte = 0; byte < 256; byte++) {
  let sum = byte
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0x82f63b78 : sum >>> 1
  table0[byte] = sum
}
for (let at = 1; at < 8; at++)
  for (let byte = 0; byte < 256; byte++) {
    const before = tables[at - 1]![byte]!
    tables[at]![byte] = (before >>> 8) ^ table0[before & 0xff]!
  }

/** CRC32C, the checksum that Google Cloud Storage stores for each object. */
export class Crc32c {
  #sum = -1

  update(bytes: Buffer): void {
    let sum = this.#sum
    let at = 0
    for (const end = bytes.length - 7; at < end; at += 8) {
      const low = sum ^ (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24))
      sum =
        table7[low & 0xff]! ^
        table6[(low >>> 8) & 0xff]! ^
        table5[(low >>> 16) & 0xff]! ^
        table4[low >>> 24]! ^
        table3[bytes[at + 4]!]! ^
        table2[bytes[at + 5]!]! ^
        table1[bytes[at + 6]!]! ^
        table0[bytes[at + 7]!]!
    }
    for (; at < bytes.length; at++) sum = (sum >>> 8) ^ table0[(sum ^ bytes[at]!) & 0xff]!
    this.#sum = sum
  }

  /** Returns the checksum in the API's format: four bytes in base64, most significant byte first. */
  toString(): string {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32BE(~this.#sum)
    return bytes.toString('base64')
  }
}
