import { gzipSync } from 'node:zlib'
import { describe, expect, test } from '@jest/globals'
import { decodeImagesWith } from '../../packages/formats/src/image/image-decoder.js'
import { decodeImage } from '../../packages/formats/src/image/libvips.js'
import { examine } from '../../packages/formats/src/inspect.js'
import { MemorySource } from '../../packages/formats/src/random-access-source.js'
import { createTar, sevenZip } from '../../packages/formats/test/support/samples/archive.js'
import * as basic from '../../packages/formats/test/support/samples/basic.js'
import { jpeg } from '../../packages/formats/test/support/samples/image.js'
import { compound, doc, docx, openDocument, packed, xls, xlsx } from '../../packages/formats/test/support/samples/office.js'
import { createPdf, pdfWithAttachment } from '../../packages/formats/test/support/samples/pdf.js'
import { svg } from '../../packages/formats/test/support/samples/text.js'
import { createInspector } from '../../src/inspection/engine/inspect.js'
import { createZip } from '../support/eicar.js'
import { createSubmission, ScriptedScanner } from '../support/validation.js'

decodeImagesWith((source, task) => decodeImage(source.readAll(2 ** 27), task))

const examineFile = (extension: string, bytes: Buffer) => examine(new MemorySource(bytes, extension), { blank: true })
const runSearch = async (extension: string, bytes: Buffer) =>
  (await examineFile(extension, bytes)).soundness?.verdict.evidence?.active_content

const acting = (action: string) =>
  createPdf([
    [1, `<< /Type /Catalog /Pages 2 0 R /OpenAction << ${action} >> >>`],
    [2, '<< /Type /Pages /Kids [3 0 R] /Count 1 >>'],
    [3, '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>'],
  ])

