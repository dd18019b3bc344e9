import { deflateSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from '@jest/globals'
import sharp from 'sharp'
import { DeadlineExceeded, type FormatReader, type FormatVerdict, type ReaderLimits } from '../../src/format.js'
import { readBmp } from '../../src/image/bmp.js'
import { readGif } from '../../src/image/gif.js'
import { readAvif, readHeic } from '../../src/image/heif.js'
import { decodeImagesWith } from '../../src/image/image-decoder.js'
import { readJpeg } from '../../src/image/jpeg.js'
import { decodeImage } from '../../src/image/libvips.js'
import { readPng } from '../../src/image/png.js'
import { readTiff } from '../../src/image/tiff.js'
import { readWebp } from '../../src/image/webp.js'
import { MemorySource } from '../../src/random-access-source.js'
import { noise } from '../support/samples/archive.js'
import {
  animation,
  avif,
  bmp,
  circularTiff,
  gif,
  jpeg,
  png,
  pngChunk,
  pngClaiming,
  progressiveJpeg,
  rawTiff,
  rleRows,
  tiff,
  tiledTiff,
  webp,
  withoutTiffField,
} from '../support/samples/image.js'
import { mutate } from '../support/samples/mutations.js'

// This test runs libvips in the test process.
decodeImagesWith((source, task) => decodeImage(source.readAll(2 ** 27), task))

const limits = (changes: Partial<ReaderLimits> = {}): ReaderLimits => ({
  maxUnpackedBytes: 2 ** 30,
  maxRatio: 100,
  maxEntries: 10_000,
  maxNesting: 4,
  maxPictureBits: 2 ** 31,
  maxDepth: 256,
  deadline: Date.now() + 90_000,
  ...changes,
})

const read = (reader: FormatReader, bytes: Buffer, changes?: Partial<ReaderLimits>, extension = ''): Promise<FormatVerdict> =>
  Promise.resolve().then(() => reader(new MemorySource(bytes, extension), limits(changes)))

const valid = { sound: true }
const invalid = (problem: RegExp) => ({ sound: false, problem: expect.stringMatching(problem) })
const flood = { sound: false, maliciousConstruction: 'pixel_flood', problem: expect.stringMatching(/pixel flood/) }
const firstPart = (bytes: Buffer, share: number) => bytes.subarray(0, Math.floor(bytes.length * share))
const damaged = (bytes: Buffer, at: number, length: number, value = 0) => Buffer.from(bytes).fill(value, at, at + length)
const trailer = Buffer.from('bytes that were appended to a whole image')

const created: Record<string, Buffer> = {}
const sample = (name: string) => created[name] as Buffer
beforeAll(async () => {
  const makers = { png, jpeg, progressiveJpeg, gif, webp, tiff, avif }
  for (const [name, make] of Object.entries(makers)) created[name] = await make()
  created.animatedGif = await animation('gif')
  created.animatedWebp = await animation('webp')
  created.bmp = bmp()
})

const readers: [string, FormatReader][] = [
  ['png', readPng],
  ['jpeg', readJpeg],
  ['progressiveJpeg', readJpeg],
  ['gif', readGif],
  ['animatedGif', readGif],
  ['webp', readWebp],
  ['animatedWebp', readWebp],
  ['tiff', readTiff],
  ['avif', readAvif],
  ['bmp', readBmp],
]

describe.each(readers)('image reader for %s', (name, reader) => {
  test('accepts an intact image', async () => {
    expect(await read(reader, sample(name))).toMatchObject({ sound: true, notes: [] })
  })

  test('rejects every truncated copy of the image', async () => {
    for (const share of [0.05, 0.3, 0.5, 0.75, 0.9])
      expect(await read(reader, firstPart(sample(name), share))).toMatchObject(invalid(/./))
  })

  test('accepts trailing bytes after an image', async () => {
    expect(await read(reader, Buffer.concat([sample(name), Buffer.alloc(8), trailer]))).toMatchObject(valid)
  })

  test('rejects content of another type', async () => {
    expect(await read(reader, Buffer.from('No picture of anything.\n'.repeat(40)))).toMatchObject(invalid(/./))
    expect(await read(reader, Buffer.alloc(0))).toMatchObject(invalid(/./))
    expect(await read(reader, damaged(sample(name), 0, 16))).toMatchObject(invalid(/./))
  })

  test('returns a verdict for every mutated copy of the image', async () => {
    for (const mutation of mutate(sample(name), 60, name.length)) {
      const verdict = await read(reader, mutation)
      expect(typeof verdict.sound).toBe('boolean')
    }
  })

  test('rejects a non-BMP image whose header declares too many pixels', async () => {
    // The pixel limit does not apply to uncompressed images, because the file size already limits them.
    expect(await read(reader, sample(name), { maxPictureBits: 20 })).toMatchObject(name === 'bmp' ? valid : flood)
  })

  test('applies the pixel limit to an image with padding after its end', async () => {
    const padded = Buffer.concat([sample(name), Buffer.alloc(1024 * 1024)])
    expect(await read(reader, padded, { maxPictureBits: 20 })).toMatchObject(name === 'bmp' ? valid : flood)
  })

  test('stops decoding an image at the deadline', async () => {
    if (name === 'bmp') return // The header of a BMP image is sufficient to check it.
    await expect(read(reader, sample(name), { deadline: Date.now() - 1 })).rejects.toThrow(DeadlineExceeded)
  })
})

describe('PNG images', () => {
  test('decodes a 100-megapixel PNG image only if the pixel limit allows it, and uses little memory', async () => {
    const bomb = pngClaiming(10_001, 10_001, 10_002 * 10_001)
    expect(bomb.length).toBeLessThan(200_000)
    expect(await read(readPng, bomb)).toMatchObject(flood)
    const before = process.memoryUsage.rss()
    expect(await read(readPng, bomb, { maxPictureBits: 2 ** 33 })).toMatchObject(valid)
    expect(process.memoryUsage.rss() - before).toBeLessThan(90 * 1024 * 1024)
  })

  test('verifies every checksum in a PNG image except those of optional chunks', async () => {
    const bytes = sample('png')
    const data = bytes.indexOf('IDAT')
    expect(await read(readPng, damaged(bytes, data + 20, 1, (bytes[data + 20] as number) ^ 1))).toMatchObject(
      invalid(/checksum.*IDAT/),
    )
    expect(await read(readPng, damaged(bytes, 18, 1, 9))).toMatchObject(invalid(/checksum.*IHDR/))
    const comment = pngChunk('tEXt', Buffer.from('Comment\0hello'))
    const withComment = Buffer.concat([bytes.subarray(0, 33), damaged(comment, 10, 1, 0x7a), bytes.subarray(33)])
    expect(await read(readPng, withComment)).toMatchObject({ sound: true, notes: [expect.stringMatching(/tEXt/)] })
  })

  test('rejects a PNG image with fewer rows than its header states', async () => {
    expect(await read(readPng, pngClaiming(100, 100, 500))).toMatchObject(invalid(/decoded/))
    expect(await read(readPng, pngClaiming(100, 100, 101 * 100))).toMatchObject(valid)
  })
})

describe('JPEG images', () => {
  test('rejects a JPEG image that lacks its last bytes or some bytes in the middle', async () => {
    const bytes = sample('jpeg')
    expect(await read(readJpeg, bytes.subarray(0, -40))).toMatchObject(invalid(/truncated|damaged/))
    expect(await read(readJpeg, Buffer.concat([bytes.subarray(0, -1000), bytes.subarray(-700)]))).toMatchObject(
      invalid(/damaged/),
    )
  })

  test('rejects a JPEG image with an invalid number of bits per sample', async () => {
    const bytes = sample('jpeg')
    const frame = bytes.indexOf(Buffer.from([0xff, 0xc0]))
    expect(await read(readJpeg, damaged(bytes, frame + 4, 1, 255))).toMatchObject(invalid(/255 bits/))
  })

  test('accepts a second image that a camera appended to a JPEG image', async () => {
    expect(await read(readJpeg, Buffer.concat([sample('jpeg'), sample('progressiveJpeg')]))).toMatchObject(valid)
  })
})

describe('GIF images', () => {
  test('decodes all frames of a GIF image', async () => {
    const bytes = sample('animatedGif')
    expect(await read(readGif, bytes)).toMatchObject({ evidence: { frames: 3 } })
    expect(await read(readGif, damaged(bytes, bytes.length - 400, 60, 0xff))).toMatchObject(invalid(/image 3/))
  })

  test('accepts a GIF image without an end marker', async () => {
    const bytes = sample('gif')
    expect(await read(readGif, bytes.subarray(0, -1))).toMatchObject({ sound: true, notes: [expect.stringMatching(/end mark/)] })
  })
})

describe('WebP images and PNG chunks', () => {
  test('counts all frames in a WebP image', async () => {
    expect(await read(readWebp, sample('animatedWebp'))).toMatchObject({ sound: true, evidence: { frames: 3 } })
  })
})

test('accepts a PNG image with an unknown optional chunk, but not with an unknown critical chunk', async () => {
  const whole = await png()
  const withChunk = (type: string) => Buffer.concat([whole.subarray(0, 33), pngChunk(type, Buffer.alloc(4)), whole.subarray(33)])
  expect(await read(readPng, withChunk('abCd'))).toMatchObject(valid)
  expect(await read(readPng, withChunk('AbCd'))).toMatchObject(invalid(/unknown critical chunk AbCd/))
  expect(await read(readPng, withChunk('abcd'))).toMatchObject(invalid(/no valid chunk/))
})

describe('large PNG images inflated in chunks', () => {
  test('rejects a large PNG image that is damaged, lacks rows or has an unknown filter', async () => {
    const [width, rowBytes] = [1500, 1501]
    const rows = Buffer.alloc(3000 * rowBytes, noise(100_003))
    for (let row = 0; row < 3000; row++) rows[row * rowBytes] = 1
    const header = Buffer.alloc(13)
    header.writeUInt32BE(width)
    header.writeUInt32BE(3000, 4)
    header[8] = 8
    const pictureOf = (unpacked: Buffer, damage = 0) => {
      const data = deflateSync(unpacked, { level: 1 })
      if (damage) data.fill(0xff, damage, damage + 500)
      const parts = Array.from({ length: Math.ceil(data.length / 8192) }, (_, at) => data.subarray(at * 8192, (at + 1) * 8192))
      return Buffer.concat([
        Buffer.from('89504e470d0a1a0a', 'hex'),
        pngChunk('IHDR', header),
        ...parts.map((part) => pngChunk('IDAT', part)),
        pngChunk('IEND', Buffer.alloc(0)),
      ])
    }
    expect(await read(readPng, pictureOf(rows))).toMatchObject({ sound: true, evidence: { width, height: 3000 } })
    expect(await read(readPng, pictureOf(Buffer.concat([rows, Buffer.alloc(300)])))).toMatchObject(valid)
    expect(await read(readPng, pictureOf(rows.subarray(0, -1)))).toMatchObject(
      invalid(/the image data ends after 4502999 of 4503000 bytes/),
    )
    const odd = Buffer.from(rows)
    odd[2000 * rowBytes] = 7
    expect(await read(readPng, pictureOf(odd))).toMatchObject(invalid(/filter 7/))
    expect(await read(readPng, pictureOf(rows, 1_000_000))).toMatchObject(invalid(/cannot be decoded/))
  })
})

describe('TIFF images', () => {
  test('accepts a large black-and-white TIFF image, because the pixel limit counts bits', async () => {
    const create = { width: 9_933, height: 9_933, channels: 3, background: 'white' } as const
    const scan = await sharp({ create, limitInputPixels: false })
      .toColorspace('b-w')
      .tiff({ compression: 'ccittfax4', bitdepth: 1 })
      .toBuffer()
    expect(await read(readTiff, scan)).toMatchObject({ sound: true, evidence: { width: 9_933, height: 9_933 } })
  })

  test.each(['none', 'lzw', 'deflate'] as const)('accepts a TIFF image with %s compression', async (compression) => {
    expect(await read(readTiff, await tiff(compression))).toMatchObject(valid)
  })

  test('reads each page of a TIFF image only once, even if the pages form a cycle', async () => {
    expect(await read(readTiff, await circularTiff())).toMatchObject({
      sound: true,
      evidence: { pages: 1 },
      notes: [expect.stringMatching(/circular/)],
    })
  })

  test('checks only the structure of a TIFF image whose sample size libvips cannot decode', async () => {
    const layout = { bits: 12, samples: 1, compression: 1, data: Buffer.alloc(60, 0x5a) }
    expect(await read(readTiff, rawTiff(layout))).toMatchObject({
      sound: true,
      notes: [expect.stringMatching(/only its structure/)],
    })
    expect(await read(readTiff, rawTiff({ ...layout, data: Buffer.alloc(40) }))).toMatchObject(
      invalid(/40 of the page's 60 bytes/),
    )
    expect(await read(readTiff, rawTiff({ ...layout, data: Buffer.alloc(0) }))).toMatchObject(invalid(/0 of the page's 60 bytes/))
    expect(await read(readTiff, rawTiff({ ...layout, bits: 900 }))).toMatchObject(invalid(/60 of the page's 4500 bytes/))
  })

  test('decodes a TIFF image without a PhotometricInterpretation field and adds a note', async () => {
    for (const compression of ['none', 'lzw'] as const) {
      const stripped = withoutTiffField(await tiff(compression), 262)
      expect(await read(readTiff, stripped)).toEqual({
        sound: true,
        notes: [expect.stringMatching(/PhotometricInterpretation/)],
        evidence: { pages: 1, width: 64, height: 48 },
      })
    }
    const stripped = withoutTiffField(await tiff('lzw'), 262)
    expect(await read(readTiff, damaged(stripped, 40, 200, 0xff))).toMatchObject(invalid(/decoded/))
    const layout = { bits: 8, samples: 1, compression: 1, data: Buffer.alloc(40, 0x5a) }
    expect(await read(readTiff, withoutTiffField(rawTiff(layout), 262))).toMatchObject(valid)
    const cut = withoutTiffField(rawTiff({ ...layout, data: Buffer.alloc(30) }), 262)
    expect(await read(readTiff, cut)).toMatchObject(invalid(/30 of the page's 40 bytes/))
  })

  test('rejects a TIFF image with damaged tiles or strips', async () => {
    const bytes = await tiledTiff()
    expect(await read(readTiff, bytes)).toMatchObject(valid)
    expect(await read(readTiff, damaged(bytes, 300, 200, 0xff))).toMatchObject(invalid(/decoded/))
  })

  test('rejects a TIFF image whose data offsets are beyond the end of the file', async () => {
    const bytes = await tiff('none')
    expect(await read(readTiff, Buffer.concat([bytes.subarray(0, 8), bytes.subarray(bytes.length - 300)]))).toMatchObject(
      invalid(/./),
    )
  })
})

describe('BMP images', () => {
  test.each([1, 4, 8, 16, 24, 32])('accepts a BMP image with %i bits per pixel', async (depth) => {
    expect(await read(readBmp, bmp({ depth }))).toMatchObject(valid)
    expect(await read(readBmp, bmp({ depth }).subarray(0, -25))).toMatchObject(invalid(/truncated/))
  })

  test.each([12, 16, 40, 52, 56, 64, 108, 124])('accepts a BMP image with a header of %i bytes', async (headerSize) => {
    expect(await read(readBmp, bmp({ headerSize }))).toMatchObject(valid)
  })

  test('rejects a BMP image with a truncated last row, but accepts one without row padding', async () => {
    const rows = (length: number) => read(readBmp, bmp({ data: Buffer.alloc(length, 0x33) }))
    expect(await rows(180)).toMatchObject(valid)
    expect(await rows(190)).toMatchObject(valid)
    expect(await rows(188)).toMatchObject(invalid(/truncated/))
  })

  test('accepts a top-down BMP image', async () => {
    expect(await read(readBmp, bmp({ height: -6 }))).toMatchObject(valid)
  })

  test('rejects a BMP image with an invalid header', async () => {
    expect(await read(readBmp, bmp({ planes: 5000 }))).toMatchObject(invalid(/planes/))
    expect(await read(readBmp, bmp({ width: -10 }))).toMatchObject(invalid(/dimensions/))
    expect(await read(readBmp, bmp({ headerSize: 90 }))).toMatchObject(invalid(/unknown size/))
    expect(await read(readBmp, damaged(bmp(), 28, 1, 33))).toMatchObject(invalid(/33 bits/))
    expect(await read(readBmp, damaged(bmp(), 30, 1, 77))).toMatchObject(invalid(/compression 77/))
    expect(await read(readBmp, bmp({ width: 3_000_000, height: 2_000_000 }))).toMatchObject(flood)
  })

  test('decodes the run-length encoded rows of a BMP image up to their end marker', async () => {
    const rle = (data: Buffer) => bmp({ depth: 8, compression: 1, data })
    expect(await read(readBmp, rle(rleRows()))).toMatchObject(valid)
    expect(await read(readBmp, rle(rleRows(6, false)))).toMatchObject(valid)
    expect(await read(readBmp, rle(rleRows(3, false)))).toMatchObject(invalid(/truncated in row 4/))
  })
})

describe('HEIC images', () => {
  test('rejects a truncated HEIC image and notes that an intact one was not decoded', async () => {
    expect(await read(readHeic, sample('avif').subarray(0, 100))).toMatchObject(invalid(/./))
    const heic = Buffer.from(sample('avif'))
    for (let at = heic.indexOf('avif'); at >= 0 && at < 40; at = heic.indexOf('avif', at)) heic.write('heic', at, 'latin1')
    expect(await read(readHeic, heic)).toMatchObject({ sound: true, notes: [expect.stringMatching(/only its structure/)] })
  })
})
