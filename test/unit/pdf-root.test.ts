import { constants, deflateRawSync, deflateSync, inflateSync } from 'node:zlib'
import { describe, expect, test } from '@jest/globals'
import { readPdf } from '../../src/formats/pdf/pdf.js'
import { limits, sourceOf } from '../support/samples/archive.js'
import { pdf, streamPdf, type XrefStreamChanges } from '../support/samples/pdf.js'

const read = async (bytes: Buffer) => readPdf(sourceOf(bytes), limits())
const whole = { sound: true, evidence: { pages: 1, pages_opened: 1 } }
const unrepairable = { sound: false, problem: expect.stringMatching(/cross-reference stream .* no trailer/) }
const trailer = Buffer.from('trailer\n<< /Root 1 0 R /Size 5 >>\n')
const flip = (at: number) => (bytes: Buffer) => {
  const changed = Buffer.from(bytes)
  changed[at]! ^= 0xff
  return changed
}
/** That of the stream itself, the last row. */
const unknownType = (rows: Buffer) => {
  const changed = Buffer.from(rows)
  changed[21] = 8
  return changed
}

describe('a document with a cross-reference stream and no trailer', () => {
  test.each<[string, XrefStreamChanges]>([
    ['packed', {}],
    ['not packed', { plain: true }],
    ...([0, 1, 3, 4] as const).map((predictor): [string, XrefStreamChanges] => [`with predictor ${predictor}`, { predictor }]),
    ['with the ranges that it speaks of', { entries: { Index: '[0 3 3 4]' } }],
    ['with no ranges to speak of', { entries: { Index: 'null' } }],
    ['whose names are written in hexadecimal', { entries: { Root: '', 'Ro#6ft': '1 0 R' } }],
    ['with strings and comments that look like its entries', { entries: { ID: '(>> /W 1 \\) /W 2 (/W 3) /W 4) % /W 5\n' } }],
    ['with a checksum that is wrong', { data: (packed) => flip(packed.length - 1)(packed) }],
    ['that is damaged behind what it promises', { data: damagedBehind }],
    ['that is cut behind what it promises', { entries: { Size: '5' }, data: (packed) => packed.subarray(0, -6) }],
    ['that repeats zeros from before its beginning', { data: repeatingZeros }],
    ['that starts a byte before its place says', { startxref: streamPdf().indexOf('4 0 obj') - 1 }],
    ['packed in a way that nobody uses', { plain: true, entries: { Filter: '/ASCIIHexDecode' }, data: hexadecimal }],
  ])('is sound: %s', async (_, changes) => {
    expect(await read(streamPdf(changes))).toMatchObject(whole)
  })

  test('is sound with bytes before its header, and behind its end', async () => {
    expect(await read(Buffer.concat([Buffer.alloc(600, 0x20), streamPdf()]))).toMatchObject(whole)
    expect(await read(Buffer.concat([streamPdf(), Buffer.alloc(20_000)]))).toMatchObject(whole)
  })

  const damages: [string, XrefStreamChanges][] = [
    ['packed data that is no such data', { data: flip(0) }],
    ['packed data that is cut', { data: (packed) => packed.subarray(0, packed.length >> 1) }],
    ['packed data that is damaged', { data: flip(2) }],
    ['fewer entries than it promises', { table: (rows) => rows.subarray(0, -10) }],
    ['more entries than its file could hold', { entries: { Size: '2000000000' } }],
    ['an entry of a type that there is not', { table: unknownType }],
    ['the same, not packed', { plain: true, table: flip(16) }],
    ['no widths', { entries: { W: '' } }],
    ['two widths', { entries: { W: '[1 3]' } }],
    ['a negative width', { entries: { W: '[1 -2 1]' } }],
    ['no size', { entries: { Size: '' } }],
    ['a filter that there is not', { entries: { Filter: '/FlatDecode' } }],
    ['another place than it says', { startxref: 20 }],
    ['a place beyond the end', { startxref: 100_000 }],
  ]

  test.each(damages)('is broken where the stream has %s', async (_, changes) => {
    expect(await read(streamPdf(changes))).toMatchObject(unrepairable)
  })

  test.each(damages)('is repaired from a trailer where the stream has %s', async (_, changes) => {
    expect(await read(Buffer.concat([streamPdf(changes), trailer]))).toMatchObject(whole)
  })

  test('is broken where its end is missing, and where bytes were put into it', async () => {
    const bytes = streamPdf()
    expect(await read(bytes.subarray(0, bytes.indexOf('startxref')))).toMatchObject(unrepairable)
    expect(await read(streamPdf({ first: '% hello\n', startxref: bytes.indexOf('4 0 obj') }))).toMatchObject(unrepairable)
  })

  test('is broken where the last of its updates does not name the root', async () => {
    const bytes = streamPdf()
    const update = (root: string) =>
      `5 0 obj\n<< /Type /XRef /Size 6 ${root} /Index [5 1] /W [1 2 1] /Prev ${bytes.indexOf('4 0 obj')} /Length 4 >>\nstream\n\x01\x01\x01\x01\nendstream\nendobj\n`
    const updated = (root: string) => Buffer.concat([bytes, Buffer.from(`${update(root)}startxref\n${bytes.length}\n%%EOF\n`)])
    expect(await read(updated('/Root 1 0 R'))).toMatchObject(whole)
    expect(await read(updated(''))).toMatchObject(unrepairable)
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
  const damaged = streamPdf({ data: flip(0) })
  const behind = (...parts: string[]) => Buffer.concat([damaged, ...parts.map((part) => Buffer.from(part))])

  test('is found wherever it stands', async () => {
    // Around the edges of the chunks that are looked at, and far from the end.
    for (const place of [65_536 - damaged.length - 20, 65_536 - damaged.length - 4, 70_000])
      expect(await read(behind(' '.repeat(place), trailer.toString(), ' '.repeat(100_000)))).toMatchObject(whole)
  })

  test('counts where it names the root, however badly it is written', async () => {
    expect(await read(behind('trailer % here it is\n<< /Root 1 0 R >>'))).toMatchObject(whole)
    expect(await read(behind('trailer << << /Size 5 [ 1 2 ] /Root 1 0 R'))).toMatchObject(whole)
    expect(await read(behind('trailer'))).toMatchObject(unrepairable)
    expect(await read(behind('trailer << /Size 5 >>'))).toMatchObject(unrepairable)
    expect(await read(behind('trailer << /Info << /Root 1 0 R >> >>'))).toMatchObject(unrepairable)
  })

  test('without its table is enough', async () => {
    const text = pdf().toString('latin1')
    const table = text.slice(text.indexOf('xref'), text.indexOf('trailer'))
    expect(await read(Buffer.from(text.replace(table, ''), 'latin1'))).toMatchObject(whole)
  })

  test('is not looked for without end: among hundreds of words that could be one, one is believed', async () => {
    expect(await read(behind('trailer << >>\n'.repeat(10)))).toMatchObject(unrepairable)
    expect(await read(behind('trailer << >>\n'.repeat(1000)))).not.toMatchObject(unrepairable)
  })

  test('whose dictionaries are nested by the thousand ends', async () => {
    expect(await read(behind(`trailer ${'<< /A '.repeat(16_000)}`))).toMatchObject(unrepairable)
    expect(await read(behind(`trailer << /A ${'['.repeat(16_000)}`))).toMatchObject(unrepairable)
  })
})

/** A last block of a kind that there is not. */
function damagedBehind(packed: Buffer): Buffer {
  const whole = deflateSync(inflateSync(packed), { finishFlush: constants.Z_SYNC_FLUSH })
  return Buffer.concat([whole, Buffer.from([0x07, 0xff])])
}

/** Too far back for some readers; for others there are zeros. */
function repeatingZeros(packed: Buffer): Buffer {
  const raw = deflateRawSync(inflateSync(packed), { dictionary: Buffer.alloc(32 * 1024) })
  return Buffer.concat([Buffer.from('789c', 'hex'), raw])
}

function hexadecimal(packed: Buffer): Buffer {
  return Buffer.from(`${packed.toString('hex')}>`)
}
