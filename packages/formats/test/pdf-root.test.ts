import { describe, expect, test } from '@jest/globals'
import { readPdf } from '../src/pdf/pdf.js'
import { limits, toSource } from './support/samples/archive.js'
import { pdf, pdfWithXrefStream, type StreamPdfChanges } from './support/samples/pdf.js'

const read = async (bytes: Buffer) => readPdf(toSource(bytes), limits())
const complete = { sound: true, evidence: { pages: 1, pages_opened: 1 } }
const unrepairable = { sound: false, problem: expect.stringMatching(/cross-reference stream .* no trailer/) }
const trailer = 'trailer\n<< /Root 1 0 R /Size 5 >>\n'
const streamAt = pdfWithXrefStream().indexOf('4 0 obj')

describe('PDF cross-reference streams without a trailer', () => {
  test('accepts a PDF with a cross-reference stream and with leading and trailing bytes', async () => {
    expect(await read(pdfWithXrefStream())).toMatchObject(complete)
    expect(await read(Buffer.concat([Buffer.alloc(600, 0x20), pdfWithXrefStream()]))).toMatchObject(complete)
    expect(await read(Buffer.concat([pdfWithXrefStream(), Buffer.alloc(20_000)]))).toMatchObject(complete)
  })

  test('accepts a PDF whose cross-reference stream starts one byte after its declared offset', async () => {
    expect(await read(pdfWithXrefStream({ startxref: streamAt - 1 }))).toMatchObject(complete)
  })

  const damages: [string, StreamPdfChanges][] = [
    ['at another offset', { startxref: 20 }],
    ['beyond the end of the file', { startxref: 100_000 }],
    ['moved by inserted bytes', { first: '% hello\n', startxref: streamAt }],
  ]

  test.each(damages)('rejects a PDF whose cross-reference stream is %s, unless a trailer names the root', async (_, changes) => {
    expect(await read(pdfWithXrefStream(changes))).toMatchObject(unrepairable)
    expect(await read(Buffer.concat([pdfWithXrefStream(changes), Buffer.from(trailer)]))).toMatchObject(complete)
  })

  test('rejects a PDF with a cross-reference stream but no startxref entry', async () => {
    const bytes = pdfWithXrefStream()
    expect(await read(bytes.subarray(0, bytes.indexOf('startxref')))).toMatchObject(unrepairable)
  })

  test('reads a linearized PDF from its first section', async () => {
    const first = (name: string) => `9 0 obj\n<< /${name} 1 >>\nendobj\n`
    const section = (name: string) => {
      const bytes = pdfWithXrefStream({ first: first(name) }).toString('latin1')
      const stream = bytes.slice(bytes.indexOf('4 0 obj'), bytes.indexOf('startxref'))
      return Buffer.from(
        bytes
          .replace(stream, '')
          .replace(/startxref\n\d+/, 'startxref\n1')
          .replace(first(name), first(name) + stream),
        'latin1',
      )
    }
    expect(await read(section('Linearized'))).toMatchObject(complete)
    expect(await read(section('Straightened'))).toMatchObject(unrepairable)
  })
})

describe('PDF trailers', () => {
  const damaged = pdfWithXrefStream({ startxref: 20 })
  const behind = (...parts: string[]) => Buffer.concat([damaged, ...parts.map((part) => Buffer.from(part))])

  test('finds a PDF trailer at any offset', async () => {
    // Offsets near the boundaries of search chunks, and far from the end of the file.
    for (const place of [65_536 - damaged.length - 20, 65_536 - damaged.length - 4, 70_000])
      expect(await read(behind(' '.repeat(place), trailer, ' '.repeat(100_000)))).toMatchObject(complete)
  })

  test('accepts a malformed PDF trailer only if it names the root', async () => {
    expect(await read(behind('trailer % here it is\n<< /Root 1 0 R >>'))).toMatchObject(complete)
    expect(await read(behind('trailer << << /Size 5 [ 1 2 ] /Root 1 0 R'))).toMatchObject(complete)
    expect(await read(behind('trailer'))).toMatchObject(unrepairable)
    expect(await read(behind('trailer << /Size 5 >>'))).toMatchObject(unrepairable)
  })

  test('accepts a PDF that has a trailer but no cross-reference table', async () => {
    const text = pdf().toString('latin1')
    const table = text.slice(text.indexOf('xref'), text.indexOf('trailer'))
    expect(await read(Buffer.from(text.replace(table, ''), 'latin1'))).toMatchObject(complete)
  })

  test('rejects a PDF with thousands of trailers that do not name the root', async () => {
    expect(await read(behind('trailer << >>\n'.repeat(20_000)))).toMatchObject(unrepairable)
  })
})

test('rejects a PDF with an invalid page generation number and no cross-reference table', async () => {
  const withGeneration = (generation: string) => {
    const text = pdf().toString('latin1').replace('3 0 obj', `3 ${generation} obj`)
    return Buffer.from(text.replace(/startxref\n\d+/, 'startxref\n9'), 'latin1')
  }
  expect(await read(withGeneration('0'))).toMatchObject(complete)
  expect(await read(withGeneration('18446744073709551616'))).toMatchObject({
    sound: false,
    problem: expect.stringMatching(/object 3 has an invalid generation number/),
  })
})
