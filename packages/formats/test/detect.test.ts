import { describe, expect, test } from '@jest/globals'
import sharp from 'sharp'
import { recognizeType } from '../src/detect/detect.js'
import { defaultLimits } from '../src/inspect.js'
import { MemorySource } from '../src/random-access-source.js'
import { getMimeType, getMimeTypeByExtension, isExtensionOfType } from '../src/readers.js'
import * as basic from './support/samples/basic.js'
import * as text from './support/samples/text.js'

const typeOf = async (bytes: Buffer): Promise<string> => {
  const found = await recognizeType(new MemorySource(bytes, ''), defaultLimits(5000))
  return found.kind === 'binary' ? found.type : found.kind
}

const picture = (format: 'jpeg' | 'webp' | 'tiff' | 'avif'): Promise<Buffer> =>
  sharp({ create: { width: 16, height: 16, channels: 3, background: 'teal' } })
    .toFormat(format)
    .toBuffer()

const valid: [type: string, extension: string, make: () => Buffer | Promise<Buffer>][] = [
  ['png', 'png', basic.png],
  ['jpg', 'jpg', () => picture('jpeg')],
  ['gif', 'gif', basic.gif],
  ['webp', 'webp', () => picture('webp')],
  ['tif', 'tiff', () => picture('tiff')],
  ['avif', 'avif', () => picture('avif')],
  ['bmp', 'bmp', basic.bmp],
  ['pdf', 'pdf', basic.pdf],
  ['zip', 'zip', () => basic.zip({ 'a.txt': 'hello' })],
  ['docx', 'docx', basic.docx],
  ['xlsx', 'xlsx', () => basic.zip(basic.xlsxNames)],
  ['pptx', 'pptx', () => basic.zip(basic.pptxNames)],
  ['odt', 'odt', basic.odt],
  ['epub', 'epub', basic.epub],
  ['jar', 'jar', basic.jar],
  ['doc', 'doc', () => basic.ole('WordDocument')],
  ['xls', 'xls', () => basic.ole('Workbook')],
  ['ppt', 'ppt', () => basic.ole('PowerPoint Document')],
  ['encrypted-ooxml', 'docx', () => basic.ole('EncryptedPackage', 'EncryptionInfo')],
  ['gz', 'gz', basic.gz],
  ['tar', 'tar', basic.tar],
  ['exe', 'exe', basic.exe],
  ['wav', 'wav', basic.wav],
  ['mp3', 'mp3', basic.mp3],
  ['ogg-audio', 'ogg', () => basic.ogg('\x01vorbis')],
  ['ogg-opus', 'opus', () => basic.ogg('OpusHead')],
  ['mp4', 'mp4', () => basic.isoMedia('isom', ['vide', 'soun'])],
  ['mov', 'mov', () => basic.isoMedia('qt  ', ['vide'])],
  ['m4a', 'm4a', () => basic.isoMedia('M4A ', ['soun'])],
  ['mp4-audio', 'm4a', () => basic.isoMedia('mp42', ['soun'])],
  ['3gp', '3gp', () => basic.isoMedia('3gp4', ['vide'])],
]

