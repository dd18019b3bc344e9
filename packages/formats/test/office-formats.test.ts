import { describe, expect, test } from '@jest/globals'
import { readJar } from '../src/archive/archive.js'
import type { FormatReader } from '../src/format.js'
import { createOleReader, listOleStreams, readEncryptedOoxml } from '../src/office/ole/ole.js'
import { createOoxmlReader } from '../src/office/ooxml.js'
import { createOpenDocumentReader, readEpub } from '../src/office/opendocument.js'
import { limits, mutations, noise, toSource, zip } from './support/samples/archive.js'
import {
  compound,
  doc,
  docx,
  encryptedPackage,
  epub,
  openDocument,
  type Parts,
  packed,
  ppt,
  pptx,
  type Streams,
  xls,
  xlsx,
} from './support/samples/office.js'

const inspect = async (reader: FormatReader, bytes: Buffer, changes = {}) => reader(toSource(bytes), limits(changes))
const without = (parts: Parts, ...names: string[]) =>
  packed(Object.fromEntries(Object.entries(parts).filter(([name]) => !names.includes(name))))
const having = (parts: Parts, changes: Parts) => packed({ ...parts, ...changes })
const bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]>'

describe('OOXML documents', () => {
  test.each<[string, FormatReader, Buffer]>([
    ['docx', createOoxmlReader('docx'), packed(docx())],
    ['strict docx', createOoxmlReader('docx'), packed(docx(true))],
    [
      'docx with names in another case',
      createOoxmlReader('docx'),
      packed(Object.fromEntries(Object.entries(docx()).map(([name, data]) => [name.toUpperCase(), data]))),
    ],
    [
      'docx in UTF-16',
      createOoxmlReader('docx'),
      having(docx(), { 'word/styles.xml': Buffer.from('\ufeff<?xml version="1.0" encoding="UTF-16"?><styles/>', 'utf16le') }),
    ],
    [
      'docx with custom XML that is not well-formed',
      createOoxmlReader('docx'),
      having(docx(), { 'customXml/item1.xml': 'not <xml' }),
    ],
    ['xlsx', createOoxmlReader('xlsx'), packed(xlsx())],
    ['pptx', createOoxmlReader('pptx'), packed(pptx())],
    ['xlsx with a missing sheet', createOoxmlReader('xlsx'), without(xlsx(), 'xl/worksheets/sheet2.xml')],
  ])('accepts an OOXML document: %s', async (_, reader, bytes) => {
    expect(await inspect(reader, bytes)).toMatchObject({ sound: true })
  })

  test.each<[string, FormatReader, Buffer, RegExp]>([
    ['no content types', createOoxmlReader('docx'), without(docx(), '[Content_Types].xml'), /\[Content_Types\].xml is missing/],
    ['no relationships', createOoxmlReader('docx'), without(docx(), '_rels/.rels'), /_rels\/.rels is missing/],
    ['no main part', createOoxmlReader('docx'), without(docx(), 'word/document.xml'), /main part word\/document.xml is missing/],
    [
      'a truncated main part',
      createOoxmlReader('docx'),
      having(docx(), { 'word/document.xml': '<w:document><w:body>' }),
      /not well-formed/,
    ],
    ['an empty main part', createOoxmlReader('docx'), having(docx(), { 'word/document.xml': '' }), /document.xml/],
    ['styles that are not XML', createOoxmlReader('docx'), having(docx(), { 'word/styles.xml': 'styles' }), /not well-formed/],
    [
      'a main part in a wrong encoding',
      createOoxmlReader('docx'),
      having(docx(), { 'word/document.xml': Buffer.from('<document>\xff\xfe</document>', 'latin1') }),
      /not well-formed/,
    ],
    ['the main part of another document type', createOoxmlReader('docx'), packed(xlsx()), /not <document>/],
    [
      'no remaining sheet',
      createOoxmlReader('xlsx'),
      without(xlsx(), 'xl/worksheets/sheet1.xml', 'xl/worksheets/sheet2.xml'),
      /all sheets are missing/,
    ],
    ['no slides', createOoxmlReader('pptx'), without(pptx(), 'ppt/slides/slide1.xml'), /all slides are missing/],
    [
      'no workbook relationships',
      createOoxmlReader('xlsx'),
      without(xlsx(), 'xl/_rels/workbook.xml.rels'),
      /all sheets are missing/,
    ],
    [
      'a member with a wrong checksum',
      createOoxmlReader('docx'),
      zip([...Object.entries(docx()).map(([name, data]) => ({ name, data })), { name: 'media/a.png', data: noise(99), crc: 7 }]),
      /incorrect checksum/,
    ],
    ['a truncated end', createOoxmlReader('docx'), packed(docx()).subarray(0, -30), /zip/],
  ])('rejects an OOXML document as damaged if it has %s', async (_, reader, bytes, problem) => {
    expect(await inspect(reader, bytes)).toMatchObject({ sound: false, problem: expect.stringMatching(problem) })
  })

  test.each<[string, Parts, string]>([
    ['a document type', { 'word/document.xml': `${bomb}<document>&b;</document>` }, 'xml_doctype'],
    ['a document type in its relationships', { '_rels/.rels': `${bomb}<Relationships/>` }, 'xml_doctype'],
    ['too many nested elements', { 'word/document.xml': `<document>${'<p>'.repeat(200)}` }, 'xml_depth'],
    ['a bomb among its images', { 'media/a.emf': Buffer.alloc(20_000_000) }, 'archive_ratio'],
    ['a name with ..', { '../../startup/evil.dot': 'x' }, 'archive_path'],
  ])('rejects an OOXML document as malicious if it has %s', async (_, changes, maliciousConstruction) => {
    expect(await inspect(createOoxmlReader('docx'), having(docx(), changes))).toMatchObject({
      sound: false,
      maliciousConstruction,
    })
  })
})

