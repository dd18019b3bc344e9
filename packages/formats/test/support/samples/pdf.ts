/** Creates a PDF from objects (number and body) with a correct cross-reference table. Object 1 is the catalog. */
export function createPdf(objects: [number, string][]): Buffer {
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

/** Creates a PDF with one page that contains a line. */
export const pdf = () => {
  const drawing = '10 10 m 190 190 l S'
  return createPdf([
    [1, '<< /Type /Catalog /Pages 2 0 R >>'],
    [2, '<< /Type /Pages /Kids [3 0 R] /Count 1 >>'],
    [3, page(2, 4)],
    [4, `<< /Length ${drawing.length} >>\nstream\n${drawing}\nendstream`],
  ])
}

/** Creates a PDF that requires an unknown password: the standard security handler with 40 bits and random keys. */
export const protectedPdf = () => {
  const key = 'ab'.repeat(32)
  const complete = createPdf([
    [1, '<< /Type /Catalog /Pages 2 0 R >>'],
    [2, '<< /Type /Pages /Kids [3 0 R] /Count 1 >>'],
    [3, page(2)],
    [4, `<< /Filter /Standard /V 1 /R 2 /P -4 /O <${key}> /U <${key}> >>`],
  ]).toString('latin1')
  const id = '<00112233445566778899aabbccddeeff>'
  return Buffer.from(complete.replace('/Root 1 0 R', `/Root 1 0 R /Encrypt 4 0 R /ID [${id} ${id}]`), 'latin1')
}

/** Creates a PDF whose page tree contains a node that is its own child, and a page that opens. */
export const circularPdf = () =>
  createPdf([
    [1, '<< /Type /Catalog /Pages 2 0 R >>'],
    [2, '<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>'],
    [3, page(2)],
    [4, '<< /Type /Pages /Kids [2 0 R] /Count 1 >>'],
  ])

/** Creates an intact PDF with another PDF as an attachment, by default one with a circular page tree. */
export const pdfWithAttachment = (attachment = circularPdf()) => {
  const inner = attachment.toString('latin1')
  return createPdf([
    [1, '<< /Type /Catalog /Pages 2 0 R >>'],
    [2, '<< /Type /Pages /Kids [3 0 R] /Count 1 >>'],
    [3, page(2)],
    [4, `<< /Type /EmbeddedFile /Length ${inner.length} >>\nstream\n${inner}\nendstream`],
  ])
}

export const emptyPdf = () =>
  createPdf([
    [1, '<< /Type /Catalog /Pages 2 0 R >>'],
    [2, '<< /Type /Pages /Kids [] /Count 0 >>'],
  ])

/** Values that differ from those of a valid PDF with a cross-reference stream. */
export interface StreamPdfChanges {
  startxref?: number
  /** Bytes to insert between the header and the catalog. */
  first?: string
}

/** Creates a PDF with one page and a cross-reference stream (object 4), but without a trailer. */
export function pdfWithXrefStream({ startxref, first = '' }: StreamPdfChanges = {}): Buffer {
  let text = `%PDF-1.5\n%\xe2\xe3\xcf\xd3\n${first}`
  const offsets = ['<< /Type /Catalog /Pages 2 0 R >>', '<< /Type /Pages /Kids [3 0 R] /Count 1 >>', page(2)].map(
    (body, index) => {
      const offset = text.length
      text += `${index + 1} 0 obj\n${body}\nendobj\n`
      return offset
    },
  )
  const places = [...offsets, text.length].map((offset) => [1, offset >> 8, offset & 255, 0])
  const rows = Buffer.from([[0, 0, 0, 0], ...places].flat())
  const head = `4 0 obj\n<< /Type /XRef /Root 1 0 R /Size 5 /W [1 2 1] /Length ${rows.length} >>\nstream\n`
  const end = `\nendstream\nendobj\nstartxref\n${startxref ?? text.length}\n%%EOF\n`
  return Buffer.concat([Buffer.from(text + head, 'latin1'), rows, Buffer.from(end)])
}