describe('type detection', () => {
  test.each(valid)('detects the type %s, and accepts the extension .%s for this type', async (type, extension, make) => {
    expect(await typeOf(await make())).toBe(type)
    expect(isExtensionOfType(extension, type)).toBe(true)
  })

  test('rejects the extensions of one binary type for files of another binary type', async () => {
    const extensions = new Set(valid.map(([, extension]) => extension))
    const wrong: string[] = []
    for (const [type] of valid)
      for (const extension of extensions) if (isExtensionOfType(extension, type)) wrong.push(`${type} as ${extension}`)
    const kin = [
      'encrypted-ooxml as xlsx',
      'encrypted-ooxml as pptx',
      'mp4-audio as mp4',
      'm4a as mp4',
      'mp4-audio as 3gp',
      '3gp as mp4',
      'mov as mp4',
      'ogg-opus as ogg',
      'jpg as jpeg',
      'zip as jar',
    ]
    const own = valid.map(([type, extension]) => `${type} as ${extension}`)
    const zips = ['docx', 'xlsx', 'pptx', 'odt', 'epub', 'jar'].map((type) => `${type} as zip`)
    expect(wrong.filter((pair) => !own.includes(pair) && !kin.includes(pair) && !zips.includes(pair))).toEqual([])
  })

  test.each([
    ['jpg', ['jpg', 'jpeg', 'jpe', 'jfif'], ['png', 'gif', 'txt']],
    ['tif', ['tif', 'tiff'], ['jpg', 'bmp']],
    ['docx', ['docx', 'docm', 'dotx', 'zip'], ['xlsx', 'jar', 'doc', 'txt']],
    ['zip', ['zip', 'kmz', 'jar', 'war'], ['docx', 'xlsx', 'odt', 'epub', 'apk']],
    ['mp4', ['mp4', 'm4v'], ['mov', 'm4a', 'webm', 'avif']],
    ['mov', ['mov', 'qt', 'mp4'], ['m4a', 'webm']],
    ['m4a', ['m4a', 'm4b', 'mp4'], ['mov', 'mp3']],
    ['ogg-audio', ['ogg', 'oga'], ['opus', 'mp3', 'flac']],
    ['exe', ['exe', 'dll', 'bin'], ['csv', 'txt', 'pdf', 'whatever']],
    ['pdf', ['pdf'], ['txt', 'docx', 'png']],
  ])('accepts the type %s with the extensions %j but not with %j', (type, may, mayNot) => {
    expect(may.filter((extension) => !isExtensionOfType(extension, type))).toEqual([])
    expect(mayNot.filter((extension) => isExtensionOfType(extension, type))).toEqual([])
  })

  test('accepts a file with an unknown extension unless the file is a program', () => {
    expect(['zip', 'ole', 'exe', 'gif', 'class'].filter((type) => isExtensionOfType('acme', type))).toEqual(['zip', 'ole', 'gif'])
  })
})

describe('content that resembles another type', () => {
  test.each([
    ['GIF is what this text is about', 'text'],
    ['BM: minutes of the meeting', 'text'],
    ['MZ, initials of a name', 'text'],
    ['Buy free stuff', 'text'],
    ['The wide world', 'text'],
    ['SQLi is an attack', 'text'],
    ['solid ground', 'text'],
    ['ID3 tags explained', 'text'],
    ['%!important { }', 'text'],
    ['RIFF raff', 'text'],
    ['FORM of the day', 'text'],
    ['{"json": true}', 'text'],
    ['<svg xmlns="http://www.w3.org/2000/svg"/>', 'text'],
    ['BEGIN:VCARD\nEND:VCARD\n', 'text'],
  ])('identifies text that starts like another file type as text: %s', async (content, kind) => {
    expect(await typeOf(Buffer.from(content))).toBe(kind)
  })

  test('identifies binary data as unknown if it resembles another type only at its start', async () => {
    const noise = (start: string) =>
      Buffer.concat([
        Buffer.from(start, 'latin1'),
        Buffer.from(Array.from({ length: 600 }, (_, at) => (at * 7 + (at >> 3)) & 255)),
      ])
    expect(await typeOf(noise('BM'))).toBe('unknown')
    expect(await typeOf(noise('\xff\xfb\x90'))).toBe('unknown')
    expect(await typeOf(noise('GIF'))).toBe('unknown')
    expect(await typeOf(noise('\x78\x01'))).toBe('unknown')
  })

  test('detects an empty file', async () => {
    expect(await typeOf(Buffer.alloc(0))).toBe('empty')
  })
})

describe('damaged content', () => {
  test('identifies a truncated Office document as a damaged zip', async () => {
    const complete = basic.docx()
    expect(await typeOf(complete.subarray(0, complete.length - 200))).toBe('zip-damaged')
    expect(['docx', 'xlsx', 'odt', 'jar', 'zip'].every((extension) => isExtensionOfType(extension, 'zip-damaged'))).toBe(true)
    expect(isExtensionOfType('pdf', 'zip-damaged')).toBe(false)
  })

  test('identifies an Office document with a damaged central directory as a damaged zip', async () => {
    const complete = basic.zip({ 'word/a.xml': 'a', 'word/b.xml': 'b', 'word/document.xml': 'c' })
    const second = complete.indexOf('PK\x01\x02', complete.indexOf('PK\x01\x02', 0, 'latin1') + 1, 'latin1')
    complete.fill(0, second, second + 4)
    expect(await typeOf(complete)).toBe('zip-damaged')
  })

  test('detects the type of an Office document without its main part or content types', async () => {
    expect(await typeOf(basic.zip({ '_rels/.rels': '', 'word/styles.xml': '' }))).toBe('docx')
    const manifest = '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
    expect(await typeOf(basic.zip({ 'content.xml': '', 'META-INF/manifest.xml': manifest }))).toBe('odf')
  })

  test('accepts any MP4 extension for an MP4 file that is truncated before its movie header', async () => {
    const complete = basic.isoMedia('isom', ['vide'])
    expect(await typeOf(complete.subarray(0, 20))).toBe('iso-damaged')
    expect(isExtensionOfType('m4a', 'iso-damaged')).toBe(true)
  })

  test('identifies a compound file with an unreadable directory as the generic type ole', async () => {
    expect(await typeOf(basic.ole('WordDocument').subarray(0, 512))).toBe('ole')
  })

  test('identifies a zip that is surrounded by other bytes as unknown', async () => {
    const damaged = Buffer.concat([Buffer.alloc(600, 3), basic.docx(), Buffer.alloc(600, 5)])
    expect(await typeOf(damaged)).toBe('unknown')
  })
})

