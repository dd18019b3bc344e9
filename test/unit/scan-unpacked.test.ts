import { createHash } from 'node:crypto'
import { deflateSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { pack } from 'tar-stream'
import { examine } from '../../packages/formats/src/inspect.js'
import { applyRc4 } from '../../packages/formats/src/pdf/password.js'
import { MemorySource } from '../../packages/formats/src/random-access-source.js'
import { walkLimits } from '../../packages/formats/src/walk/visitor.js'
import { encrypted7z, hidden7z, hiddenZip, noise, sevenZip, zip } from '../../packages/formats/test/support/samples/archive.js'
import { cpio, oldCpio, rar5 } from '../../packages/formats/test/support/samples/containers.js'
import { compound, doc, encryptedPackage } from '../../packages/formats/test/support/samples/office.js'
import { createPdf, pdf, protectedPdf } from '../../packages/formats/test/support/samples/pdf.js'
import { createInspector } from '../../src/inspection/engine/inspect.js'
import { Search } from '../../src/inspection/scanners/yara/engine.js'
import { YaraScanner } from '../../src/inspection/scanners/yara/yara.js'
import { clean, createMemoryContent, createZip, eicar, toIncompleteVerdict } from '../support/eicar.js'
import { createSubmission, ScriptedScanner } from '../support/validation.js'

const never = () => ({ signal: new AbortController().signal })
const found = { verdict: 'infected', signature: 'EICAR-Test-String' }
const incomplete = (reason: string) => ({ verdict: 'incomplete', reason: expect.stringContaining(reason) })

// Repeating the content makes the packer split the EICAR string, so packed bytes do not contain it.
const packable = Buffer.concat([eicar.subarray(43), Buffer.from(' '), eicar, Buffer.from(' ')])
const thrice = Buffer.concat([packable, packable, packable])

let scanner: YaraScanner
beforeAll(async () => {
  scanner = await YaraScanner.open({ workers: 1 })
})
afterAll(() => scanner.close())
const scan = (bytes: Buffer) => scanner.scan(createMemoryContent(bytes), never())

const text = Buffer.from('Nothing to be seen here.')

test('scans small archives concurrently without mixing up their contents', async () => {
  const verdicts = await Promise.all([scan(gzipSync(eicar, { level: 9 })), scan(gzipSync(Buffer.alloc(300, 'harmless ')))])
  expect(verdicts.map(({ verdict }) => verdict)).toEqual(['infected', 'clean'])
})

test('does not report an engine failure during unpacking as damage to the file', async () => {
  const source = new MemorySource(createZip({ name: 'a.txt', bytes: Buffer.alloc(5_000, 'text ') }), 'zip')
  const fail = () => {
    throw new Error('out of memory')
  }
  const search = new Search(source, { find: fail, limits: walkLimits, cancelled: () => false })
  const { soundness } = await examine(source, { blank: true, observer: search.observer })
  expect(soundness).toMatchObject({ verdict: { sound: true } })
  await expect(search.finish()).rejects.toThrow('out of memory')
})

/** Compresses with Zstandard at its highest level. */
const zstd = Buffer.from(
  '28b52ffd641d008d02005404414e544956495255532d544553542d46494c452124482b482a2058354f2150254041505b345c505a58353428505e2937434329377d2445494341522d5354414e444152442d02003b312828103b98016c862c68',
  'hex',
)

describe('scans of unpacked content', () => {
  test.each<[string, () => Promise<Buffer> | Buffer]>([
    ['a 7z', () => sevenZip({ 'a.txt': 'text', 'b.com': thrice })],
    ['a 7z packed by PPMd', () => sevenZip({ 'b.com': thrice }, ['-m0=PPMd'])],
    ['a 7z with several members in one block, one of them empty', () => sevenZip({ a: noise(9_000), b: '', c: thrice })],
    ['a zip in a 7z', () => sevenZip({ 'a.zip': createZip({ name: 'b', bytes: thrice }) }, ['-mx=0'])],
    ['a 7z in a zip', async () => createZip({ name: 'a.7z', bytes: await sevenZip({ b: thrice }) })],
    ['a 7z in a 7z', async () => sevenZip({ 'a.7z': await sevenZip({ b: thrice }), c: noise(100) })],
    ['an xz', () => sevenZip({ a: thrice }, [], 'xz')],
    ['a tar in an xz', async () => sevenZip({ a: await packTar(thrice) }, [], 'xz')],
    ['a bzip2', () => sevenZip({ a: thrice }, [], 'bzip2')],
    ['a large member of a 7z', () => sevenZip({ a: Buffer.concat([Buffer.alloc(9_000_000), thrice]) })],
    [
      'a large zip in an xz',
      () =>
        sevenZip(
          { a: createZip({ name: 'a', bytes: noise(5_000_000), stored: true }, { name: 'b', bytes: thrice }) },
          ['-mx=1'],
          'xz',
        ),
    ],
    ['a Zstandard file', () => zstd],
    ['a zip member packed by LZMA', () => sevenZip({ a: noise(500), b: thrice }, ['-mm=LZMA'], 'zip')],
    ['a zip member packed by bzip2', () => sevenZip({ a: noise(500), b: thrice }, ['-mm=BZip2'], 'zip')],
    ['a stream of a compound file with reordered sectors', () => createScatteredStream()],
    ['a packed stream of a PDF', () => createPdfWithStream('/Filter /FlateDecode', deflateSync(thrice))],
    [
      'an attachment of a PDF',
      () =>
        createPdfWithStream('/Type /EmbeddedFile /Filter [/FlateDecode]', deflateSync(createZip({ name: 'a', bytes: thrice }))),
    ],
    [
      'a stream of a PDF with an escaped filter name',
      () => createPdfWithStream('/Filter [ /Fl#61teDecode ]', deflateSync(thrice)),
    ],
    [
      'a stream of a PDF packed twice',
      () => createPdfWithStream('/Filter [/ASCIIHexDecode /Fl]', Buffer.from(`${deflateSync(thrice).toString('hex')}>`)),
    ],
    ['a stream of a PDF in ASCII85', () => createPdfWithStream('/Filter /ASCII85Decode', ascii85(eicar))],
    [
      'a run-length encoded stream of a PDF',
      () =>
        createPdfWithStream(
          '/Filter /RL',
          Buffer.concat([Buffer.from([39]), eicar.subarray(0, 40), Buffer.from([27]), eicar.subarray(40), Buffer.from([128])]),
        ),
    ],
    [
      'a stream of a PDF without a table entry and with a wrong length',
      () =>
        Buffer.concat([
          Buffer.from('%PDF-1.7\n9 0 obj << /Length 2 /Filter /Fl >> stream\n'),
          deflateSync(thrice),
          Buffer.from('\nendstream'),
        ]),
    ],
    [
      'a large stream of a PDF',
      () => createPdfWithStream('/Filter /FlateDecode', deflateSync(Buffer.concat([noise(900_000), thrice]))),
    ],
    ['a stream of a PDF that is encrypted to forbid printing', () => printingForbidden(deflateSync(thrice))],
    [
      'a part of a mail in base64',
      () =>
        createMail(
          'Content-Type: application/octet-stream; name="a.bin"\r\nContent-Transfer-Encoding: base64\r\n\r\n' +
            lines(eicar.toString('base64')),
        ),
    ],
    [
      'a mail that consists of one base64 part',
      () =>
        Buffer.from(
          `Received: from a\r\nMIME-Version: 1.0\r\nContent-Transfer-Encoding: base64\r\n\r\n${lines(eicar.toString('base64'))}`,
        ),
    ],
    [
      'a mail after many header fields',
      () =>
        Buffer.concat([
          Buffer.from('X-Note: nothing\r\n'.repeat(9_000)),
          createMail(`Content-Transfer-Encoding: base64\r\n\r\n${lines(eicar.toString('base64'))}`),
        ]),
    ],
    [
      'a part of a mail in quoted-printable',
      () =>
        createMail(
          `Content-Type: text/plain\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n${[...eicar]
            .map((byte) => `=${byte.toString(16).toUpperCase()}`)
            .join('')
            .replace(/.{72}/g, '$&=\r\n')}`,
        ),
    ],
    [
      'a zip in a mail in a mail',
      () =>
        createMail(
          `Content-Type: message/rfc822\r\n\r\n${createMail(`Content-Type: application/zip\r\nContent-Transfer-Encoding: base64\r\n\r\n${lines(createZip({ name: 'a', bytes: thrice }).toString('base64'))}`)}`,
        ),
    ],
  ])('scans the unpacked content of %s', async (_, make) => {
    const bytes = await make()
    expect(bytes.includes(eicar)).toBe(false)
    expect(await scan(bytes)).toMatchObject(found)
  })

  test('reports unpacked content as clean if the scanner finds nothing', async () => {
    expect(await scan(await sevenZip({ a: noise(5_000), 'b.txt': 'text' }))).toEqual(clean)
    expect(await scan(await sevenZip({ a: noise(5_000) }, [], 'xz'))).toEqual(clean)
  })
})

test.each<[string, () => Buffer]>([
  ['a PDF', pdf],
  ['a Word document', () => compound(doc())],
  ['a mail', () => createMail('Content-Type: text/plain\r\n\r\nHello')],
  ['text that starts like a mail', () => Buffer.from('Note: this is text.\r\n\r\nContent-Type: nothing\r\n')],
])('reports %s without malware as clean', async (_, make) => {
  expect(await scan(make())).toEqual(clean)
})

describe('incompletely scanned content', () => {
  test.each<[string, Buffer, string]>([
    ['a damaged RAR archive', Buffer.concat([Buffer.from('Rar!\x1a\x07\x01\0', 'latin1'), noise(200)]), 'RAR'],
    ['an LZ4 file', Buffer.concat([Buffer.from('04224d18', 'hex'), noise(200)]), 'LZ4'],
    ['an lzip file', Buffer.concat([Buffer.from('LZIP\x01', 'latin1'), noise(200)]), 'lzip'],
    ['a PDF with a password', protectedPdf(), 'password'],
    ['a Word document with a password', compound(doc({ encrypted: true })), 'Office document is encrypted (Word)'],
    ['an encrypted package', compound(encryptedPackage()), 'EncryptedPackage'],
    [
      'a PDF with an attachment in a predictor encoding',
      createPdfWithStream('/Type /EmbeddedFile /Filter /Fl /DecodeParms << /Predictor 12 >>', deflateSync(text)),
      'predictor',
    ],
    ['a 7z with an encrypted member', encrypted7z, 'encrypted'],
    ['a 7z with an encrypted directory', hidden7z, 'encrypted'],
    ['a zip with an encrypted directory', hiddenZip(), 'encrypted'],
    ['a zip member with an unknown compression method', zip([{ name: 'a', data: 'text', method: 77 }]), 'method 77'],
  ])('reports %s as incompletely scanned, both directly and in a zip', async (_, bytes, reason) => {
    expect(await scan(bytes)).toMatchObject(incomplete(reason))
    expect(await scan(createZip({ name: 'a', bytes }))).toMatchObject(incomplete(reason))
  })

  test('detects a deceptive member name in any archive', async () => {
    const file = { name: 'invoice.pdf.exe', bytes: noise(50) }
    for (const bytes of [rar5(file), cpio(file), oldCpio(file), await sevenZip({ [file.name]: file.bytes })])
      expect(await scan(bytes)).toMatchObject({ verdict: 'infected' })
  })

  test('reports a virus even if the content was scanned incompletely', async () => {
    expect(await scan(createZip({ name: 'a.7z', bytes: encrypted7z }, { name: 'b', bytes: eicar }))).toMatchObject(found)
  })

  test('reports a damaged archive as incompletely scanned', async () => {
    const complete = await sevenZip({ a: noise(5_000) })
    expect(await scan(complete.subarray(0, 3_000))).toMatchObject(toIncompleteVerdict('damaged (7z archive'))
    const xz = await sevenZip({ a: Buffer.concat([thrice, noise(300_000)]) }, [], 'xz')
    expect(await scan(xz.subarray(0, 250_000))).toMatchObject(found)
  })
})

describe('files that require a password', () => {
  const inspector = createInspector({ scanner: new ScriptedScanner({ verdict: 'clean' }), workers: 1 })
  afterAll(() => inspector.close())
  const secret = createZip({ name: 'a', bytes: text, encrypted: true })
  const encryptedOdt = () =>
    zip([
      { name: 'mimetype', data: 'application/vnd.oasis.opendocument.text', stored: true },
      { name: 'META-INF/manifest.xml', data: '<manifest xmlns="urn:x"><file-entry><encryption-data/></file-entry></manifest>' },
      { name: 'content.xml', data: noise(200) },
    ])

  test.each<[string, string, () => Buffer | Promise<Buffer>]>([
    ['a zip in a zip', 'a.zip', () => createZip({ name: 'a.zip', bytes: secret, stored: true })],
    ['a zip in a tar', 'a.tar', () => packTar(secret)],
    ['a zip with an encrypted directory', 'a.zip', hiddenZip],
    ['a 7z', 'a.7z', () => encrypted7z],
    ['a 7z in a zip', 'a.zip', () => createZip({ name: 'a.7z', bytes: hidden7z })],
    ['a PDF', 'a.pdf', protectedPdf],
    ['a Word document', 'a.doc', () => compound(doc({ encrypted: true }))],
    ['an encrypted package', 'a.docx', () => compound(encryptedPackage())],
    ['an OpenDocument text', 'a.odt', encryptedOdt],
  ])('reports %s as incompletely scanned if it requires a password', async (_, name, make) => {
    const bytes = await make()
    const scanned = await inspector.inspect(createSubmission(name, bytes, { scanForViruses: true }))
    expect(scanned).toMatchObject({ outcome: 'rejected', reason: 'scan_incomplete' })
    expect(scanned.checks.at(-1)).toMatchObject({ outcome: 'incomplete', evidence: { scanner_proved_at: expect.any(String) } })
    expect((await inspector.inspect(createSubmission(name, bytes))).outcome).toBe('accepted')
    const strict = { rejectEncryptedFiles: true }
    expect((await inspector.inspect(createSubmission(name, bytes, strict))).reason).toBe('encrypted_file')
    const lenient = { scanForViruses: true, acceptUnscanned: true }
    expect((await inspector.inspect(createSubmission(name, bytes, lenient))).outcome).toBe('accepted')
  })
})

async function packTar(bytes: Buffer): Promise<Buffer> {
  const tar = pack()
  tar.entry({ name: 'a' }, bytes)
  tar.finalize()
  const chunks: Buffer[] = []
  for await (const chunk of tar) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

function createPdfWithStream(entries: string, data: Buffer): Buffer {
  const body = `<< ${entries} /Length ${data.length} >>\nstream\n${data.toString('latin1')}\nendstream`
  return createPdf([
    [1, '<< /Type /Catalog /Pages 2 0 R >>'],
    [2, '<< /Type /Pages /Kids [3 0 R] /Count 1 >>'],
    [3, '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] >>'],
    [4, body],
  ])
}

/** Uses encryption revision 2 with 40 bits and an empty user password. */
function printingForbidden(data: Buffer): Buffer {
  const padding = Buffer.from('28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a', 'hex')
  const owner = Buffer.alloc(32, 'o')
  const id = Buffer.alloc(16, 'i')
  const md5 = (bytes: Buffer) => createHash('md5').update(bytes).digest()
  const key = md5(Buffer.concat([padding, owner, Buffer.from([0xfc, 0xff, 0xff, 0xff]), id])).subarray(0, 5)
  const packed = applyRc4(md5(Buffer.concat([key, Buffer.from([4, 0, 0, 0, 0])])).subarray(0, 10), data)
  const encrypt = `<< /Filter /Standard /V 1 /R 2 /P -4 /O <${owner.toString('hex')}> /U <${applyRc4(key, padding).toString('hex')}> >>`
  const complete = createPdfWithStream('/Filter /FlateDecode', packed).toString('latin1')
  return Buffer.from(
    complete.replace('/Root 1 0 R', `/Root 1 0 R /Encrypt ${encrypt} /ID [<${id.toString('hex')}> <00>]`),
    'latin1',
  )
}

function ascii85(bytes: Buffer): Buffer {
  let text = ''
  for (let at = 0; at < bytes.length; at += 4) {
    let value = bytes.readUInt32BE(at)
    const digits = Array.from({ length: 5 }, () => {
      const digit = value % 85
      value = Math.floor(value / 85)
      return String.fromCharCode(33 + digit)
    })
    text += digits.reverse().join('')
  }
  return Buffer.from(`${text}~>`)
}

/** Creates a stream whose EICAR string spans two non-adjacent sectors (MS-CFB). */
function createScatteredStream(): Buffer {
  const content = Buffer.alloc(512 * 9, 1)
  for (let sector = 0; sector < 9; sector++) content[512 * sector] = sector
  eicar.copy(content, 512 - 30)
  const ole = compound({ Contents: content })
  const at = ole.indexOf(content.subarray(0, 512))
  const first = at / 512 - 1
  const [second, third] = [Buffer.from(ole.subarray(at + 512, at + 1024)), Buffer.from(ole.subarray(at + 1024, at + 1536))]
  third.copy(ole, at + 512)
  second.copy(ole, at + 1024)
  const table = (ole.readUInt32LE(76) + 1) * 512
  ole.writeUInt32LE(first + 2, table + 4 * first)
  ole.writeUInt32LE(first + 1, table + 4 * (first + 2))
  ole.writeUInt32LE(first + 3, table + 4 * (first + 1))
  return ole
}

const lines = (base64: string) => base64.replace(/.{76}/g, '$&\r\n')

function createMail(part: string): Buffer {
  const head =
    'From: a@example.org\r\nTo: b@example.org\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="xyz"\r\n\r\n'
  return Buffer.from(`${head}--xyz\r\nContent-Type: text/plain\r\n\r\nHello\r\n--xyz\r\n${part}\r\n--xyz--\r\n`, 'latin1')
}
