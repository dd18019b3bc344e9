import { describe, expect, test } from '@jest/globals'
import { inspect, MemorySource } from '../src/index.js'
import { rawTiff, rgbaJpegTiff, sparseTiff } from './support/samples/image.js'

const open = async (extension: string, bytes: Buffer) => {
  const { type, fits, verdict } = await inspect(new MemorySource(bytes, extension))
  return { type, fits, ...verdict }
}
const accepted = { fits: true, sound: true }

describe('TIFF images', () => {
  const grey = { bits: 8, samples: 1, compression: 1, data: Buffer.alloc(40, 7) }

  test('accepts a TIFF image with private fields of unknown types', async () => {
    expect(await open('tif', rawTiff({ ...grey, fields: [[65_000, 1, 20]] }))).toMatchObject({ ...accepted, notes: [] })
    const cut = rawTiff({ ...grey, compression: 8, data: Buffer.from('78da', 'hex'), fields: [[65_000, 1, 20]] })
    expect(await open('tif', cut)).toMatchObject({ sound: false })
  })

  test('accepts a TIFF page with many bands and a TIFF page with a 1-bit transparency mask', async () => {
    const bands = rawTiff({ bits: 8, samples: 7, compression: 1, data: Buffer.alloc(280, 7) })
    expect(await open('tif', bands)).toMatchObject(accepted)
    const mask = rawTiff({
      bits: 1,
      samples: 1,
      compression: 1,
      data: Buffer.alloc(5),
      fields: [
        [262, 4],
        [254, 4],
      ],
    })
    expect(await open('tif', mask)).toMatchObject(accepted)
  })

  test('decodes the JPEG tiles in a TIFF image with an alpha channel', async () => {
    const complete = await rgbaJpegTiff()
    expect(await open('tif', complete)).toMatchObject({ ...accepted, notes: [] })
    expect(await open('tif', Buffer.from(complete).fill(0xff, 300, 900))).toMatchObject({ sound: false })
  })

  test('decodes the available tiles of a sparse TIFF image', async () => {
    const sparse = await sparseTiff([0, 5, 15])
    expect(await open('tif', sparse)).toMatchObject({ ...accepted, notes: [expect.stringContaining('are empty')] })
    expect(await open('tif', Buffer.from(sparse).fill(0xff, 1000, 9000))).toMatchObject({ sound: false })
    expect(await open('tif', await sparseTiff(Array.from({ length: 16 }, (_, tile) => tile)))).toMatchObject({ sound: false })
  })
})
