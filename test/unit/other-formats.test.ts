import { describe, expect, test } from '@jest/globals'
import { examine } from '../../packages/formats/src/inspect.js'
import { MemorySource } from '../../packages/formats/src/random-access-source.js'
import { noise } from '../../packages/formats/test/support/samples/archive.js'
import { iso } from '../../packages/formats/test/support/samples/containers.js'
import { pdfWithAttachment } from '../../packages/formats/test/support/samples/pdf.js'
import { utf16le } from '../../packages/formats/test/support/samples/text.js'

const latin = (text: string) => Buffer.from(text, 'latin1')

async function inspect(extension: string, bytes: Buffer) {
  const { recognition, soundness } = await examine(new MemorySource(bytes, extension), { blank: true })
  return { mime: recognition.mime, fits: recognition.fits, sound: soundness?.verdict.sound, reader: soundness?.reader }
}

const calendar = 'BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n'
const step = "ISO-10303-21;\nHEADER;\nENDSEC;\nDATA;\n#1=CARTESIAN_POINT('',(0.,0.,0.));\nENDSEC;\nEND-ISO-10303-21;\n"
const drawing = '  0\nSECTION\n  2\nENTITIES\n  0\nENDSEC\n  0\nEOF\n'
const facets = (count: number) => {
  const bytes = Buffer.alloc(84 + 50 * count, 1)
  bytes.writeUInt32LE(count, 80)
  return bytes
}

describe('text formats', () => {
  test.each<[string, Buffer, string]>([
    ['ics', latin(calendar), 'text/calendar'],
    ['ics', utf16le(calendar), 'text/calendar'],
    ['vcf', latin('BEGIN:VCARD\nVERSION:4.0\nFN:Ada\nEND:VCARD\n'), 'text/vcard'],
    ['vcf', latin('##fileformat=VCFv4.2\n#CHROM\tPOS\n'), 'text/vcard'],
    ['vtt', latin('WEBVTT\n\n00:01.000 --> 00:02.000\nHello\n'), 'text/vtt'],
    ['srt', latin('1\n00:00:01,000 --> 00:00:02,000\nHello\n'), 'application/x-subrip'],
    ['step', latin(step), 'model/step'],
    ['ifc', latin(step), 'model/step'],
    ['dxf', latin(drawing), 'image/vnd.dxf'],
    ['gltf', latin('{ "asset": { "version": "2.0" } }'), 'model/gltf+json'],
    ['yaml', latin('a: 1\nb:\n  - c\n'), 'application/yaml'],
    ['toml', latin('[a]\nb = 1\n'), 'application/toml'],
    ['eml', latin('From: a@example.com\r\nSubject: Hello\r\n\r\nHello\r\n'), 'message/rfc822'],
    ['stl', latin('solid cube\nfacet normal 0 0 0\nendfacet\nendsolid cube\n'), 'model/stl'],
    ['stl', facets(12), 'model/stl'],
    ['stl', latin(`850STL25.01${' '.repeat(1013)}`), 'model/stl'],
  ])('opens a valid .%s text file', async (extension, bytes, mime) => {
    expect(await inspect(extension, bytes)).toMatchObject({ sound: true, fits: true, reader: expect.any(String) })
    if (extension !== 'stl') expect((await inspect(extension, bytes)).mime).toBe(mime)
  })

  test.each<[string, Buffer]>([
    ['ics', latin(calendar.slice(0, 30))],
    ['vcf', latin('BEGIN:VCARD\nVERSION:4.0\n')],
    ['step', latin(step.slice(0, 60))],
    ['dxf', latin(drawing.slice(0, 30))],
    ['gltf', latin('{ "asset": ')],
    ['stl', facets(12).subarray(0, 400)],
    ['stl', latin('solid cube\nfacet normal 0 0 0\n')],
  ])('rejects a truncated .%s text file', async (extension, bytes) => {
    expect(await inspect(extension, bytes)).toMatchObject({ sound: false })
  })

  test.each(['ics', 'vcf', 'vtt', 'step', 'dxf', 'stl'])('rejects text and noise with the extension .%s', async (extension) => {
    expect(await inspect(extension, latin('just some text\n'.repeat(20)))).toMatchObject({ sound: false })
    expect(await inspect(extension, noise(3000))).toMatchObject({ sound: false })
  })
})

