import { beforeAll, describe, expect, test } from '@jest/globals'
import { readAvif } from '../src/image/heif.js'
import { decodeImagesWith } from '../src/image/image-decoder.js'
import { decodeImage } from '../src/image/libvips.js'
import { invalid, read, valid } from './support/format-reading.js'
import { avifGrid } from './support/samples/avif.js'
import { avif } from './support/samples/image.js'
import { mutate } from './support/samples/mutations.js'

decodeImagesWith((source, task) => decodeImage(source.readAll(2 ** 27), task))

let picture: Buffer
beforeAll(async () => {
  picture = await avif()
})

const noise = (bytes: Buffer) => {
  for (let at = bytes.length >> 2; at < bytes.length; at++) bytes[at] = (at * 89) & 255
}
const withBrand = (bytes: Buffer, brand: string) => {
  const copy = Buffer.from(bytes)
  copy.write(brand, 8, 'latin1')
  return copy
}

describe('AVIF damage that libheif ignores', () => {
  test('rejects an AVIF grid if one of its tiles cannot be decoded', async () => {
    expect(await read(readAvif, avifGrid(picture, 64, 48))).toEqual({
      sound: true,
      notes: [],
      evidence: { width: 128, height: 48 },
    })
    expect(await read(readAvif, avifGrid(picture, 64, 48, noise))).toMatchObject(invalid(/item 3\) cannot be decoded/))
  })

  test('decodes the still image of an AVIF image sequence', async () => {
    expect(await read(readAvif, withBrand(picture, 'avis'))).toMatchObject({ ...valid, notes: [] })
    const bytes = withBrand(picture, 'avis')
    noise(bytes.subarray(bytes.indexOf('mdat', 0, 'latin1') + 4))
    expect(await read(readAvif, bytes)).toMatchObject(invalid(/cannot be decoded/))
  })

  test('rejects an AVIF image whose bitstream libaom does not support', async () => {
    const bytes = Buffer.from(picture)
    // Overwrites the profile in the sequence header with an undefined value. Only three profiles exist.
    const sequence = bytes.indexOf('mdat', 0, 'latin1') + 4 + (bytes[bytes.indexOf('mdat', 0, 'latin1') + 4] === 0x12 ? 4 : 2)
    bytes[sequence] = 0xff
    expect(await read(readAvif, bytes)).toMatchObject(invalid(/not supported by this decoder/))
  })

  test('returns a verdict for every mutated copy of an AVIF grid', async () => {
    const grid = avifGrid(picture, 64, 48)
    for (const mutation of mutate(grid, 100, 3)) expect(typeof (await read(readAvif, mutation)).sound).toBe('boolean')
  })
})
