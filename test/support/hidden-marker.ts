import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { createTar, noise, sevenZip } from '../../packages/formats/test/support/samples/archive.js'
import * as made from '../../packages/formats/test/support/samples/containers.js'
import { compound, doc, docx, packed as packedDocument } from '../../packages/formats/test/support/samples/office.js'
import { createPdf } from '../../packages/formats/test/support/samples/pdf.js'
import { createZip } from './eicar.js'

/** String that the test signature detects at any position. Files contain it only after unpacking. */
export const marker = Buffer.from('assay hidden marker 6f1c5b0e7d')

type ContainerBuilder = (bytes: Buffer) => Buffer | Promise<Buffer>

const createZipBuilder =
  (...switches: string[]): ContainerBuilder =>
  (bytes) =>
    sevenZip({ 'a.txt': bytes }, switches, 'zip')
const createSevenZipBuilder =
  (...switches: string[]): ContainerBuilder =>
  (bytes) =>
    sevenZip({ 'a.txt': bytes }, switches)
const toTextFile = (bytes: Buffer) => ({ name: 'A.TXT', bytes })

/** Containers that compress or encrypt their content, by name. Tests combine each container with each carrier. */
const packers: Record<string, ContainerBuilder> = {
  zip: (bytes) => createZip({ name: 'a.txt', bytes }),
  'zip, Deflate64': createZipBuilder('-mm=Deflate64'),
  'zip, BZip2': createZipBuilder('-mm=BZip2'),
  'zip, LZMA': createZipBuilder('-mm=LZMA'),
  'zip, PPMd': createZipBuilder('-mm=PPMd'),
  'zip, encrypted': createZipBuilder('-psecret'),
  'zip, AES': createZipBuilder('-psecret', '-mem=AES256'),
  '7z': createSevenZipBuilder(),
  '7z, BZip2': createSevenZipBuilder('-m0=BZip2'),
  '7z, PPMd': createSevenZipBuilder('-m0=PPMd'),
  '7z, encrypted': createSevenZipBuilder('-psecret'),
  '7z, encrypted names': createSevenZipBuilder('-psecret', '-mhe=on'),
  gzip: (bytes) => gzipSync(bytes),
  xz: (bytes) => sevenZip({ a: bytes }, [], 'xz'),
  bzip2: (bytes) => sevenZip({ a: bytes }, [], 'bzip2'),
  'tar.gz': async (bytes) => gzipSync(await createTar([{ name: 'a.txt', data: bytes }])),
  'gzip in gzip': (bytes) => gzipSync(gzipSync(bytes)),
  'zip, end missing': (bytes) => createZip({ name: 'a.txt', bytes }).subarray(0, -5),
  '7z, wrong checksum': async (bytes) => flipBit(await sevenZip({ 'a.txt': bytes }), 28),
  'gzip, end missing': (bytes) => gzipSync(bytes).subarray(0, -20),
  'zip in 7z': (bytes) => sevenZip({ 'a.zip': createZip({ name: 'a.txt', bytes }) }),
}

/** Containers that store their content uncompressed or have no packer here. Their content is a gzip file. */
const stores: Record<string, ContainerBuilder> = {
  zstd: (bytes) => createZstandardFrame(gzipSync(bytes)),
  lz4: (bytes) => insertAfter('\x04\x22\x4d\x18\x60\x40\x82', gzipSync(bytes)),
  lzip: (bytes) => insertAfter('LZIP\x01\x0c', gzipSync(bytes)),
  compress: (bytes) => made.compressed(bytes),
  cab: (bytes) => made.cab(toTextFile(gzipSync(bytes))),
  'RAR 4': (bytes) => made.rar4(toTextFile(gzipSync(bytes))),
  'RAR 5': (bytes) => made.rar5(toTextFile(gzipSync(bytes))),
  arj: (bytes) => made.arj(toTextFile(gzipSync(bytes))),
  lzh: (bytes) => made.lzh(toTextFile(gzipSync(bytes))),
  cpio: (bytes) => made.cpio(toTextFile(gzipSync(bytes))),
  ar: (bytes) => made.ar(toTextFile(gzipSync(bytes))),
  xar: (bytes) => made.xar(toTextFile(bytes)),
  iso: (bytes) => made.iso(toTextFile(gzipSync(bytes))),
  wim: (bytes) => sevenZip({ 'a.gz': gzipSync(bytes) }, [], 'wim'),
  dmg: (bytes) => made.dmg(bytes),
  'dmg, bytes after its end': (bytes) => Buffer.concat([made.dmg(bytes), noise(170)]),
  swf: (bytes) => made.swf(bytes),
  szdd: (bytes) => made.szdd(gzipSync(bytes)),
  tnef: (bytes) => made.tnef(toTextFile(gzipSync(bytes))),
  oneNote: (bytes) => made.oneNote(gzipSync(bytes)),
  tar: (bytes) => createTar([{ name: 'a.gz', data: gzipSync(bytes) }]),
}

