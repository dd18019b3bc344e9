import CFB from 'cfb'
import { type SampleMember, zip } from './archive.js'

/** Content of each part, keyed by name, in archive order. */
export type Parts = Record<string, string | Buffer>

export const packed = (parts: Parts): Buffer => zip(Object.entries(parts).map(([name, data]): SampleMember => ({ name, data })))

const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const strictOffice = 'http://purl.oclc.org/ooxml/officeDocument/relationships'

const contentTypes = `${declaration}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>`

function relationships(targets: [type: string, target: string][], base = office): string {
  const list = targets.map(
    ([type, target], index) => `<Relationship Id="rId${index + 1}" Type="${base}/${type}" Target="${target}"/>`,
  )
  return `${declaration}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${list.join('')}</Relationships>`
}

/** Creates a minimal document that Word opens. `strict` uses the namespaces of the strict variant of OOXML. */
export const docx = (strict = false): Parts => ({
  '[Content_Types].xml': contentTypes,
  '_rels/.rels': relationships([['officeDocument', 'word/document.xml']], strict ? strictOffice : office),
  'word/document.xml': `${declaration}<w:document xmlns:w="${strict ? 'http://purl.oclc.org/ooxml/wordprocessingml/main' : 'http://schemas.openxmlformats.org/wordprocessingml/2006/main'}"><w:body><w:p><w:r><w:t>Hello</w:t></w:r></w:p></w:body></w:document>`,
  'word/_rels/document.xml.rels': relationships([['styles', 'styles.xml']]),
  'word/styles.xml': `${declaration}<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"/>`,
})

export const xlsx = (): Parts => ({
  '[Content_Types].xml': contentTypes,
  '_rels/.rels': relationships([['officeDocument', '/xl/workbook.xml']]),
  'xl/workbook.xml': `${declaration}<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="${office}"><sheets><sheet name="One" sheetId="1" r:id="rId1"/><sheet name="Two" sheetId="2" r:id="rId2"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': relationships([
    ['worksheet', 'worksheets/sheet1.xml'],
    ['worksheet', '/xl/worksheets/sheet2.xml'],
  ]),
  'xl/worksheets/sheet1.xml': `${declaration}<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData/></worksheet>`,
  'xl/worksheets/sheet2.xml': `${declaration}<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData/></worksheet>`,
})

export const pptx = (): Parts => ({
  '[Content_Types].xml': contentTypes,
  '_rels/.rels': relationships([['officeDocument', 'ppt/presentation.xml']]),
  'ppt/presentation.xml': `${declaration}<p:presentation xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:r="${office}"><p:sldIdLst><p:sldId id="256" r:id="rId1"/></p:sldIdLst></p:presentation>`,
  'ppt/_rels/presentation.xml.rels': relationships([['slide', 'slides/slide1.xml']]),
  'ppt/slides/slide1.xml': `${declaration}<p:sld xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"/>`,
})

const odfNames = { odt: 'text', ods: 'spreadsheet', odp: 'presentation' }

export const openDocument = (kind: keyof typeof odfNames): Parts => ({
  mimetype: `application/vnd.oasis.opendocument.${odfNames[kind]}`,
  'content.xml': `${declaration}<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"><office:body/></office:document-content>`,
  'META-INF/manifest.xml': `${declaration}<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>`,
})

export const epub = (): Parts => ({
  mimetype: 'application/epub+zip',
  'META-INF/container.xml': `${declaration}<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles><rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>`,
  'OEBPS/book.opf': `${declaration}<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata/><manifest/><spine/></package>`,
})

/** Creates a compound file from streams keyed by path. */
export function compound(streams: Record<string, Buffer>): Buffer {
  const file = CFB.utils.cfb_new()
  for (const [path, content] of Object.entries(streams)) CFB.utils.cfb_add(file, path, content)
  return Buffer.from(CFB.write(file, { type: 'buffer' }) as Uint8Array)
}

export type Streams = Record<string, Buffer>

/** Creates the streams for a Word 97 document: the file information block and the piece table. */
export function doc({ encrypted = false } = {}): Streams {
  const document = Buffer.alloc(5000)
  document.writeUInt16LE(0xa5ec, 0)
  document.writeUInt16LE(0x00c1, 2)
  document.writeUInt16LE(0x0200 | (encrypted ? 0x0100 : 0), 10)
  document.writeUInt32LE(10, 0x1a2)
  document.writeUInt32LE(5 + 16, 0x1a6)
  const table = Buffer.alloc(600)
  table[10] = 2
  table.writeUInt32LE(16, 11)
  return { '/WordDocument': document, '/1Table': table }
}

const record = (type: number, data: Buffer = Buffer.alloc(0)): Buffer => {
  const head = Buffer.alloc(4)
  head.writeUInt16LE(type, 0)
  head.writeUInt16LE(data.length, 2)
  return Buffer.concat([head, data])
}

/** Creates the streams for an Excel 97 workbook with one sheet. `old` uses the stream name of Excel 95. */
export function xls({ old = false, encrypted = false, macroSheet = false, link = '' } = {}): Streams {
  const sheetEntry = Buffer.alloc(12)
  sheetEntry[5] = macroSheet ? 1 : 0
  const globals = (at: number) => {
    sheetEntry.writeUInt32LE(at, 0)
    return Buffer.concat([
      record(0x0809, Buffer.alloc(16)),
      ...(encrypted ? [record(0x002f, Buffer.alloc(6))] : []),
      record(0x0085, sheetEntry),
      ...(link ? [record(0x01ae, Buffer.from(`\0\0${String.fromCharCode(link.length)}\0\0${link}`, 'latin1'))] : []),
      record(0x000a),
    ])
  }
  const first = globals(globals(0).length)
  const stream = Buffer.concat([first, record(0x0809, Buffer.alloc(16)), record(0x0201, Buffer.alloc(5000)), record(0x000a)])
  return { [old ? '/Book' : '/Workbook']: stream }
}

const atom = (type: number, data: Buffer): Buffer => {
  const head = Buffer.alloc(8)
  head.writeUInt16LE(type, 2)
  head.writeUInt32LE(data.length, 4)
  return Buffer.concat([head, data])
}

/** Creates the streams for a PowerPoint 97 presentation: a persist object directory and the edit that refers to it. */
export function ppt({ encrypted = false } = {}): Streams {
  const directory = atom(0x1772, Buffer.alloc(8))
  const edit = Buffer.alloc(28)
  edit.writeUInt32LE(0, 12 - 4)
  edit.writeUInt32LE(0, 20 - 8)
  const user = Buffer.alloc(20)
  user.writeUInt32LE(encrypted ? 0xf3d1c4df : 0xe391c05f, 4)
  user.writeUInt32LE(directory.length, 8)
  return {
    '/PowerPoint Document': Buffer.concat([directory, atom(0x0ff5, edit), Buffer.alloc(4500)]),
    '/Current User': atom(0x0ff6, user),
  }
}

/** Creates the streams for a password-protected docx. */
export function encryptedPackage(): Streams {
  const content = Buffer.alloc(6008, 0x5a)
  content.writeBigUInt64LE(6000n, 0)
  return { '/EncryptionInfo': Buffer.alloc(200, 4), '/EncryptedPackage': content }
}
