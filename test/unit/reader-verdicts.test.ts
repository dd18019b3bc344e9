import { gzipSync } from 'node:zlib'
import { describe, expect, test } from '@jest/globals'
import { checkImageSize } from '../../packages/formats/src/image/image-size.js'
import { defaultLimits, examine } from '../../packages/formats/src/inspect.js'
import { MemorySource } from '../../packages/formats/src/random-access-source.js'
import { noise } from '../../packages/formats/test/support/samples/archive.js'
import * as basic from '../../packages/formats/test/support/samples/basic.js'
import { jpeg } from '../../packages/formats/test/support/samples/image.js'
import * as media from '../../packages/formats/test/support/samples/media.js'
import { box, fragmentedMp4, mp4 } from '../../packages/formats/test/support/samples/mp4.js'

/** Returns 'valid' or the reason for the rejection. */
async function runReader(extension: string, bytes: Buffer): Promise<string> {
  const { recognition, blankness, soundness } = await examine(new MemorySource(bytes, extension), { blank: true })
  if (!recognition.fits) return `invalid_extension: it is ${recognition.type}`
  if (blankness?.blank) return 'blank'
  const { verdict } = soundness!
  return verdict.sound ? 'valid' : `${verdict.maliciousConstruction ?? 'corrupt'}: ${verdict.problem}`
}

const text = (content: string) => Buffer.from(content, 'latin1')
const der = (length: number) => Buffer.concat([Buffer.from([0x30, 0x82, length >> 8, length & 255]), noise(length)])
const segment = () => {
  const film = fragmentedMp4()
  return Buffer.concat([box('styp', text('msdh\0\0\0\0msdh')), film.subarray(film.indexOf('moof') - 4)])
}
const brand = (bytes: Buffer, name: string) => {
  const changed = Buffer.from(bytes)
  changed.write(name, 8, 'latin1')
  return changed
}
const mobi = Buffer.concat([Buffer.alloc(60, 'book'), text('BOOKMOBI'), noise(300)])
const smallJpeg = await jpeg()
const graph = 'digraph { a -> b }\n'
const programStream = Buffer.concat([Buffer.from('000001ba44000400040101', 'hex'), Buffer.from([0x89, 0xc3, 0xf8]), noise(4000)])
const adtsLength = ((media.aac()[3]! & 3) << 11) | (media.aac()[4]! << 3) | (media.aac()[5]! >> 5)
const id3 = Buffer.concat([text('ID3\x04\0\0\0\0\0\x0a'), Buffer.alloc(10)])

describe('valid files', () => {
  test.each<[string, string, Buffer]>([
    ['JPEG XL as a bare codestream', 'jxl', Buffer.concat([Buffer.from('ff0a', 'hex'), noise(300)])],
    ['a DASH segment', 'm4s', segment()],
    ['a DASH segment', 'cmfv', segment()],
    ['a video with a camera extension', 'insv', mp4()],
    ['a video with a camera extension', 'lrv', mp4()],
    ['an image with a camera extension', 'insp', basic.bmp()],
    ['a stereo image', 'jps', smallJpeg],
    ['a Smooth Streaming video', 'ismv', segment()],
    ['3GPP audio', '3ga', brand(mp4(), '3gp4')],
    ['a Kindle book', 'azw', mobi],
    ['a Kindle book', 'azw3', mobi],
    ['a Mobipocket book', 'prc', mobi],
    ['an Arrow table', 'feather', Buffer.concat([text('ARROW1\0\0'), noise(200), text('ARROW1')])],
    ['an avatar model', 'vrm', Buffer.concat([text('glTF\x02\0\0\0\xcc\0\0\0'), noise(192)])],
    ['a JPEG XR image', 'wdp', Buffer.concat([text('II\xbc\x01\x20\0\0\0'), noise(200)])],
    ['a table with a short extension', 'pq', Buffer.concat([text('PAR1'), noise(100), text('PAR1')])],
    ['a graph', 'dot', text(graph)],
    [
      'an Office theme',
      'thmx',
      basic.zip({ '[Content_Types].xml': '<Types/>', '_rels/.rels': '<a/>', 'theme/theme/theme1.xml': '<a/>' }),
    ],
    ['a certificate in DER', 'crt', der(700)],
    ['keys in DER', 'p12', der(700)],
    ['Opus in Matroska audio', 'mka', media.webm()],
    ['a binary property list', 'plist', Buffer.concat([text('bplist00'), noise(200)])],
    ['a Keynote presentation', 'key', basic.zip({ 'Index/Document.iwa': 'x' })],
    ['an MPEG program stream named as audio', 'mp3', programStream],
    [
      'Ogg with padding between its pages',
      'ogg',
      Buffer.concat([
        media.ogg().subarray(0, media.ogg().indexOf('OggS', 4)),
        Buffer.alloc(64),
        media.ogg().subarray(media.ogg().indexOf('OggS', 4)),
      ]),
    ],
    ['ID3 before a short ADTS', 'aac', Buffer.concat([id3, media.aac().subarray(0, 2 * adtsLength)])],
    ['ID3 before ADTS', 'aac', Buffer.concat([id3, media.aac()])],
    ['zip64 signatures in a name', 'zip', basic.zip({ 'PK\x06\x06PK\x06\x07.txt': 'hello' })],
    ['ten megabytes of zeros', 'zip', basic.zip({ zeros: Buffer.alloc(10 * 1024 * 1024) })],
    ['ten megabytes of zeros', 'gz', gzipSync(Buffer.alloc(10 * 1024 * 1024))],
    ['a QuickTime video named .mp4', 'mp4', brand(mp4(), 'qt  ')],
    ['Matroska named .webm', 'webm', media.webm({ type: 'matroska' })],
  ])('accepts a valid file: %s (.%s)', async (_, extension, bytes) => {
    expect(await runReader(extension, bytes)).toBe('valid')
  })
})