describe('OpenDocument files and e-books', () => {
  test('accepts an OpenDocument file or e-book without a manifest or mimetype', async () => {
    for (const kind of ['odt', 'ods', 'odp'] as const) {
      expect(await inspect(createOpenDocumentReader(kind), packed(openDocument(kind)))).toMatchObject({ sound: true, notes: [] })
      expect(
        await inspect(createOpenDocumentReader(kind), without(openDocument(kind), 'META-INF/manifest.xml', 'mimetype')),
      ).toMatchObject({ sound: true })
    }
    expect(await inspect(readEpub, packed(epub()))).toMatchObject({ sound: true, notes: [] })
    expect(await inspect(readJar, zip([{ name: 'A.class', data: 'x' }]))).toMatchObject({
      sound: true,
      notes: ['the archive has no manifest'],
    })
  })

  test('accepts encrypted OpenDocument files and e-books and adds a note', async () => {
    const manifest = '<manifest><file-entry full-path="content.xml"><encryption-data/></file-entry></manifest>'
    const bytes = having(openDocument('odt'), { 'content.xml': noise(500), 'META-INF/manifest.xml': manifest })
    expect(await inspect(createOpenDocumentReader('odt'), bytes)).toMatchObject({
      sound: true,
      notes: ['the document is encrypted, so its content was not checked'],
    })
  })

  test.each<[string, FormatReader, Buffer]>([
    ['an odt without content', createOpenDocumentReader('odt'), without(openDocument('odt'), 'content.xml')],
    [
      'an odt with damaged content',
      createOpenDocumentReader('odt'),
      having(openDocument('odt'), { 'content.xml': '<office:document-content>' }),
    ],
    ['a spreadsheet with the extension odt', createOpenDocumentReader('odt'), packed(openDocument('ods'))],
    ['an epub without a container', readEpub, without(epub(), 'META-INF/container.xml')],
    ['an epub without a package', readEpub, without(epub(), 'OEBPS/book.opf')],
    ['an epub with a damaged package', readEpub, having(epub(), { 'OEBPS/book.opf': '<package><spine></package>' })],
    ['an epub with another mimetype', readEpub, having(epub(), { mimetype: 'application/zip' })],
    ['a jar with a wrong checksum', readJar, zip([{ name: 'A.class', data: 'x', crc: 1 }])],
  ])('rejects %s as damaged', async (_, reader, bytes) => {
    expect(await inspect(reader, bytes)).toMatchObject({ sound: false })
  })

  test('rejects a document type declaration as malicious only if it contains entities', async () => {
    const content = (doctype: string) => `${doctype}<office:document-content/>`
    const old = '<!DOCTYPE office:document-content PUBLIC "-//OpenOffice.org//DTD OfficeDocument 1.0//EN" "office.dtd">'
    expect(
      await inspect(createOpenDocumentReader('odt'), having(openDocument('odt'), { 'content.xml': content(old) })),
    ).toMatchObject({
      sound: true,
    })
    expect(
      await inspect(createOpenDocumentReader('odt'), having(openDocument('odt'), { 'content.xml': content(bomb) })),
    ).toMatchObject({
      maliciousConstruction: 'xml_entities',
    })
  })
})

