import { crc32, deflateSync, gzipSync } from 'node:zlib'
import CFB from 'cfb'

const chunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

export function png(width = 8, height = 8): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2, 0, 0, 0], 8)
  const rows = Buffer.alloc((width * 3 + 1) * height, 0)
  for (let at = 0; at < rows.length; at++) if (at % (width * 3 + 1) !== 0) rows[at] = (at * 37) & 255
  const signature = Buffer.from('89504e470d0a1a0a', 'hex')
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))])
}

/** Returns a GIF with one transparent pixel, formerly common as a tracking pixel. */
export const gif = (): Buffer => Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

export function bmp(): Buffer {
  const bytes = Buffer.alloc(54 + 16)
  bytes.write('BM', 0, 'latin1')
  bytes.writeUInt32LE(bytes.length, 2)
  bytes.writeUInt32LE(54, 10)
  bytes.writeUInt32LE(40, 14)
  bytes.writeInt32LE(2, 18)
  bytes.writeInt32LE(2, 22)
  bytes.writeUInt16LE(1, 26)
  bytes.writeUInt16LE(24, 28)
  bytes.writeUInt32LE(16, 34)
  return bytes
}

export function wav(samples = 400): Buffer {
  const bytes = Buffer.alloc(44 + samples)
  bytes.write('RIFF', 0, 'latin1')
  bytes.writeUInt32LE(36 + samples, 4)
  bytes.write('WAVEfmt ', 8, 'latin1')
  bytes.writeUInt32LE(16, 16)
  bytes.writeUInt16LE(1, 20)
  bytes.writeUInt16LE(1, 22)
  bytes.writeUInt32LE(8000, 24)
  bytes.writeUInt32LE(8000, 28)
  bytes.writeUInt16LE(1, 32)
  bytes.writeUInt16LE(8, 34)
  bytes.write('data', 36, 'latin1')
  bytes.writeUInt32LE(samples, 40)
  for (let at = 0; at < samples; at++) bytes[44 + at] = 128 + Math.round(100 * Math.sin(at / 5))
  return bytes
}

/** Creates a PDF of empty pages with a valid cross-reference table. `extra` follows the header. */
export function pdf({ extra = '', pages = 1 } = {}): Buffer {
  const kids = Array.from({ length: pages }, (_, index) => `${index + 3} 0 R`)
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    `<</Type/Pages/Kids[${kids.join(' ')}]/Count ${pages}>>`,
    ...kids.map(() => '<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>'),
  ]
  let text = `%PDF-1.4\n${extra}`
  const offsets = objects.map((body, index) => {
    const offset = text.length
    text += `${index + 1} 0 obj\n${body}\nendobj\n`
    return offset
  })
  const start = text.length
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')}`
  return Buffer.from(`${text}trailer\n<</Size ${objects.length + 1}/Root 1 0 R>>\nstartxref\n${start}\n%%EOF\n`, 'latin1')
}

export function zip(members: Record<string, string | Buffer>, comment = Buffer.alloc(0)): Buffer {
  const locals: Buffer[] = []
  const central: Buffer[] = []
  let offset = 0
  for (const [name, content] of Object.entries(members)) {
    const data = Buffer.from(content as string)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt32LE(crc32(data), 10)
    common.writeUInt32LE(data.length, 14)
    common.writeUInt32LE(data.length, 18)
    common.writeUInt16LE(Buffer.byteLength(name), 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, Buffer.from(name), data])
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(offset, 10)
    central.push(Buffer.concat([Buffer.from('PK\x01\x02', 'latin1'), Buffer.from([20, 0]), common, rest, Buffer.from(name)]))
    locals.push(local)
    offset += local.length
  }
  const directory = Buffer.concat(central)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 0, 'latin1')
  end.writeUInt16LE(central.length, 8)
  end.writeUInt16LE(central.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  end.writeUInt16LE(comment.length, 20)
  return Buffer.concat([...locals, directory, end, comment])
}

