import { describe, expect, test } from '@jest/globals'
import { readPdf } from '../src/pdf/pdf.js'
import { limits, sourceOf } from './support/samples/archive.js'
import { pdf, type StreamPdfChanges, streamPdf } from './support/samples/pdf.js'

const read = async (bytes: Buffer) => readPdf(sourceOf(bytes), limits())
const whole = { sound: true, evidence: { pages: 1, pages_opened: 1 } }
const unrepairable = { sound: false, problem: expect.stringMatching(/cross-reference stream .* no trailer/) }
const trailer = 'trailer\n<< /Root 1 0 R /Size 5 >>\n'
const streamAt = streamPdf().indexOf('4 0 obj')

describe('a document with a cross-reference stream and no trailer', () => {
  test('is sound, also with bytes before its header and behind its end', async () => {
    expect(await read(streamPdf())).toMatchObject(whole)
    expect(await read(Buffer.concat([Buffer.alloc(600, 0x20), streamPdf()]))).toMatchObject(whole)
    expect(await read(Buffer.concat([streamPdf(), Buffer.alloc(20_000)]))).toMatchObject(whole)
  })

  test('is sound where the stream starts a byte before its place says', async () => {
    expect(await read(streamPdf({ startxref: streamAt - 1 }))).toMatchObject(whole)
  })

  const damages: [string, StreamPdfChanges][] = [
    ['elsewhere than it says', { startxref: 20 }],
    ['beyond the end', { startxref: 100_000 }],
    ['moved by bytes that were put before it', { first: '% hello\n', startxref: streamAt }],
  ]

  test.each(damages)('is broken where the stream stands %s, and is repaired from a trailer', async (_, changes) => {
    expect(await read(streamPdf(changes))).toMatchObject(unrepairable)
    expect(await read(Buffer.concat([streamPdf(changes), Buffer.from(trailer)]))).toMatchObject(whole)
  })

  test('is broken where its end is missing', async () => {
    const bytes = streamPdf()
    expect(await read(bytes.subarray(0, bytes.indexOf('startxref')))).toMatchObject(unrepairable)
  })

  test('a linearized one is read from its first section', async () => {
    const first = (name: string) => `9 0 obj\n<< /${name} 1 >>\nendobj\n`
    const section = (name: string) => {
      const bytes = streamPdf({ first: first(name) }).toString('latin1')
      const stream = bytes.slice(bytes.indexOf('4 0 obj'), bytes.indexOf('startxref'))
      return Buffer.from(
        bytes
          .replace(stream, '')
          .replace(/startxref\n\d+/, 'startxref\n1')
          .replace(first(name), first(name) + stream),
        'latin1',
      )
    }
    expect(await read(section('Linearized'))).toMatchObject(whole)
    expect(await read(section('Straightened'))).toMatchObject(unrepairable)
  })
})

describe('a trailer', () => {
  const damaged = streamPdf({ startxref: 20 })
  const behind = (...parts: string[]) => Buffer.concat([damaged, ...parts.map((part) => Buffer.from(part))])

  test('is found wherever it stands', async () => {
    // Around the edges of the chunks that are looked at, and far from the end.
    for (const place of [65_536 - damaged.length - 20, 65_536 - damaged.length - 4, 70_000])
      expect(await read(behind(' '.repeat(place), trailer, ' '.repeat(100_000)))).toMatchObject(whole)
  })

  test('counts where it names the root, however badly it is written', async () => {
    expect(await read(behind('trailer % here it is\n<< /Root 1 0 R >>'))).toMatchObject(whole)
    expect(await read(behind('trailer << << /Size 5 [ 1 2 ] /Root 1 0 R'))).toMatchObject(whole)
    expect(await read(behind('trailer'))).toMatchObject(unrepairable)
    expect(await read(behind('trailer << /Size 5 >>'))).toMatchObject(unrepairable)
  })

  test('without its table is enough', async () => {
    const text = pdf().toString('latin1')
    const table = text.slice(text.indexOf('xref'), text.indexOf('trailer'))
    expect(await read(Buffer.from(text.replace(table, ''), 'latin1'))).toMatchObject(whole)
  })

  test('is looked for by the thousand without searching for the root each time', async () => {
    expect(await read(behind('trailer << >>\n'.repeat(20_000)))).toMatchObject(unrepairable)
  })
})