describe('OLE files', () => {
  const readers: Record<string, [FormatReader, Streams]> = {
    doc: [createOleReader('doc'), doc()],
    xls: [createOleReader('xls'), xls()],
    'xls (Excel 95)': [createOleReader('xls'), xls({ old: true })],
    ppt: [createOleReader('ppt'), ppt()],
  }

  test.each(Object.entries(readers))('accepts an OLE file of type %s', async (_, [reader, streams]) => {
    expect(await inspect(reader, compound(streams))).toMatchObject({ sound: true, notes: [] })
  })

  test('accepts a password-protected OLE file and adds a note', async () => {
    const note = expect.stringMatching(/password-protected/)
    expect(await inspect(createOleReader('doc'), compound(doc({ encrypted: true })))).toMatchObject({
      sound: true,
      notes: [note],
    })
    expect(await inspect(createOleReader('xls'), compound(xls({ encrypted: true })))).toMatchObject({
      sound: true,
      notes: [note],
    })
    expect(await inspect(createOleReader('ppt'), compound(ppt({ encrypted: true })))).toMatchObject({
      sound: true,
      notes: [note],
    })
    expect(await inspect(readEncryptedOoxml, compound(encryptedPackage()))).toMatchObject({ sound: true, notes: [note] })
    expect(await inspect(readEncryptedOoxml, compound(doc()))).toMatchObject({ sound: false })
  })

  test.each(Object.entries(readers))(
    'rejects an OLE file of type %s that is truncated or lacks its main stream',
    async (_, [reader, streams]) => {
      const bytes = compound(streams)
      for (const part of [0.1, 0.3, 0.5, 0.7])
        expect(await inspect(reader, bytes.subarray(0, Math.floor(bytes.length * part)))).toMatchObject({ sound: false })
      expect(await inspect(reader, compound({ '/Other': noise(5000) }))).toMatchObject({ sound: false })
    },
  )

  test('rejects an OLE file with a damaged main stream', async () => {
    const changed = (streams: Streams, name: string, at: number) => {
      const copy = Buffer.from(streams[name]!)
      copy.fill(0xee, at, at + 4)
      return compound({ ...streams, [name]: copy })
    }
    expect(await inspect(createOleReader('doc'), changed(doc(), '/WordDocument', 0))).toMatchObject({ sound: false })
    expect(await inspect(createOleReader('doc'), changed(doc(), '/1Table', 10))).toMatchObject({ sound: false })
    expect(await inspect(createOleReader('xls'), changed(xls(), '/Workbook', 0))).toMatchObject({ sound: false })
    expect(await inspect(createOleReader('xls'), changed(xls(), '/Workbook', 24))).toMatchObject({ sound: false })
    expect(await inspect(createOleReader('ppt'), changed(ppt(), '/Current User', 16))).toMatchObject({ sound: false })
    expect(await inspect(createOleReader('ppt'), changed(ppt(), '/PowerPoint Document', 2))).toMatchObject({ sound: false })
  })

  test('rejects an OLE file as malicious if it has a circular sector chain', async () => {
    const bytes = compound(doc())
    const fatAt = (bytes.readUInt32LE(76) + 1) * 512
    const start = listOleStreams(toSource(bytes))!.find(({ name }) => name === 'WordDocument')!.firstSector
    bytes.writeUInt32LE(start, fatAt + 4 * (start + 1))
    expect(await inspect(createOleReader('doc'), bytes)).toMatchObject({ sound: false, maliciousConstruction: 'ole_circle' })
  })

  test('lists the streams in an OLE file', () => {
    expect(listOleStreams(toSource(compound(encryptedPackage())))?.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['EncryptionInfo', 'EncryptedPackage']),
    )
    expect(listOleStreams(toSource(noise(2000)))).toBeNull()
  })
})

test('returns a verdict for every mutated copy of an Office file', async () => {
  const samples: [FormatReader, Buffer][] = [
    [createOoxmlReader('docx'), packed(docx())],
    [createOoxmlReader('xlsx'), packed(xlsx())],
    [createOoxmlReader('pptx'), packed(pptx())],
    [createOpenDocumentReader('odt'), packed(openDocument('odt'))],
    [readEpub, packed(epub())],
    [createOleReader('doc'), compound(doc())],
    [createOleReader('xls'), compound(xls())],
    [createOleReader('ppt'), compound(ppt())],
    [readEncryptedOoxml, compound(encryptedPackage())],
  ]
  for (const [index, [reader, bytes]] of samples.entries()) {
    expect(await inspect(reader, bytes)).toMatchObject({ sound: true })
    for (const mutation of mutations(bytes, 300, index + 1))
      expect(typeof (await inspect(reader, mutation)).sound).toBe('boolean')
  }
})

test('rejects an Office document with damaged XML in an intact zip', async () => {
  const parts = docx()
  const main = Buffer.from(parts['word/document.xml']!)
  let found = 0
  let tried = 0
  for (let at = 60; at < main.length - 9; at += 5) {
    tried++
    const copy = Buffer.concat([main.subarray(0, at), main.subarray(at + 9)])
    if (!(await inspect(createOoxmlReader('docx'), having(parts, { 'word/document.xml': copy }))).sound) found++
  }
  expect(found).toBeGreaterThan(tried / 2)
})
