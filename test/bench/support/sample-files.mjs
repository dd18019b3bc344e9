import sharp from 'sharp'

/** Generates a landscape in shades of one hue as a JPEG with the size of a photo. */
export const createLandscape = (hue) =>
  sharp(
    Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="1600" height="1067">
      <defs><linearGradient id="sky" x2="0" y2="1"><stop stop-color="hsl(${hue} 70% 45%)"/><stop offset="1" stop-color="hsl(${hue + 40} 80% 85%)"/></linearGradient></defs>
      <rect width="1600" height="1067" fill="url(#sky)"/><circle cx="1180" cy="330" r="110" fill="hsl(${hue + 60} 90% 92%)"/>
      <path d="M0 760L420 380 760 720 1080 470 1600 860V1067H0z" fill="hsl(${hue + 10} 35% 35%)"/>
      <path d="M0 900L360 700 820 930 1240 740 1600 930V1067H0z" fill="hsl(${hue + 15} 40% 22%)"/></svg>`),
  )
    .jpeg({ quality: 88 })
    .toBuffer()

export function createInvoicePdf(number) {
  const drawText = (x, y, size, text) => `BT /F1 ${size} Tf ${x} ${y} Td (${text}) Tj ET`
  const items = ['Paper, A4, 500 sheets', 'Envelopes, C5', 'Toner, black', 'Labels, 70 x 37 mm', 'Ring binders'].map(
    (item, row) => [item, `${(row + 1) * 7}.50 EUR`],
  )
  const first = [
    '0.04 0.42 0.39 rg 0 780 595 62 re f 1 1 1 rg',
    drawText(48, 803, 22, 'Northwind Supplies'),
    '0.1 0.12 0.12 rg',
    drawText(48, 720, 18, `Invoice ${number}`),
    drawText(48, 696, 11, 'Date: 3 November 2026     Due: 17 November 2026'),
    '0.93 0.95 0.95 rg 48 636 499 24 re f 0.1 0.12 0.12 rg',
    drawText(58, 644, 11, 'Item'),
    drawText(470, 644, 11, 'Amount'),
    ...items.flatMap(([item, amount], row) => [
      drawText(58, 612 - row * 26, 11, item),
      drawText(470, 612 - row * 26, 11, amount),
    ]),
    '0.8 0.84 0.84 RG 48 490 m 547 490 l S',
    drawText(400, 468, 13, 'Total  112.50 EUR'),
    drawText(48, 380, 11, 'Please pay within 14 days. Thank you for your order.'),
  ]
  const second = [
    drawText(48, 780, 18, 'Terms of delivery'),
    drawText(48, 750, 11, 'Goods remain our property until they are paid.'),
  ]
  const createStream = (lines) => `<< /Length ${lines.join('\n').length} >>\nstream\n${lines.join('\n')}\nendstream`
  const createPage = (content) =>
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents ${content} 0 R /Resources << /Font << /F1 7 0 R >> >> >>`
  return toPdf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>',
    createPage(5),
    createPage(6),
    createStream(first),
    createStream(second),
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ])
}

function toPdf(objects) {
  let text = '%PDF-1.4\n'
  const offsets = objects.map((body, index) => {
    const offset = text.length
    text += `${index + 1} 0 obj\n${body}\nendobj\n`
    return offset
  })
  const start = text.length
  const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')
  const size = objects.length + 1
  text += `xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer\n<< /Root 1 0 R /Size ${size} >>\nstartxref\n${start}\n%%EOF\n`
  return Buffer.from(text, 'latin1')
}