describe('unusual content', () => {
  test('detects an Office document whose member names contain backslashes', async () => {
    expect(await typeOf(basic.zip({ '[Content_Types].xml': '', 'xl\\workbook.xml': '' }))).toBe('xlsx')
  })

  test('detects a WAV file whose companded samples look like text', async () => {
    const loud = basic.wav(4000)
    for (let at = 44; at < loud.length; at++) loud[at] = 0xd5 + (at % 3)
    expect(await typeOf(loud)).toBe('wav')
  })

  test('detects a PDF that has leading bytes or contains only text characters', async () => {
    expect(await typeOf(Buffer.concat([Buffer.from([0, 1, 2, 3]), basic.pdf()]))).toBe('pdf')
    expect(await typeOf(basic.pdf())).toBe('pdf')
  })

  test.each([
    ['pdf', '\xef\xbb\xbf%PDF-1.4 all letters %%EOF'],
    ['pdf', '\xef\xbb\xbf\xef\xbb\xbf%PDF-1.4 all letters %%EOF'],
    ['ps', '%!PS all letters'],
    ['text', '%! and 5 % more'],
    ['eps', '%!PS-Adobe-3.0 EPSF-3.0'],
    ['eps', '\xc5\xd0\xd3\xc6 all letters'],
    ['rtf', '{\\rtf1 all letters}'],
    ['text', '{"rtf": 1}'],
  ])('detects the type %s in content that looks like text: %s', async (type, letters) => {
    expect(await typeOf(Buffer.from(letters, 'latin1'))).toBe(type)
  })

  test('identifies UTF-16 text with a byte-order mark as text, not as MPEG audio', async () => {
    expect(await typeOf(text.utf16le('Hello'))).toBe('text')
  })
})

describe('documents that predate compound files', () => {
  test.each([
    ['xls', Buffer.from('0900040002001000', 'hex')],
    ['xls', Buffer.from('0904060000001000', 'hex')],
    ['doc', Buffer.concat([Buffer.from('dba52d00', 'hex'), Buffer.alloc(400), Buffer.alloc(100, 1)])],
  ])('identifies an old Office document that is not a compound file as type %s', async (type, bytes) => {
    expect(await typeOf(bytes)).toBe(type)
  })
})

describe('content types', () => {
  test.each([
    ['docx', 'zip', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
    ['docx', 'docm', 'application/vnd.ms-word.document.macroEnabled.12'],
    ['jpg', 'jpeg', 'image/jpeg'],
    ['encrypted-ooxml', 'xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
    ['mp4', 'mp4', 'video/mp4'],
    ['m4a', 'm4a', 'audio/mp4'],
    ['png', 'dat', 'image/png'],
  ])('maps the type %s with the extension .%s to the content type %s', (type, extension, mime) => {
    expect(getMimeType(type, extension)).toBe(mime)
  })

  test.each([
    ['csv', 'text/csv'],
    ['json', 'application/json'],
    ['svg', 'image/svg+xml'],
    ['htm', 'text/html'],
    ['md', 'text/markdown'],
    ['mp3', 'audio/mpeg'],
    ['unheardof', null],
    ['bin', null],
    ['old', null],
  ])('maps the extension .%s, without a detected type, to the content type %s', (extension, mime) => {
    expect(getMimeTypeByExtension(extension)).toBe(mime)
  })
})