function createZstandardFrame(bytes: Buffer): Buffer {
  const size = Buffer.alloc(4)
  size.writeUInt32LE(bytes.length)
  const block = Buffer.alloc(3)
  block.writeUIntLE((bytes.length << 3) | 1, 0, 3)
  return Buffer.concat([Buffer.from('28b52ffda0', 'hex'), size, block, bytes])
}

function flipBit(bytes: Buffer, at: number): Buffer {
  bytes[at]! ^= 1
  return bytes
}

const insertAfter = (start: string, bytes: Buffer) => Buffer.concat([Buffer.from(start, 'latin1'), bytes, noise(64)])

/** Files that embed a container, by name. */
export const carriers: Record<string, { extension: string; make: ContainerBuilder }> = {
  'no other file': { extension: 'dat', make: (bytes) => bytes },
  'a zip': { extension: 'zip', make: (bytes) => createZip({ name: 'a.bin', bytes }) },
  'a 7z': { extension: '7z', make: (bytes) => sevenZip({ 'a.bin': bytes }) },
  'a tar': { extension: 'tar', make: (bytes) => createTar([{ name: 'a.bin', data: bytes }]) },
  'a mail': { extension: 'eml', make: (bytes) => createMail(bytes) },
  'a mail with a byte-order mark': {
    extension: 'eml',
    make: (bytes) => Buffer.concat([Buffer.from('\ufeff'), createMail(bytes)]),
  },
  'a uuencoded mail': { extension: 'eml', make: (bytes) => createUuencodedMail(bytes) },
  'a forwarded mail': { extension: 'eml', make: (bytes) => createMail(createMail(bytes), 'message/rfc822', '8bit') },
  'a PDF': { extension: 'pdf', make: (bytes) => createPdfWithAttachment(deflateSync(bytes), '/Filter /FlateDecode') },
  'a PDF, two filters': {
    extension: 'pdf',
    make: (bytes) =>
      createPdfWithAttachment(Buffer.from(`${deflateSync(bytes).toString('hex')}>`), '/Filter [/ASCIIHexDecode /FlateDecode]'),
  },
  'a PDF with a predictor': {
    extension: 'pdf',
    make: (bytes) =>
      createPdfWithAttachment(
        deflateSync(applyPngFilter(bytes)),
        '/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 16 >>',
      ),
  },
  'a Word 97 document': { extension: 'doc', make: (bytes) => compound({ ...doc(), Package: bytes }) },
  'an Outlook message': {
    extension: 'msg',
    make: (bytes) =>
      compound({
        '__properties_version1.0': Buffer.alloc(32),
        '__attach_version1.0_#00000000/__substg1.0_37010102': bytes,
      }),
  },
  'a docx': { extension: 'docx', make: (bytes) => packedDocument({ ...docx(), 'word/embeddings/a.bin': bytes }) },
}

function createMail(bytes: Buffer, type = 'application/octet-stream', encoding = 'base64'): Buffer {
  const body = encoding === 'base64' ? Buffer.from(bytes.toString('base64').replace(/.{76}/g, '$&\r\n')) : bytes
  const head = [
    'From: a@example.org',
    'Subject: x',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="b"',
    '',
    '--b',
    `Content-Type: ${type}; name="a.bin"`,
    'Content-Disposition: attachment; filename="a.bin"',
    `Content-Transfer-Encoding: ${encoding}`,
    '',
    '',
  ].join('\r\n')
  return Buffer.concat([Buffer.from(head), body, Buffer.from('\r\n--b--\r\n')])
}

