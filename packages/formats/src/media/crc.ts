function createCrcTable(bits: 16 | 32, polynomial: number): Uint32Array {
  const entries = new Uint32Array(256)
  const top = 2 ** (bits - 1)
  const mask = 2 ** bits
  for (let index = 0; index < 256; index++) {
    let value = index * 2 ** (bits - 8)
    for (let step = 0; step < 8; step++) value = value >= top ? (((value * 2) % mask) ^ polynomial) >>> 0 : value * 2
    entries[index] = value
  }
  return entries
}

export const crc16Table = createCrcTable(16, 0x8005)
export const crc32Table = createCrcTable(32, 0x04c11db7)
