import { crc32, deflateSync } from 'node:zlib'
import sharp from 'sharp'

const picture = (width = 64, height = 48) => {
  const pixels = Buffer.from(Array.from({ length: width * height * 3 }, (_, index) => (index * 37 + (index >> 5) * 11) & 255))
  return sharp(pixels, { raw: { width, height, channels: 3 } })
}

export const png = () => picture().png().toBuffer()
export const jpeg = () => picture().jpeg({ quality: 90 }).toBuffer()
export const progressiveJpeg = () => picture().jpeg({ progressive: true }).toBuffer()
export const gif = () => picture().gif().toBuffer()
export const webp = () => picture().webp({ lossless: true }).toBuffer()
export const tiff = (compression: 'none' | 'lzw' | 'deflate' = 'lzw') => picture().tiff({ compression }).toBuffer()
export const avif = () => picture().avif({ effort: 0 }).toBuffer()

export async function animation(format: 'gif' | 'webp'): Promise<Buffer> {
  const frames = await Promise.all([0, 90, 180].map((hue) => picture().modulate({ hue }).raw().toBuffer()))
  const film = sharp(Buffer.concat(frames), {
    raw: { width: 64, height: 144, channels: 3, pageHeight: 48 } as { width: number; height: number; channels: 3 },
  })
  return format === 'gif' ? film.gif().toBuffer() : film.webp({ lossless: true }).toBuffer()
}

const u32be = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export const pngChunk = (type: string, body: Buffer) => {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), body])
  return Buffer.concat([u32be(body.length), named, u32be(crc32(named))])
}

/** Creates a gray PNG with an arbitrary size in its header. The data consists of `rows` zeros. */
export function pngClaiming(width: number, height: number, rows = 1024): Buffer {
  const header = Buffer.concat([u32be(width), u32be(height), Buffer.from([8, 0, 0, 0, 0])])
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(Buffer.alloc(rows))),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

interface BmpOptions {
  depth?: number
  width?: number
  height?: number
  planes?: number
  headerSize?: number
  compression?: number
  data?: Buffer
}

/** Creates a BMP, by default with 10 by 6 pixels. */
export function bmp(options: BmpOptions = {}): Buffer {
  const { depth = 24, width = 10, height = 6, planes = 1, headerSize = 40, compression = 0 } = options
  const palette = depth <= 8 ? Buffer.alloc(4 * 2 ** depth, 0x7f) : Buffer.alloc(0)
  const data = options.data ?? Buffer.alloc(Math.ceil((10 * depth) / 32) * 4 * 6, 0x33)
  const header = Buffer.alloc(14 + headerSize)
  header.write('BM', 'latin1')
  header.writeUInt32LE(header.length + palette.length + data.length, 2)
  header.writeUInt32LE(header.length + palette.length, 10)
  header.writeUInt32LE(headerSize, 14)
  if (headerSize === 12) {
    for (const [index, value] of [width, height, planes, depth].entries()) header.writeUInt16LE(value, 18 + index * 2)
  } else {
    header.writeInt32LE(width, 18)
    header.writeInt32LE(height, 22)
    header.writeUInt16LE(planes, 26)
    header.writeUInt16LE(depth, 28)
    if (headerSize >= 20) header.writeUInt32LE(compression, 30)
  }
  return Buffer.concat([header, palette, data])
}

/** Creates run-length encoded rows of ten pixels, each with its end mark. */
export const rleRows = (rows = 6, endMark = true) =>
  Buffer.from([...Array.from({ length: rows }, () => [10, 0x42, 0, 0]).flat(), ...(endMark ? [0, 1] : [])])

/** Creates a TIFF whose list of pages is circular. */
export async function circularTiff(): Promise<Buffer> {
  const bytes = Buffer.from(await tiff('none'))
  const little = bytes.toString('latin1', 0, 2) === 'II'
  const first = little ? bytes.readUInt32LE(4) : bytes.readUInt32BE(4)
  const next = first + 2 + 12 * (little ? bytes.readUInt16LE(first) : bytes.readUInt16BE(first))
  if (little) bytes.writeUInt32LE(first, next)
  else bytes.writeUInt32BE(first, next)
  return bytes
}

