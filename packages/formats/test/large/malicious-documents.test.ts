import { constants, deflateRawSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from '@jest/globals'
import { readGzip, readZip } from '../../src/archive/archive.js'
import { recognizeType } from '../../src/detect/detect.js'
import type { FormatReader, FormatVerdict } from '../../src/format.js'
import { createOleReader } from '../../src/office/ole/ole.js'
import { createOoxmlReader } from '../../src/office/ooxml.js'
import { createOpenDocumentReader, readEpub } from '../../src/office/opendocument.js'
import { readPdf } from '../../src/pdf/pdf.js'
import { detectPolyglot } from '../../src/polyglot.js'
import { readXml } from '../../src/text/xml.js'
import { limits, toSource, zip } from '../support/samples/archive.js'
import * as office from '../support/samples/office.js'
import { createPdf, pdf } from '../support/samples/pdf.js'
import { billionLaughs } from '../support/samples/text.js'

const inspect = async (reader: FormatReader, bytes: Buffer, changes = {}): Promise<FormatVerdict> =>
  reader(toSource(bytes), limits({ maxDepth: 1000, ...changes }))
const getMaliciousConstruction = async (reader: FormatReader, bytes: Buffer) => {
  const verdict = await inspect(reader, bytes)
  return verdict.sound ? 'none' : (verdict.maliciousConstruction ?? verdict.problem)
}

describe('exponential XML entities', () => {
  const laughs = billionLaughs()
  test.each<[string, FormatReader, office.Parts]>([
    ['a part that only Office parses', createOoxmlReader('docx'), { ...office.docx(), 'docProps/custom.xml': laughs }],
    [
      'the same part in UTF-16',
      createOoxmlReader('docx'),
      { ...office.docx(), 'customXml/item1.xml': Buffer.from(`\ufeff${laughs}`, 'utf16le') },
    ],
    [
      'a sub-document of an OpenDocument text',
      createOpenDocumentReader('odt'),
      { ...office.openDocument('odt'), 'Object 1/content.xml': laughs },
    ],
    ['a chapter of an e-book', readEpub, { ...office.epub(), 'OEBPS/chapter.xhtml': laughs }],
  ])('rejects exponential entities in %s as malicious', async (_, reader, parts) => {
    expect(await getMaliciousConstruction(reader, office.packed(parts))).toBe('xml_entities')
  })

  test('accepts an e-book page with common entities', async () => {
    const page = '<!DOCTYPE html [<!ENTITY nbsp "&#160;">]><html xmlns="http://www.w3.org/1999/xhtml">&nbsp;</html>'
    expect(await inspect(readEpub, office.packed({ ...office.epub(), 'OEBPS/a.xhtml': page }))).toMatchObject({ sound: true })
  })
})

describe('XML that exhausts memory', () => {
  test.each([
    ['a large document type declaration', `<!DOCTYPE a [${'<'.repeat(2_500_000)}]><a/>`, 'xml_prologue'],
    ['100,000 declarations', `<!DOCTYPE a [${'<!ENTITY e "x">'.repeat(200_000)}]><a/>`, 'xml_prologue'],
    ['too many attributes', `<a ${Array.from({ length: 10_001 }, (_, at) => `a${at}=""`).join(' ')}/>`, 'xml_attributes'],
  ])('rejects XML as malicious if it has %s', async (_, text, maliciousConstruction) => {
    expect(await getMaliciousConstruction(readXml, Buffer.from(text))).toBe(maliciousConstruction)
  })
})

describe('PDF files', () => {
  test('rejects a PDF as malicious if a content stream contains a decompression bomb', async () => {
    const bomb = gzipBomb()
    const stream = `<< /Length ${bomb.length} /Filter /FlateDecode >>\nstream\n${bomb.toString('latin1')}\nendstream`
    const page = '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>'
    const bytes = createPdf([
      [1, '<< /Type /Catalog /Pages 2 0 R >>'],
      [2, '<< /Type /Pages /Kids [3 0 R] /Count 1 >>'],
      [3, page],
      [4, stream],
    ])
    expect(await getMaliciousConstruction(readPdf, bytes)).toBe('pdf_memory')
    expect(await inspect(readPdf, pdf())).toMatchObject({ sound: true })
  })

  test.each<[string, (document: Buffer) => Buffer, boolean]>([
    ['that is followed by a zip and other bytes', (document) => Buffer.concat([document, archive(), Buffer.from('junk')]), true],
    ['that is followed by other bytes', (document) => Buffer.concat([document, Buffer.from('PK\x05\x06 and so on')]), false],
    ['whose header is in an image', (document) => Buffer.concat([gif('%PDF-1.4\n'), document]), true],
  ])('treats a PDF %s as a polyglot only if its other content can be opened', async (_, make, isMalicious) => {
    const source = toSource(make(pdf()))
    expect(detectPolyglot(source, await recognizeType(source, limits()), limits())?.maliciousConstruction).toBe(
      isMalicious ? 'polyglot' : undefined,
    )
  })

  test('does not treat an image whose metadata mentions PDF as a polyglot', async () => {
    const source = toSource(Buffer.concat([gif('%PDF-1.4'), Buffer.from('the end')]))
    expect(detectPolyglot(source, await recognizeType(source, limits()), limits())).toBeUndefined()
  })
})

const archive = () => zip([{ name: 'a', data: 'a' }])
/** Creates a GIF with one black pixel and a comment. */
const gif = (comment: string) =>
  Buffer.concat([
    Buffer.from('47494638396101000100800000000000ffffff21fe', 'hex'),
    Buffer.from([comment.length]),
    Buffer.from(comment),
    Buffer.from('002c00000000010001000002024401003b', 'hex'),
  ])

/** Creates 1.5 GiB of spaces in zlib format by repeating the blocks of a smaller deflate stream. */
function gzipBomb(): Buffer {
  const block = 32 * 1024 * 1024
  const flushed = deflateRawSync(Buffer.alloc(block, 0x20), { finishFlush: constants.Z_FULL_FLUSH, level: 9 })
  return Buffer.concat([
    Buffer.from('78da', 'hex'),
    ...Array<Buffer>(48).fill(flushed),
    Buffer.from('0300', 'hex'),
    Buffer.alloc(4),
  ])
}

describe('archives with many small parts', () => {
  test('rejects a gzip file only if it has more members than the limit', async () => {
    const member = gzipSync('x')
    expect(await getMaliciousConstruction(readGzip, Buffer.concat(Array<Buffer>(1001).fill(member)))).toBe('archive_entries')
    expect(await inspect(readGzip, Buffer.concat(Array<Buffer>(1000).fill(member)))).toMatchObject({
      sound: true,
      evidence: { members: 1000, unpacked_bytes: 1000 },
    })
  })

  test('verifies the checksum of a large gzip member between small members', async () => {
    const large = gzipSync(Buffer.alloc(900_000, 'line of text\n'), { level: 1 })
    const damaged = Buffer.from(large)
    damaged[damaged.length - 6]! ^= 1
    const around = (middle: Buffer) => Buffer.concat([gzipSync('a'), middle, gzipSync('')])
    expect(await inspect(readGzip, around(large))).toMatchObject({
      sound: true,
      evidence: { members: 3, unpacked_bytes: 900_001 },
    })
    expect(await inspect(readGzip, around(damaged))).toMatchObject({ sound: false, problem: expect.stringMatching(/checksum/) })
  })

  test('accepts a zip file with 65,535 empty members', async () => {
    const bytes = zip(Array.from({ length: 65_535 }, (_, at) => ({ name: `${at}`, stored: true })))
    expect(await inspect(readZip, bytes, { maxEntries: 200_000 })).toMatchObject({ sound: true, evidence: { entries: 65_535 } })
  })
})

describe('required document parts', () => {
  const without = (parts: office.Parts, name: string) =>
    Object.fromEntries(Object.entries(parts).filter(([each]) => each !== name))
  const manifest = (entries: string) =>
    `<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">${entries}</manifest:manifest>`
  const styles = '<office:document-styles xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"/>'

  test('rejects an OOXML document whose relationships belong to another document', async () => {
    const parts = { ...office.docx(), 'word/_rels/document.xml.rels': '<x/>' }
    expect(await getMaliciousConstruction(createOoxmlReader('docx'), office.packed(parts))).toMatch(/<x>, not <Relationships>/)
  })

  test('rejects an OpenDocument file without content, except a template that contains only styles', async () => {
    const complete = office.openDocument('odt')
    expect(
      await getMaliciousConstruction(
        createOpenDocumentReader('odt'),
        office.packed({ ...without(complete, 'content.xml'), 'styles.xml': styles }),
      ),
    ).toMatch(/content\.xml is missing/)
    const template = { mimetype: complete.mimetype!, 'META-INF/manifest.xml': manifest(''), 'styles.xml': styles }
    expect(await inspect(createOpenDocumentReader('odt'), office.packed(template))).toMatchObject({
      sound: true,
      notes: [expect.stringMatching(/styles only/)],
    })
    expect(await inspect(createOpenDocumentReader('odt'), office.packed({ ...template, 'styles.xml': '<x/>' }))).toMatchObject({
      sound: false,
    })
  })
})

describe('Office documents that predate compound files', () => {
  const sheet = Buffer.from('0900040002001000 0000020000000a000000'.replace(' ', ''), 'hex')
  const word = Buffer.alloc(512)
  word.writeUInt32LE(0x002da5db, 0)
  word.writeUInt32LE(384, 24)
  word.writeUInt32LE(500, 28)

  test('accepts an old Office document with a valid first record', async () => {
    expect(await inspect(createOleReader('xls'), sheet)).toMatchObject({ sound: true })
    expect(await inspect(createOleReader('doc'), word)).toMatchObject({ sound: true })
    expect(await inspect(createOleReader('ppt'), office.compound({ '/PP40': Buffer.alloc(6000, 1) }))).toMatchObject({
      sound: true,
    })
  })
})