function createUuencodedMail(bytes: Buffer): Buffer {
  const lines = ['From: a@example.org', 'Subject: x', 'Date: Tue, 24 Nov 2026 00:00:00 +0000', '', 'begin 644 a.bin']
  const encodeCharacter = (value: number) => (value === 0 ? '`' : String.fromCharCode(32 + value))
  for (let at = 0; at < bytes.length; at += 45) {
    const part = bytes.subarray(at, at + 45)
    let line = encodeCharacter(part.length)
    for (let from = 0; from < part.length; from += 3) {
      const group = ((part[from] ?? 0) << 16) | ((part[from + 1] ?? 0) << 8) | (part[from + 2] ?? 0)
      for (const shift of [18, 12, 6, 0]) line += encodeCharacter((group >> shift) & 63)
    }
    lines.push(line)
  }
  return Buffer.from([...lines, '`', 'end', ''].join('\r\n'))
}

const createPdfWithAttachment = (stream: Buffer, filter: string): Buffer =>
  createPdf([
    [1, '<< /Type /Catalog /Pages 2 0 R /Names << /EmbeddedFiles << /Names [(a.bin) 5 0 R] >> >> >>'],
    [2, '<< /Type /Pages /Kids [3 0 R] /Count 1 >>'],
    [3, '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] >>'],
    [4, `<< /Type /EmbeddedFile ${filter} /Length ${stream.length} >>\nstream\n${stream.toString('latin1')}\nendstream`],
    [5, '<< /Type /Filespec /F (a.bin) /EF << /F 4 0 R >> >>'],
  ])

/** Applies the PNG filter "up": each row has a type byte and the differences to the row above. */
function applyPngFilter(bytes: Buffer): Buffer {
  const columns = 16
  const rows: Buffer[] = []
  for (let at = 0; at < bytes.length; at += columns) {
    const row = Buffer.alloc(columns + 1)
    row[0] = 2
    for (let column = 0; column < columns; column++)
      row[column + 1] = ((bytes[at + column] ?? 0) - (at === 0 ? 0 : (bytes[at - columns + column] ?? 0))) & 0xff
    rows.push(row)
  }
  return Buffer.concat(rows)
}

export interface HiddenMarker {
  name: string
  extension: string
  make(): Promise<Buffer>
}

/** Returns text of this size that ends with the marker. */
const createText = (size: number) =>
  Buffer.concat([Buffer.alloc(size, 'Lorem ipsum dolor sit amet. '), marker, Buffer.from('\n')])

const createRow = (packer: string, carrier: string, size: number): HiddenMarker => ({
  name: `${packer} of ${size} bytes in ${carrier}`,
  extension: carriers[carrier]!.extension,
  make: async () => carriers[carrier]!.make(await packOnce(packer, size)),
})

const packed = new Map<string, Promise<Buffer>>()

/** Packs each container only once because packing takes most of the time. */
function packOnce(packer: string, size: number): Promise<Buffer> {
  const key = `${packer} ${size}`
  const bytes = packed.get(key) ?? Promise.resolve({ ...packers, ...stores }[packer]!(createText(size)))
  packed.set(key, bytes)
  return bytes
}

export const smallRows = (carrier: string): HiddenMarker[] =>
  [...Object.keys(packers), ...Object.keys(stores)].map((packer) => createRow(packer, carrier, 2_000))

const largeCarriers = ['no other file', 'a zip', 'a mail', 'a PDF', 'an Outlook message']

/** The unpacked content of these files exceeds the limits of the daemon that is configured with low limits. */
export const largeRows: HiddenMarker[] = [
  ...largeCarriers.flatMap((carrier) =>
    ['zip', '7z', 'gzip', 'xz', 'bzip2'].map((packer) => createRow(packer, carrier, 4_000_000)),
  ),
  ...largeCarriers.map((carrier) => createRow('zip in 7z', carrier, 4_000_000)),
]

/** Brotli files have no signature and are recognized only by their name. */
export const brotliRows: HiddenMarker[] = [
  { name: 'a Brotli file', extension: 'br', make: async () => brotliCompressSync(createText(2_000)) },
  {
    name: 'a Brotli file in a zip',
    extension: 'zip',
    make: async () => createZip({ name: 'a.txt.br', bytes: brotliCompressSync(createText(2_000)) }),
  },
]