/** Returns a copy without one field of the first directory. */
export function withoutTiffField(bytes: Buffer, tag: number): Buffer {
  const at = bytes.readUInt32LE(4)
  const count = bytes.readUInt16LE(at)
  const entries = Array.from({ length: count }, (_, index) => bytes.subarray(at + 2 + index * 12, at + 14 + index * 12))
  const stored = entries.filter((entry) => entry.readUInt16LE() !== tag)
  const directory = Buffer.concat([Buffer.from([stored.length, 0]), ...stored, Buffer.alloc(4)])
  return Buffer.concat([bytes.subarray(0, at), directory, bytes.subarray(at + directory.length)])
}

export const tiledTiff = () =>
  picture(256, 256).tiff({ compression: 'lzw', tile: true, tileWidth: 64, tileHeight: 64 }).toBuffer()

/** Creates a TIFF without the given tiles, whose offsets and lengths are 0, as written by GDAL. */
export async function sparseTiff(empty: number[]): Promise<Buffer> {
  const bytes = await tiledTiff()
  const directory = bytes.readUInt32LE(4)
  for (let at = directory + 2; at < directory + 2 + bytes.readUInt16LE(directory) * 12; at += 12) {
    if (![324, 325].includes(bytes.readUInt16LE(at))) continue
    const size = bytes.readUInt16LE(at + 2) === 3 ? 2 : 4
    for (const tile of empty)
      bytes.fill(0, bytes.readUInt32LE(at + 8) + tile * size, bytes.readUInt32LE(at + 8) + (tile + 1) * size)
  }
  return bytes
}

/** Creates a TIFF with one JPEG tile of 64 by 64 RGBA pixels. */
export async function rgbaJpegTiff(): Promise<Buffer> {
  const data = await picture(64, 64).toColorspace('cmyk').jpeg({ chromaSubsampling: '4:4:4' }).toBuffer()
  const fields: [number, number][] = [
    [256, 64],
    [257, 64],
    [262, 2],
    [322, 64],
    [323, 64],
    [324, 8],
    [325, data.length],
    [338, 2],
  ]
  const bytes = rawTiff({ bits: 8, samples: 4, compression: 7, data, fields })
  return [278, 279, 273].reduce(withoutTiffField, bytes)
}

interface RawTiff {
  bits: number
  samples: number
  compression: number
  data: Buffer
  /** Additional fields as [tag, value, type]. They override fields with the same tag. */
  fields?: [tag: number, value: number, type?: number][]
}

/** Creates a gray TIFF of 8 by 5 pixels in one strip with a sample layout that libvips does not write. */
export function rawTiff({ bits, samples, compression, data, fields: further = [] }: RawTiff): Buffer {
  const usual: [tag: number, value: number, type?: number][] = [
    [256, 8],
    [257, 5],
    [258, bits],
    [259, compression],
    [262, 1],
    [273, 8],
    [277, samples],
    [278, 5],
    [279, data.length],
  ]
  const fields = [...usual.filter(([tag]) => !further.some(([other]) => other === tag)), ...further].sort((a, b) => a[0] - b[0])
  const directory = Buffer.alloc(2 + fields.length * 12 + 4)
  directory.writeUInt16LE(fields.length)
  for (const [index, [tag, value, type = 4]] of fields.entries()) {
    directory.writeUInt16LE(tag, 2 + index * 12)
    directory.writeUInt16LE(type, 4 + index * 12)
    directory.writeUInt32LE(1, 6 + index * 12)
    directory.writeUInt32LE(value, 10 + index * 12)
  }
  const head = Buffer.from('II*\0\0\0\0\0', 'latin1')
  head.writeUInt32LE(8 + data.length, 4)
  return Buffer.concat([head, data, directory])
}