const dbf = () => {
  const bytes = Buffer.alloc(65 + 3 * 10, 32)
  bytes.set([3, 24, 1, 31, 3, 0, 0, 0, 65, 0, 10, 0])
  return bytes
}
const shp = () => {
  const bytes = Buffer.alloc(100)
  bytes.writeUInt32BE(9994, 0)
  bytes.writeUInt32BE(50, 24)
  bytes.writeUInt32LE(1000, 28)
  return bytes
}
const nii = () => {
  const bytes = Buffer.alloc(500)
  bytes.writeUInt32LE(348, 0)
  bytes.write('n+1\0', 344, 'latin1')
  return bytes
}
// Other disk image formats share these extensions and have no distinctive header.
const uncertain = new Set(['iso', 'dbf', 'tta'])
const behind = (start: string) => Buffer.concat([latin(start), noise(500)])

describe('types recognized by their signatures', () => {
  test.each<[string, () => Buffer, string]>([
    ['avro', () => behind('Obj\x01'), 'application/vnd.apache.avro'],
    ['iso', () => iso({ name: 'A.TXT', bytes: latin('text') }), 'application/vnd.efi.iso'],
    ['shp', shp, 'application/vnd.shp'],
    ['dbf', dbf, 'application/vnd.dbf'],
    ['exr', () => behind('v/1\x01'), 'image/x-exr'],
    ['djvu', () => behind('AT&TFORM\0\0\x01\0DJVU'), 'image/vnd.djvu'],
    ['npy', () => behind('\x93NUMPY\x01\0'), 'application/x-npy'],
    ['h5', () => behind('\x89HDF\r\n\x1a\n'), 'application/x-hdf5'],
    ['fits', () => behind(`${'SIMPLE  =                    T'.padEnd(80)}${'END'.padEnd(2800)}`), 'application/fits'],
    ['nii', nii, 'application/x-nifti'],
    ['lz4', () => behind('\x02\x21\x4c\x18'), 'application/x-lz4'],
    ['lz4', () => behind('\x50\x2a\x4d\x18\x01\0\0\0x\x04\x22\x4d\x18'), 'application/x-lz4'],
    ['cab', () => behind('ISc(\x01\x52\0\x01'), 'application/x-installshield'],
    ['tta', () => behind('TTA1'), 'audio/x-tta'],
    ['tta', () => behind('ID3\x03\0\0\0\0\0\x0aTALB\0\0\0\0\0\0TTA1'), 'audio/x-tta'],
    ['p7m', () => Buffer.concat([Buffer.from('308006092a864886f70d010702', 'hex'), noise(300)]), 'application/pkix-cert'],
    ['p12', () => Buffer.concat([Buffer.from('30820200', 'hex'), noise(512)]), 'application/pkix-cert'],
  ])('detects a .%s file by its signature and rejects other content', async (extension, make, mime) => {
    expect(await inspect(extension, make())).toMatchObject({ sound: true, fits: true, mime })
    if (!uncertain.has(extension)) {
      expect(await inspect(extension, noise(5000))).toMatchObject({ sound: false })
      expect(await inspect(extension, latin('just some text\n'.repeat(20)))).toMatchObject({ sound: false })
    }
    expect(await inspect(extension, pdfWithAttachment())).toMatchObject({ fits: false })
  })

  test('detects .tga and .dmg files by their last bytes', async () => {
    const picture = Buffer.concat([Buffer.alloc(18, 2), noise(300), latin('TRUEVISION-XFILE.\0')])
    expect(await inspect('tga', picture)).toMatchObject({ sound: true, mime: 'image/x-tga' })
    const disk = Buffer.concat([noise(600), latin('koly\0\0\0\x04'), Buffer.alloc(504)])
    expect(await inspect('dmg', disk)).toMatchObject({ sound: true, mime: 'application/x-apple-diskimage' })
  })

  test('detects a PKCS #7 signature in base64 with or without PEM header lines', async () => {
    const pem = `-----BEGIN PKCS7-----\n${'MIIB'.repeat(40)}\n-----END PKCS7-----\n`
    expect(await inspect('p7s', latin(pem))).toMatchObject({ sound: true })
    expect(await inspect('p7s', latin('MIIB'.repeat(40)))).toMatchObject({ sound: true })
  })
})