test('opens a video with the extension of a similar format and reports its actual type', async () => {
  const notesOf = async (extension: string, bytes: Buffer) => {
    return (await examine(new MemorySource(bytes, extension), { blank: true })).soundness?.verdict
  }
  const film = mp4()
  for (let at = 8; at < film.readUInt32BE(); at += 4) if (at !== 12) film.write('qt  ', at, 'latin1')
  expect(await notesOf('mp4', film)).toMatchObject({ notes: ['the brand identifies the file as a QuickTime movie'] })
  expect(await notesOf('webm', media.webm({ type: 'matroska' }))).toMatchObject({
    notes: ['the document type identifies the file as Matroska'],
  })
})

test.each([
  [300, 9_933, 14_043],
  [400, 13_244, 18_724],
])('accepts a black-and-white A0 plan at %d dpi but rejects it in color', (_, width, height) => {
  expect(checkImageSize('TIFF', { width, height, bits: 1 }, defaultLimits(1000))).toBeUndefined()
  expect(checkImageSize('PNG', { width, height, bits: 24 }, defaultLimits(1000))).toMatchObject({
    maliciousConstruction: 'pixel_flood',
  })
})

describe('invalid files', () => {
  const signed = 'eps ttf otf dcm dng cr2 nef arw parquet mpp pub amr dwg'.split(' ')

  test.each(signed)('rejects random data and text with the extension .%s', async (extension) => {
    expect(await runReader(extension, noise(5000))).toMatch(/corrupt/)
    expect(await runReader(extension, text('just text\n'.repeat(50)))).toMatch(/corrupt/)
  })

  test('rejects XML or HTML saved as .doc or .xls and names the actual type', async () => {
    const word = '<?xml version="1.0"?>\n<?mso-application progid="Word.Document"?>\n<w:wordDocument xmlns:w="w"/>'
    expect(await runReader('doc', text(word))).toMatch(/Word 2003 XML.*extension is \.xml/)
    expect(await runReader('xls', text('<html><body><table></table></body></html>'))).toMatch(
      /web page.*usual extension is \.html/,
    )
  })

  test('rejects a WAV file that is shorter than its declared length', async () => {
    const complete = media.wav()
    expect(await runReader('wav', complete.subarray(0, complete.length >> 1))).toMatch(/corrupt/)
  })

  test('rejects an archive that spans several disks', async () => {
    const bytes = basic.zip({ 'a.txt': 'hello' })
    const end = bytes.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'))
    bytes.writeUInt16LE(1, end + 4)
    bytes.writeUInt16LE(1, end + 6)
    expect(await runReader('zip', bytes)).toMatch(/corrupt/)
  })

  test('rejects a zip that is truncated immediately after a nested zip', async () => {
    const inner = basic.zip({ 'b.txt': 'inner' })
    const outer = basic.zip({ 'a.txt': 'first', 'inner.zip': inner, 'z.bin': noise(200) })
    expect(await runReader('zip', outer.subarray(0, outer.indexOf(inner) + inner.length))).toMatch(/corrupt/)
  })

  test('rejects a zip with local headers and an empty central directory', async () => {
    const bytes = basic.zip({ 'a.txt': noise(2_000_000) })
    const directory = bytes.lastIndexOf(Buffer.from('PK\x01\x02', 'latin1'))
    const empty = Buffer.alloc(22)
    empty.write('PK\x05\x06', 'latin1')
    empty.writeUInt32LE(directory, 16)
    expect(await runReader('zip', Buffer.concat([bytes.subarray(0, directory), empty]))).toMatch(/corrupt|polyglot|zip/)
  })

  test('rejects an SVG that draws a billion shapes', async () => {
    const levels = Array.from({ length: 9 }, (_, at) => `<g id="a${at + 1}">${`<use href="#a${at}"/>`.repeat(10)}</g>`)
    const bomb = `<svg xmlns="http://www.w3.org/2000/svg"><rect id="a0" width="1" height="1"/>${levels.join('')}<use href="#a9"/></svg>`
    expect(await runReader('svg', text(bomb))).toMatch(/^svg_use/)
    const honest = `<svg xmlns="http://www.w3.org/2000/svg"><rect id="a0"/>${'<use href="#a0"/>'.repeat(500)}</svg>`
    expect(await runReader('svg', text(honest))).toBe('valid')
  })

  test('rejects an executable with an unknown extension', async () => {
    expect(await runReader('acme', basic.exe())).toBe('invalid_extension: it is exe')
  })
})
