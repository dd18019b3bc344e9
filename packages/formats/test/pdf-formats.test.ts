import { describe, expect, test } from '@jest/globals'
import { DeadlineExceeded, type FormatVerdict, type ReaderLimits } from '../src/format.js'
import { readPdf } from '../src/pdf/pdf.js'
import { MemorySource, type RandomAccessSource } from '../src/random-access-source.js'
import { mutate } from './support/samples/mutations.js'
import { circularPdf, createPdf, emptyPdf, pdf, pdfWithAttachment, protectedPdf } from './support/samples/pdf.js'

const limits = (deadline = Date.now() + 90_000): ReaderLimits => ({
  maxUnpackedBytes: 2 ** 30,
  maxRatio: 100,
  maxEntries: 10_000,
  maxNesting: 4,
  maxPictureBits: 2 ** 31,
  maxDepth: 256,
  deadline,
})

const read = async (bytes: Buffer): Promise<FormatVerdict> => readPdf(new MemorySource(bytes, 'pdf'), limits())
const damaged = (problem: RegExp) => ({ sound: false, problem: expect.stringMatching(problem) })

describe('PDF files that browsers can open', () => {
  test('accepts an intact PDF and reports its number of pages', async () => {
    expect(await read(pdf())).toEqual({ sound: true, notes: [], evidence: { pages: 1, pages_opened: 1 } })
  })

  test('accepts a PDF with a wrong cross-reference table', async () => {
    const text = pdf().toString('latin1')
    expect(await read(Buffer.from(text.replace(/startxref\n\d+/, 'startxref\n7'), 'latin1'))).toMatchObject({ sound: true })
    expect(await read(Buffer.from(text.replace(/\d{10} 00000 n/g, '0000000099 00000 n'), 'latin1'))).toMatchObject({
      sound: true,
    })
  })

  test('accepts a PDF with bytes before its header and after its end', async () => {
    expect(await read(Buffer.concat([Buffer.alloc(600, 0x20), pdf()]))).toMatchObject({ sound: true })
    expect(await read(Buffer.concat([pdf(), Buffer.alloc(700, 0x20)]))).toMatchObject({ sound: true })
  })

  test('accepts a password-protected PDF and adds a note', async () => {
    expect(await read(protectedPdf())).toMatchObject({
      sound: true,
      notes: [expect.stringMatching(/password/)],
      evidence: { encrypted: true },
    })
  })
})

describe('PDF files that browsers cannot open', () => {
  test('rejects a PDF without a body or without a header in its first 1024 bytes', async () => {
    expect(await read(Buffer.from('Dear reader, this is no PDF.\n'))).toMatchObject(damaged(/no PDF header/))
    expect(await read(Buffer.from('%PDF-1.7\n'))).toMatchObject(damaged(/cannot open/))
    expect(await read(Buffer.concat([Buffer.alloc(2000, 0x20), pdf()]))).toMatchObject(damaged(/no PDF header/))
  })

  test('rejects a PDF that is truncated before its catalog', async () => {
    expect(await read(pdf().subarray(0, 100))).toMatchObject(damaged(/cannot open|no pages/))
    expect(await read(pdf().subarray(0, 300))).toMatchObject(damaged(/cannot open|no pages/))
  })

  test('rejects a PDF without pages', async () => {
    expect(await read(emptyPdf())).toMatchObject(damaged(/no pages/))
    const missing = createPdf([
      [1, '<< /Type /Catalog /Pages 2 0 R >>'],
      [2, '<< /Type /Pages /Kids [8 0 R 9 0 R] /Count 2 >>'],
    ])
    expect(await read(missing)).toMatchObject(damaged(/no pages|none of the 2 pages/))
  })
})

describe('page tree cycles', () => {
  test('rejects a PDF as malicious if its page tree contains a cycle', async () => {
    expect(await read(circularPdf())).toMatchObject({
      sound: false,
      maliciousConstruction: 'page_tree_cycle',
      problem: expect.stringMatching(/circular/),
    })
  })

  test('ignores a cycle in the page tree of an attached PDF', async () => {
    expect(await read(pdfWithAttachment())).toMatchObject({ sound: true })
  })

  test('ignores a page tree cycle that a later update of the PDF removes', async () => {
    const update =
      '2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\ntrailer\n<< /Root 1 0 R /Size 5 >>\nstartxref\n0\n%%EOF\n'
    expect(await read(Buffer.concat([circularPdf(), Buffer.from(update)]))).toMatchObject({ sound: true })
  })
})

test('returns a verdict for each of 300 mutated PDFs', async () => {
  for (const sample of [pdf(), pdfWithAttachment(), protectedPdf()]) {
    let index = 0
    for (const mutation of mutate(sample, 100, 5)) {
      const verdict = await read(mutation)
      expect(typeof verdict.sound).toBe('boolean')
      if (++index % 10 === 0) expect(await read(pdf())).toMatchObject({ sound: true })
    }
  }
})

test('reads another PDF after a deadline interrupts the PDF engine', async () => {
  const complete = new MemorySource(pdf(), 'pdf')
  let reads = 0
  const failing: RandomAccessSource = {
    size: complete.size,
    extension: 'pdf',
    read: (offset, length) => {
      // The first two reads are for the header and the engine start. The deadline expires at the third read.
      if (++reads > 2) throw new DeadlineExceeded('the time is up')
      return complete.read(offset, length)
    },
    readInto: (room, offset, length) => complete.readInto(room, offset, length),
    readAll: (limit) => complete.readAll(limit),
    chunks: (start, end, size) => complete.chunks(start, end, size),
  }
  await expect(Promise.resolve(readPdf(failing, limits()))).rejects.toThrow(DeadlineExceeded)
  expect(await read(pdf())).toMatchObject({ sound: true })
})

test('reads a large PDF without copying it into the engine', async () => {
  const body = `<< /Length 90000000 >>\nstream\n${' '.repeat(90_000_000)}\nendstream`
  const large = createPdf([
    [1, '<< /Type /Catalog /Pages 2 0 R >>'],
    [2, '<< /Type /Pages /Kids [3 0 R] /Count 1 >>'],
    [3, '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 10 10] >>'],
    [4, body],
  ])
  let max = 0
  const complete = new MemorySource(large, 'pdf')
  const counting: RandomAccessSource = {
    size: complete.size,
    extension: 'pdf',
    read: (offset, length) => {
      max += length
      return complete.read(offset, length)
    },
    readInto: (room, offset, length) => complete.readInto(room, offset, length),
    readAll: (limit) => complete.readAll(limit),
    chunks: (start = 0, end = complete.size, size) => {
      max += end - start
      return complete.chunks(start, end, size)
    },
  }
  expect(await readPdf(counting, limits())).toMatchObject({ sound: true, evidence: { pages: 1 } })
  expect(max).toBeLessThan(1024 * 1024)
})
