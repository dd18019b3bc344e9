import { describe, expect, test } from '@jest/globals'
import { MemorySource } from '../../src/formats/random-access-source.js'
import { examine } from '../../src/validation/examine.js'
import * as basic from '../support/samples/basic.js'
import { compound, doc, docx, packed } from '../support/samples/office.js'
import { attachingPdf, pdfOf } from '../support/samples/pdf.js'
import { svg } from '../support/samples/text.js'

const examined = (extension: string, bytes: Buffer) =>
  examine(new MemorySource(bytes, extension), { path: undefined, size: bytes.length, extension, blank: true, deadlineMs: 20_000 })
const activeIn = async (extension: string, bytes: Buffer) =>
  (await examined(extension, bytes)).soundness?.verdict.evidence?.active_content

const acting = (action: string) =>
  pdfOf([
    [1, `<< /Type /Catalog /Pages 2 0 R /OpenAction << ${action} >> >>`],
    [2, '<< /Type /Pages /Kids [3 0 R] /Count 1 >>'],
    [3, '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>'],
  ])

describe('active content is named in the evidence', () => {
  test('of a PDF', async () => {
    expect(await activeIn('pdf', acting('/S /JavaScript /JS (app.alert(1))'))).toEqual(['JavaScript'])
    expect(await activeIn('pdf', acting('/S /Launch /F (calc.exe)'))).toEqual(['launch action'])
    expect(await activeIn('pdf', attachingPdf())).toEqual(['attachment'])
    expect(await activeIn('pdf', acting('/S /URI /URI (https://example.com)'))).toBeUndefined()
  })

  test('of an SVG', async () => {
    expect(await activeIn('svg', svg('<script>1</script><g onclick="a()"/><foreignObject/><a href=" javascript:b()"/>'))).toEqual(
      ['script', 'event handler', 'foreignObject', 'javascript: link'],
    )
    expect(await activeIn('svg', svg('<a href="https://example.com"/>'))).toBeUndefined()
  })

  test('of Office documents', async () => {
    const withMacros = packed({ ...docx(), 'word/vbaProject.bin': 'x' })
    expect(await activeIn('docm', withMacros)).toEqual(['VBA macros'])
    expect(await activeIn('docx', packed({ ...docx(), 'word/embeddings/oleObject1.bin': 'x' }))).toEqual(['embedded object'])
    expect(await activeIn('doc', compound({ ...doc(), 'Equation Native': Buffer.alloc(40) }))).toEqual(['equation object'])
    expect(await activeIn('docx', packed(docx()))).toBeUndefined()
  })
})

test('a document with macros is no .docx, whatever it is called', async () => {
  const { recognition } = await examined('docx', packed({ ...docx(), 'word/vbaProject.bin': 'x' }))
  expect(recognition).toMatchObject({ type: 'docm', fits: false })
})

test('a GIF that is a ZIP archive as well is refused', async () => {
  const { soundness } = await examined('gif', Buffer.concat([basic.gif(), basic.zip({ 'a.txt': 'a' })]))
  expect(soundness?.verdict).toMatchObject({ sound: false, trap: 'polyglot' })
})