const linking = createPdf([
  [1, '<< /Type /Catalog /Pages 2 0 R >>'],
  [2, '<< /Type /Pages /Kids [3 0 R] /Count 1 >>'],
  [
    3,
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Annots [<< /Subtype /Link /Rect [0 0 9 9] /A << /S /URI /URI (https://example.com) >> >>] >>',
  ],
])

/** Creates a Word document with an additional relationship in its main part. */
const related = (type: string, target: string, mode = 'External') => {
  const parts = docx()
  const rels = String(parts['word/_rels/document.xml.rels'])
  const more = `<Relationship Id="rId9" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/${type}" Target="${target}" TargetMode="${mode}"/></Relationships>`
  return packed({ ...parts, 'word/_rels/document.xml.rels': rels.replace('</Relationships>', more) })
}
const withBody = (body: string) => {
  const parts = docx()
  return packed({ ...parts, 'word/document.xml': String(parts['word/document.xml']).replace('<w:p>', `<w:p>${body}`) })
}
const trailing = (picture: Buffer, behind: Buffer | string) => Buffer.concat([picture, Buffer.from(behind)])

describe('active content', () => {
  test('reports active content in accepted and rejected files', async () => {
    const inspector = createInspector({ scanner: new ScriptedScanner({ verdict: 'clean' }), workers: 1 })
    const lineOf = async (name: string, bytes: Buffer, rules = {}) =>
      (await inspector.inspect(createSubmission(name, bytes, rules))).checks.find(({ check }) => check === 'corrupt_file')
    const evidence = { active_content: ['VBA macros'] }
    const name = 'word/vbaProject.bin'
    const complete = packed({ ...docx(), [name]: 'macros' })
    const damaged = Buffer.from(complete)
    damaged.fill(0xff, complete.indexOf(name) + name.length, complete.indexOf(name) + name.length + 4)
    try {
      expect(await lineOf('a.docm', complete)).toMatchObject({ outcome: 'passed', evidence })
      expect(await lineOf('a.docm', damaged)).toMatchObject({ outcome: 'failed', evidence })
      expect(await lineOf('a.docm', damaged, { rejectCorruptFiles: false })).toMatchObject({ outcome: 'skipped', evidence })
    } finally {
      await inspector.close()
    }
  })

  test('reports active content in documents within archives', async () => {
    const inside = packed({ ...docx(), 'word/vbaProject.bin': Buffer.from('x') })
    const named = ["VBA macros in 'a.docm'"]
    expect(await runSearch('zip', createZip({ name: 'a.docm', bytes: inside }))).toEqual(named)
    expect(await runSearch('tar', await createTar([{ name: 'a.docm', data: inside }]))).toEqual(named)
    expect(await runSearch('zip', createZip({ name: 'a.docx', bytes: packed(docx()) }))).toBeUndefined()
  })

  const active: [string, Buffer, string][] = [
    ['a.xls', compound(xls({ macroSheet: true })), 'XLM macros'],
    ['a.doc', compound({ ...doc(), 'Equation Native': Buffer.alloc(40) }), 'equation object'],
    ['a.pdf', acting('/S /JavaScript /JS (app.alert(1))'), 'JavaScript'],
    ['a.svg', svg('<g onclick="a()"/>'), 'event handler'],
    ['a.html', Buffer.from('<!doctype html><html><body><script src=a.js></script></body></html>'), 'script'],
    ['a.rtf', Buffer.from('{\\rtf1{\\object\\objemb{\\*\\objdata 0105}}}'), 'embedded object'],
  ]
  test.each(active)('reports active content in %s within zip, tar, gzip, 7z and nested archives', async (name, bytes, what) => {
    const named = [`${what} in '${name}'`]
    const zip = createZip({ name, bytes })
    expect(await runSearch('zip', zip)).toEqual(named)
    const tar = await createTar([{ name, data: bytes }])
    expect(await runSearch('tar', tar)).toEqual(named)
    expect(await runSearch('tgz', gzipSync(tar))).toEqual(named)
    expect(await runSearch('7z', await sevenZip({ [name]: bytes }))).toEqual(named)
    expect(await runSearch('zip', createZip({ name: 'inner.zip', bytes: zip }))).toEqual(named)
    // In a Word document, HTML is part of the document's text.
    if (name === 'a.html') return
    const document = packed({ ...docx(), [`word/media/${name}`]: bytes })
    expect(await runSearch('docx', document)).toEqual([`${what} in 'word/media/${name}'`])
  })

  test('reports active content in a gzipped web page, but none in harmless or damaged zip members', async () => {
    expect(await runSearch('gz', gzipSync('<!doctype html><html><body onload="a()"></body></html>'))).toEqual([
      "event handler in 'content'",
    ])
    for (const [name, bytes] of [
      ['a.pdf', linking],
      ['a.html', Buffer.from('<html><a href="https://example.com">a</a></html>')],
      ['a.svg', Buffer.from('<svg><script>')],
      ['a.doc', compound(doc())],
      ['a.xls', compound(xls({ macroSheet: true })).subarray(0, 700)],
    ] as const)
      expect(await runSearch('zip', createZip({ name, bytes }))).toBeUndefined()
  })

  test('limits the search for active content to 8 MiB per member and 32 MiB per archive', async () => {
    const page = (size: number) => Buffer.concat([Buffer.from('<html><script>1</script>'), Buffer.alloc(size, '<p>words ')])
    const runReader = async (...sizes: number[]) =>
      (await examineFile('zip', createZip(...sizes.map((size, at) => ({ name: `${at}.html`, bytes: page(size), stored: true })))))
        .soundness?.verdict
    const large = await runReader(9 * 1024 * 1024)
    expect(large).toMatchObject({ sound: true, notes: ["the member '0.html' was not searched for active content"] })
    expect(large?.evidence?.active_content).toBeUndefined()
    const many = await runReader(...Array(5).fill(7 * 1024 * 1024))
    expect(many?.evidence?.active_content).toEqual([0, 1, 2, 3].map((at) => `script in '${at}.html'`))
    expect(many).toMatchObject({ notes: ["the member '4.html' was not searched for active content"] })
  })

  test('reports active content in a PDF', async () => {
    expect(await runSearch('pdf', acting('/S /JavaScript /JS (app.alert(1))'))).toEqual(['JavaScript'])
    expect(await runSearch('pdf', acting('/S /Launch /F (calc.exe)'))).toEqual(['launch action'])
    expect(await runSearch('pdf', pdfWithAttachment())).toEqual(['attachment'])
    expect(await runSearch('pdf', acting('/S /URI /URI (https://example.com)'))).toEqual(['opening action'])
    expect(await runSearch('pdf', acting('/S /J#61vaScript /JS (app.alert(1))'))).toEqual(['JavaScript'])
    expect(await runSearch('pdf', acting('/S /GoTo /D [3 0 R /Fit]'))).toBeUndefined()
    expect(await runSearch('pdf', linking)).toBeUndefined()
  })

  test('reports active content in an SVG', async () => {
    expect(
      await runSearch('svg', svg('<script>1</script><g onclick="a()"/><foreignObject/><a href=" javascript:b()"/>')),
    ).toEqual(['script', 'event handler', 'foreignObject', 'javascript: link'])
    expect(await runSearch('svg', svg('<a href="https://example.com"/>'))).toBeUndefined()
    expect(await runSearch('svgz', gzipSync(svg('<script>1</script>')))).toEqual(['script'])
    expect(await runSearch('svgz', gzipSync(svg('<a href="https://example.com"/>')))).toBeUndefined()
  })

  test('reports active content in Office documents', async () => {
    const withMacros = packed({ ...docx(), 'word/vbaProject.bin': 'x' })
    expect(await runSearch('docm', withMacros)).toEqual(['VBA macros'])
    expect(await runSearch('docx', packed({ ...docx(), 'word/embeddings/oleObject1.bin': 'x' }))).toEqual(['embedded object'])
    expect(await runSearch('doc', compound({ ...doc(), 'Equation Native': Buffer.alloc(40) }))).toEqual(['equation object'])
    expect(await runSearch('docx', packed(docx()))).toBeUndefined()
    for (const encoding of ['latin1', 'utf16le'] as const) {
      const streams = doc()
      streams['/WordDocument']!.write('\x13 DDEAUTO c:\\cmd.exe \x14', 2048, encoding)
      expect(await runSearch('doc', compound(streams))).toEqual(['DDE field'])
    }
  })

  test.each<[string, string, string, string[] | undefined]>([
    ['an external template', 'attachedTemplate', 'https://example.com/a.dotm', ['remote template']],
    ['a template on a network share', 'attachedTemplate', 'file://host/share/a.dotm', ['remote template']],
    ['a local template', 'attachedTemplate', 'file:///C:\\Templates\\Normal.dotm', undefined],
    ['an external object', 'oleObject', 'mhtml:https://example.com/a.html!x', ['external reference (oleObject)']],
    ['an external picture', 'image', 'http://example.com/a.png', ['external reference (image)']],
    ['a plain link', 'hyperlink', 'https://example.com/', undefined],
    ['a video that starts by a click', 'video', 'https://example.com/a.mp4', undefined],
  ])('checks for active content in a Word document that refers to %s', async (_, type, target, active) => {
    expect(await runSearch('docx', related(type, target))).toEqual(active)
  })

  test('reports active Word fields even if they are split into single letters', async () => {
    const field = (...texts: string[]) =>
      texts.map((each) => `<w:r><w:instrText xml:space="preserve">${each}</w:instrText></w:r>`).join('')
    expect(await runSearch('docx', withBody(field(' DDEAUTO c:\\cmd.exe ')))).toEqual(['DDE field'])
    expect(await runSearch('docx', withBody(field(' D', 'D', 'E', 'AUTO &quot;cmd&quot; ')))).toEqual(['DDE field'])
    expect(await runSearch('docx', withBody('<w:fldSimple w:instr=" DDE cmd "><w:r/></w:fldSimple>'))).toEqual(['DDE field'])
    expect(await runSearch('docx', withBody(field(' INCLUDEPICTURE "http://example.com/a.png" ')))).toEqual([
      'external reference (field)',
    ])
    expect(await runSearch('docx', withBody(field(' PAGE \\* MERGEFORMAT ')))).toBeUndefined()
  })

  test('reports active content in spreadsheets', async () => {
    const link = '<externalLink xmlns="x"><ddeLink ddeService="cmd" ddeTopic="/c calc"/></externalLink>'
    expect(await runSearch('xlsx', packed({ ...xlsx(), 'xl/externalLinks/externalLink1.xml': link }))).toEqual(['DDE link'])
    expect(await runSearch('xlsm', packed({ ...xlsx(), 'xl/macrosheets/sheet1.xml': '<x/>' }))).toEqual(['XLM macros'])
    expect(await runSearch('xls', compound(xls({ macroSheet: true })))).toEqual(['XLM macros'])
    expect(await runSearch('xls', compound(xls({ link: 'cmd\x03/c calc' })))).toEqual(['DDE or OLE link'])
    expect(await runSearch('xls', compound(xls({ link: 'Other.xls' })))).toBeUndefined()
    expect(await runSearch('xlsx', packed(xlsx()))).toBeUndefined()
    const sheet =
      '<office:document-content xmlns:office="x" xmlns:t="y"><t:dde-link><office:dde-source/></t:dde-link></office:document-content>'
    expect(await runSearch('ods', packed({ ...openDocument('ods'), 'content.xml': sheet }))).toEqual(['DDE link'])
  })

  test('reports active content in RTF files', async () => {
    const rich = (inside: string) => Buffer.from(`{\\rtf1\\ansi ${inside} Hello}`)
    expect(await runSearch('rtf', rich('{\\object\\objemb{\\*\\objdata 0105}}'))).toEqual(['embedded object'])
    expect(await runSearch('rtf', rich('{\\*\\template http://example.com/a.dot}'))).toEqual(['remote template'])
    expect(await runSearch('rtf', rich('{\\field{\\*\\fldinst HYPERLINK "https://example.com"}}'))).toBeUndefined()
  })

  test('reports active content in web pages', async () => {
    const page = (inside: string) => Buffer.from(`<!doctype html><html><body>${inside}</body></html>`)
    expect(await runSearch('html', page('<script src=a.js></script>'))).toEqual(['script'])
    expect(await runSearch('html', page('<p onclick="a()">text</p>'))).toEqual(['event handler'])
    expect(await runSearch('html', page('<a href="java\nscript:a()">a</a>'))).toEqual(['javascript: link'])
    expect(await runSearch('html', page('<iframe src="https://example.com"></iframe>'))).toEqual(['embedded page or program'])
    expect(await runSearch('html', page('<a href="https://example.com">onclick = nothing</a>'))).toBeUndefined()
  })

  test('reports active content after the end of an image', async () => {
    const program = Buffer.alloc(200)
    program.write('MZ', 'latin1')
    program.writeUInt32LE(128, 60)
    program.write('PE\0\0', 128, 'latin1')
    for (const [extension, picture] of [
      ['png', basic.png()],
      ['jpg', await jpeg()],
      ['gif', basic.gif()],
    ] as const) {
      expect(await runSearch(extension, trailing(picture, program))).toEqual(['program after the image'])
      expect(await runSearch(extension, trailing(picture, '<?php system($_GET[1]);'))).toEqual(['page or script after the image'])
      expect(await runSearch(extension, trailing(picture, 'Rar!\x1a\x07\0 and more'))).toEqual(['archive after the image'])
      expect(await runSearch(extension, trailing(picture, 'SEFH and the other facts of a telephone'))).toBeUndefined()
    }
  })
})

test('reports spreadsheet cells that are evaluated as formulas', async () => {
  const notesOf = async (text: string) => {
    const verdict = (await examineFile('csv', Buffer.from(text))).soundness?.verdict
    return verdict?.sound ? verdict.notes : undefined
  }
  const note = 'some cells would be executed as formulas by a spreadsheet'
  expect(await notesOf('name,total\n"=HYPERLINK(1)",2\n')).toContain(note)
  expect(await notesOf('=1+1,2\n')).toContain(note)
  expect(await notesOf('name;total\n+cmd|x;2\n')).toContain(note)
  expect(await notesOf('name,total\na=b,-2.5\n,+49 171\n')).not.toContain(note)
})

test('rejects a .docx file with macros because its actual type is DOCM', async () => {
  const { recognition } = await examineFile('docx', packed({ ...docx(), 'word/vbaProject.bin': 'x' }))
  expect(recognition).toMatchObject({ type: 'docm', fits: false })
})

test('rejects a GIF that is also a ZIP archive', async () => {
  const { soundness } = await examineFile('gif', Buffer.concat([basic.gif(), basic.zip({ 'a.txt': 'a' })]))
  expect(soundness?.verdict).toMatchObject({ sound: false, maliciousConstruction: 'polyglot' })
})
