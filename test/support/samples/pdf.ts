/** Small PDFs, made in code. */
import { deflateSync } from 'node:zlib'

/** A PDF of these objects (number and body), with a right cross-reference table. Object 1 is the catalog. */
export function pdfOf(objects: [number, string][]): Buffer {
  let text = '%PDF-1.4\n%\xe2\xe3\xcf\xd3\n'
  const offsets = new Map<number, number>()
  for (const [number, body] of objects) {
    offsets.set(number, text.length)
    text += `${number} 0 obj\n${body}\nendobj\n`
  }
  const size = Math.max(...offsets.keys()) + 1
  const table = Array.from(
    { length: size - 1 },
    (_, index) => `${String(offsets.get(index + 1) ?? 0).padStart(10, '0')} 00000 n \n`,
  ).join('')
  const end = `xref\n0 ${size}\n0000000000 65535 f \n${table}trailer\n<< /Root 1 0 R /Size ${size} >>\nstartxref\n${text.length}\n%%EOF\n`
  return Buffer.from(text + end, 'latin1')
}

const page = (parent: number, contents?: number) =>
  `<< /Type /Page /Parent ${parent} 0 R /MediaBox [0 0 200 200]${contents ? ` /Contents ${contents} 0 R` : ''} >>`

/** A page with a line on it. */
export const pdf = () => {
  const drawing = '10 10 m 190 190 l S'
  return pdfOf([
    [1, '<< /Type /Catalog /Pages 2 0 R >>'],
    [2, '<< /Type /Pages /Kids [3 0 R] /Count 1 >>'],
    [3, page(2, 4)],
    [4, `<< /Length ${drawing.length} >>\nstream\n${drawing}\nendstream`],
  ])
}

/** Opens only with a password that is not known: the standard handler of 40 bits with keys that no password gives. */
export const protectedPdf = () => {
  const key = 'ab'.repeat(32)
  const whole = pdfOf([
    [1, '<< /Type /Catalog /Pages 2 0 R >>'],
    [2, '<< /Type /Pages /Kids [3 0 R] /Count 1 >>'],
    [3, page(2)],
    [4, `<< /Filter /Standard /V 1 /R 2 /P -4 /O <${key}> /U <${key}> >>`],
  ]).toString('latin1')
  const id = '<00112233445566778899aabbccddeeff>'
  return Buffer.from(whole.replace('/Root 1 0 R', `/Root 1 0 R /Encrypt 4 0 R /ID [${id} ${id}]`), 'latin1')
}

/** A page tree whose node is its own child, beside a page that opens. */
export const circularPdf = () =>
  pdfOf([
    [1, '<< /Type /Catalog /Pages 2 0 R >>'],
    [2, '<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>'],
    [3, page(2)],
    [4, '<< /Type /Pages /Kids [2 0 R] /Count 1 >>'],
  ])

/** A sound PDF that carries a circular one as an attachment. */
export const attachingPdf = () => {
  const inner = circularPdf().toString('latin1')
  return pdfOf([
    [1, '<< /Type /Catalog /Pages 2 0 R >>'],
    [2, '<< /Type /Pages /Kids [3 0 R] /Count 1 >>'],
    [3, page(2)],
    [4, `<< /Type /EmbeddedFile /Length ${inner.length} >>\nstream\n${inner}\nendstream`],
  ])
}

export const emptyPdf = () =>
  pdfOf([
    [1, '<< /Type /Catalog /Pages 2 0 R >>'],
    [2, '<< /Type /Pages /Kids [] /Count 0 >>'],
  ])

/** What a cross-reference stream may have that it should not, and how it is packed. */
export interface XrefStreamChanges {
  /** Entries of the dictionary, instead of the right ones; '' leaves one out. */
  entries?: Record<string, string>
  /** The packed data. */
  data?: (packed: Buffer) => Buffer
  /** The table before it is packed: seven rows of four bytes, each after its predictor where `plain` is not set. */
  table?: (rows: Buffer) => Buffer
  plain?: boolean
  predictor?: 0 | 1 | 2 | 3 | 4
  /** Instead of the right place. */
  startxref?: number
  /** Before the catalog, behind the header. */
  first?: string
}

/** Those of PNG: none, left, above, the mean of both, and whichever of them and the corner is nearest to left + above - corner. */
const predictors: Record<0 | 1 | 2 | 3 | 4, (row: number[], above: number[], at: number) => number> = {
  0: () => 0,
  1: (row, _, at) => row[at - 1] ?? 0,
  2: (_, above, at) => above[at] ?? 0,
  3: (row, above, at) => ((row[at - 1] ?? 0) + (above[at] ?? 0)) >> 1,
  4: (row, above, at) => {
    const candidates = [row[at - 1] ?? 0, above[at] ?? 0, above[at - 1] ?? 0] as const
    const guess = candidates[0] + candidates[1] - candidates[2]
    return candidates.reduce((best, each) => (Math.abs(guess - each) < Math.abs(guess - best) ? each : best))
  },
}

/** A PDF with a page, a cross-reference stream (object 4) and no trailer. */
export function streamPdf(changes: XrefStreamChanges = {}): Buffer {
  const { entries, data = (packed) => packed, table = (rows) => rows, plain = false, predictor = 2 } = changes
  let text = `%PDF-1.5\n%\xe2\xe3\xcf\xd3\n${changes.first ?? ''}`
  const offsets = ['<< /Type /Catalog /Pages 2 0 R >>', '<< /Type /Pages /Kids [3 0 R] /Count 1 >>', page(2)].map(
    (body, index) => {
      const offset = text.length
      text += `${index + 1} 0 obj\n${body}\nendobj\n`
      return offset
    },
  )
  // After them one that stands in an object stream, and a free one.
  const places = [...offsets, text.length].map((offset) => [1, offset >> 8, offset & 255, 0])
  const rows = [[0, 0, 0, 0], ...places, [2, 0, 9, 0], [0, 0, 0, 0]]
  const predicted = rows.map((row, index) => [
    predictor,
    ...row.map((byte, at) => byte - predictors[predictor](row, rows[index - 1] ?? [], at)),
  ])
  const packed = data(plain ? table(Buffer.from(rows.flat())) : deflateSync(table(Buffer.from(predicted.flat()))))
  const dictionary = {
    Type: '/XRef',
    Root: '1 0 R',
    Size: '7',
    W: '[1 2 1]',
    ...(plain ? {} : { Filter: '/FlateDecode', DecodeParms: '<< /Predictor 12 /Columns 4 >>' }),
    Length: `${packed.length}`,
    ...entries,
  }
  const written = Object.entries(dictionary).map(([key, value]) => (value ? `/${key} ${value}` : ''))
  const head = `4 0 obj\n<< ${written.join(' ')} >>\nstream\n`
  const end = `\nendstream\nendobj\nstartxref\n${changes.startxref ?? text.length}\n%%EOF\n`
  return Buffer.concat([Buffer.from(text + head, 'latin1'), packed, Buffer.from(end)])
}