const xml = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
const relationships = 'http://schemas.openxmlformats.org/package/2006/relationships'
const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'

/** Creates a minimal document that Word opens. */
export const docx = (): Buffer =>
  zip({
    '[Content_Types].xml': `${xml}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`,
    '_rels/.rels': `${xml}<Relationships xmlns="${relationships}"><Relationship Id="r1" Type="${office}/officeDocument" Target="word/document.xml"/></Relationships>`,
    'word/document.xml': `${xml}<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>Hello</w:t></w:r></w:p></w:body></w:document>`,
  })

export const xlsxNames = { '[Content_Types].xml': xml, '_rels/.rels': xml, 'xl/workbook.xml': xml }
export const pptxNames = { '[Content_Types].xml': xml, '_rels/.rels': xml, 'ppt/presentation.xml': xml }
export const odt = (): Buffer =>
  zip({ mimetype: 'application/vnd.oasis.opendocument.text', 'content.xml': xml, 'META-INF/manifest.xml': xml })
export const epub = (): Buffer => zip({ mimetype: 'application/epub+zip', 'META-INF/container.xml': xml })
export const jar = (): Buffer =>
  zip({ 'META-INF/MANIFEST.MF': 'Manifest-Version: 1.0\n', 'A.class': Buffer.from('cafebabe00000034', 'hex') })

/** Creates a compound file with empty streams of the given names. */
export function ole(...streams: string[]): Buffer {
  const container = CFB.utils.cfb_new()
  for (const name of streams) CFB.utils.cfb_add(container, `/${name}`, Buffer.alloc(5000, 1))
  return CFB.write(container, { type: 'buffer' }) as Buffer
}

export const gz = (): Buffer => gzipSync('some text, some text, some text\n'.repeat(20))

export function tar(): Buffer {
  const header = Buffer.alloc(512)
  header.write('hello.txt', 0)
  header.write('0000644\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  header.write('00000000005\0', 124)
  header.write('14000000000\0', 136)
  header.write('        0', 148)
  header.write('ustar\x0000', 257, 'latin1')
  header.write(
    `${header
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
  )
  const data = Buffer.alloc(512)
  data.write('hello')
  return Buffer.concat([header, data, Buffer.alloc(1024)])
}

/** Creates the headers of a Windows program. */
export function exe(): Buffer {
  const bytes = Buffer.alloc(1024)
  bytes.write('MZ', 0, 'latin1')
  bytes.writeUInt32LE(128, 60)
  bytes.write('PE\0\0', 128, 'latin1')
  return bytes
}

const box = (type: string, ...content: Buffer[]): Buffer => {
  const body = Buffer.concat(content)
  const head = Buffer.alloc(8)
  head.writeUInt32BE(body.length + 8)
  head.write(type, 4, 'latin1')
  return Buffer.concat([head, body])
}

/** Creates an MPEG-4 file that contains only brands and track types, which is sufficient for type detection. */
export function isoMedia(brand: string, handlers: string[], compatible: string[] = []): Buffer {
  const brands = Buffer.from(`${brand}\0\0\0\0${compatible.join('')}`, 'latin1')
  const tracks = handlers.map((handler) =>
    box('trak', box('mdia', box('hdlr', Buffer.alloc(8), Buffer.from(handler, 'latin1'), Buffer.alloc(12)))),
  )
  return Buffer.concat([box('ftyp', brands), box('moov', ...tracks), box('mdat', Buffer.alloc(32, 7))])
}

/** Creates silent MP3 frames with 128 kbit/s and 44.1 kHz. */
export function mp3(frames = 12): Buffer {
  const frame = Buffer.alloc(417)
  frame.set([0xff, 0xfb, 0x90, 0x00])
  return Buffer.concat(Array.from({ length: frames }, () => frame))
}

export const ogg = (codec: string): Buffer => {
  const page = Buffer.alloc(64)
  page.write('OggS', 0, 'latin1')
  page.write(codec, 28, 'latin1')
  return page
}
