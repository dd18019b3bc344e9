import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from '@jest/globals'
import { encrypted7z } from '../../packages/formats/test/support/samples/archive.js'
import * as basic from '../../packages/formats/test/support/samples/basic.js'
import { pngClaiming } from '../../packages/formats/test/support/samples/image.js'
import * as text from '../../packages/formats/test/support/samples/text.js'
import { createInspector } from '../../src/inspection/engine/inspect.js'
import type { ValidationRules } from '../../src/inspection/report.js'
import { CombinedScanner } from '../../src/inspection/scanners/combined-scanner.js'
import type { VirusScanner } from '../../src/inspection/scanners/virus-scanner.js'
import { blockReasons } from '../../src/platform/errors/block-reasons.js'
import { scannerUnavailable } from '../../src/platform/errors/errors.js'
import { createSubmission, ScriptedScanner } from '../support/validation.js'

const clean = new ScriptedScanner({ verdict: 'clean' })
const engine = createInspector({ scanner: clean })
afterAll(() => engine.close())

const inspect = (name: string, content: Buffer, rules: Partial<ValidationRules> = {}) =>
  engine.inspect(createSubmission(name, content, rules))
const reasonOf = async (name: string, content: Buffer, rules: Partial<ValidationRules> = {}) =>
  (await inspect(name, content, rules)).reason
const decisive = async (name: string, content: Buffer, rules: Partial<ValidationRules> = {}) => {
  const report = await inspect(name, content, rules)
  return report.checks.find(({ check }) => check === report.reason)
}

describe('validation reports', () => {
  test('reports all five checks of an accepted file in order', async () => {
    const bytes = basic.png()
    const report = await engine.inspect(createSubmission('logo.PNG', bytes, { allowedExtensions: ['png'], scanForViruses: true }))
    expect(report).toMatchObject({
      outcome: 'accepted',
      reason: null,
      detectedContentType: 'image/png',
      sizeBytes: bytes.length,
      engine: { name: 'Scripted', signaturesVersion: '7' },
    })
    expect(report.checksum).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(report.validatedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(report.checks.map(({ check }) => check)).toEqual([...blockReasons])
    expect(report.checks.map(({ outcome }) => outcome)).toEqual(Array(5).fill('passed'))
    for (const check of report.checks)
      expect([typeof check.message, typeof check.evidence, check.durationMs >= 0]).toEqual(['string', 'object', true])
  })

  test('reports all checks after a failed check as skipped, including the scan', async () => {
    const scanner = new ScriptedScanner({ verdict: 'clean' })
    const own = createInspector({ scanner })
    const report = await own.inspect(createSubmission('a.pdf', Buffer.from('no pdf'), { scanForViruses: true }))
    await own.close()
    expect(report.checks.map(({ outcome }) => outcome)).toEqual(['passed', 'passed', 'passed', 'failed', 'skipped'])
    expect(report.checks[4]?.message).toBe('This check was skipped because the file was already rejected (corrupt_file).')
    expect([scanner.scanned, report.engine?.name]).toEqual([0, 'Scripted'])
  })

  test('reports disabled checks as skipped', async () => {
    const report = await inspect('a.pdf', Buffer.from(' '), { rejectBlankFiles: false, rejectCorruptFiles: false })
    expect(report.checks.map(({ outcome }) => outcome)).toEqual(['passed', 'passed', 'skipped', 'skipped', 'skipped'])
    expect(report).toMatchObject({ outcome: 'accepted', engine: null })
  })
})

describe('contexts that accept damaged files', () => {
  const lenient = { rejectCorruptFiles: false }

  test.each([
    ['a bomb', 'a.gz', gzipSync(Buffer.alloc(64 * 1024 * 1024)), 'archive_ratio'],
    ['a member outside of the folder', 'a.zip', basic.zip({ '../../etc/passwd': 'root' }), 'archive_path'],
    ['a pixel flood', 'a.png', pngClaiming(20_000, 20_000), 'pixel_flood'],
    ['JSON a thousand levels deep', 'a.json', text.deepJson(1001), 'json_nesting'],
  ])('rejects a malicious file even if damaged files are accepted: %s', async (_, name, bytes, trap) => {
    const report = await inspect(name, bytes, lenient)
    expect(report.reason).toBe('corrupt_file')
    expect(report.checks[3]?.evidence).toMatchObject({ trap })
  })

  test('accepts a damaged file if the context accepts damaged files', async () => {
    expect(await reasonOf('a.zip', basic.zip({ a: 'a' }).subarray(0, 40), lenient)).toBeNull()
    expect(await reasonOf('a.png', basic.png().subarray(0, 60), lenient)).toBeNull()
  })
})

describe('extension check', () => {
  test('rejects a disallowed extension and names the allowed extensions', async () => {
    expect(await decisive('virus.tar.EXE', basic.exe(), { allowedExtensions: ['pdf', 'png'] })).toMatchObject({
      message: "Extension 'exe' is not allowed in context 'invoices'. Allowed extensions: pdf, png.",
      evidence: { extension: 'exe', allowed: ['pdf', 'png'] },
    })
    expect(await reasonOf('noextension', basic.pdf(), { allowedExtensions: ['pdf'] })).toBe('invalid_extension')
  })

  test('does not accept extensions that are longer or shorter than the allowed one', async () => {
    expect(await reasonOf('a.docx', basic.docx(), { allowedExtensions: ['doc'] })).toBe('invalid_extension')
    expect(await reasonOf('a.htm', Buffer.from('<p>hello'), { allowedExtensions: ['html'] })).toBe('invalid_extension')
  })

  test.each([
    ['a GIF named .jpg', 'a.jpg', basic.gif()],
    ['a PDF named .txt', 'a.txt', basic.pdf()],
    ['a Windows program named .csv', 'a.csv', basic.exe()],
    ['a zip named .docx', 'a.docx', basic.zip({ 'a.txt': 'a' })],
    ['a docx named .xlsx', 'a.xlsx', basic.docx()],
    ['XML named .json', 'a.json', Buffer.from('<a/>')],
    ['JSON named .xml', 'a.xml', Buffer.from('{"a":1}')],
  ])('rejects %s as invalid_extension even if damaged files are accepted', async (_, name, bytes) => {
    expect(await reasonOf(name, bytes)).toBe('invalid_extension')
    expect(await reasonOf(name, bytes, { rejectCorruptFiles: false, rejectBlankFiles: false })).toBe('invalid_extension')
  })

  test.each([
    ['text named .pdf', 'a.pdf', Buffer.from('just text')],
    ['a truncated docx', 'a.docx', basic.docx().subarray(0, 600)],
    ['invalid JSON named .json', 'a.json', Buffer.from('{"a":')],
    ['text named .rar', 'a.rar', Buffer.from('just text')],
    ['noise named .png', 'a.png', Buffer.from(Array.from({ length: 999 }, (_, at) => (at * 91) & 255))],
  ])('rejects %s as corrupt_file instead of invalid_extension', async (_, name, bytes) => {
    expect(await reasonOf(name, bytes)).toBe('corrupt_file')
  })

  test.each([
    ['JSON named .txt', 'a.txt', Buffer.from('{"a":1}'), 'text/plain'],
    ['HTML named .html', 'a.html', Buffer.from('<p>hello'), 'text/html'],
    ['a docx named .zip', 'a.zip', basic.docx(), 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
    ['text with an unknown extension', 'a.acme', Buffer.from('hello'), 'text/plain'],
    ['any content named .bin', 'a.bin', basic.png(), 'image/png'],
  ])('accepts %s with the detected type %s', async (_, name, bytes, mime) => {
    expect(await inspect(name, bytes)).toMatchObject({ outcome: 'accepted', detectedContentType: mime })
  })

  test('validates only the signature of a file whose type has no reader', async () => {
    const report = await inspect('setup.exe', basic.exe())
    expect(report.checks[3]).toMatchObject({
      outcome: 'passed',
      message: expect.stringContaining("only the file's signature"),
      evidence: { reader: null },
    })
  })
})

describe('size check and blank check', () => {
  test('accepts a file of exactly the size limit and rejects one more byte', async () => {
    const limit = 1_048_576
    expect(await reasonOf('a.txt', Buffer.alloc(limit, 'x'), { maxFileSizeMb: 1 })).toBeNull()
    expect(await decisive('a.txt', Buffer.alloc(limit + 1, 'x'), { maxFileSizeMb: 1 })).toMatchObject({
      evidence: { size_bytes: limit + 1, limit_bytes: limit },
    })
  })

  test('rejects an oversized, truncated upload as size_exceeded after checking its name', async () => {
    const { content: _, ...cut } = createSubmission('a.txt', Buffer.from('x'), { maxFileSizeMb: 1 })
    expect(await engine.inspect({ ...cut, sizeBytes: 1_048_600 })).toMatchObject({
      reason: 'size_exceeded',
      checksum: null,
      detectedContentType: 'text/plain',
    })
    expect(await engine.inspect({ ...cut, originalFilename: 'a.exe', sizeBytes: 1_048_600 })).toMatchObject({
      reason: 'invalid_extension',
    })
  })

  test('rejects every kind of blank file, regardless of its extension', async () => {
    for (const bytes of [Buffer.alloc(0), Buffer.alloc(3000), Buffer.from(' \n'), text.utf16le(' ')])
      expect(await reasonOf('a.pdf', bytes)).toBe('blank_file')
    expect(await reasonOf('a.txt', Buffer.alloc(0), { rejectBlankFiles: false })).toBeNull()
    expect(await reasonOf('a.json', Buffer.alloc(0), { rejectBlankFiles: false })).toBe('corrupt_file')
  })
})

describe('polyglots', () => {
  const archive = basic.zip({ 'a.class': 'x' })
  test.each([
    ['a zip after a PDF', 'a.pdf', Buffer.concat([basic.pdf(), archive])],
    [
      'a zip with the end of a PDF as its comment',
      'a.pdf',
      Buffer.concat([basic.pdf(), basic.zip({ a: 'b' }, Buffer.from('%%EOF\n'))]),
    ],
    [
      'a PDF header before a zip',
      'a.zip',
      Buffer.concat([
        Buffer.from('PK\x03\x04'),
        archive.subarray(4, 26),
        Buffer.from([0, 0]),
        Buffer.from([9, 0]),
        Buffer.from('a.class%PDF-1.4\n'),
        archive.subarray(37),
      ]),
    ],
    ['a web page before a PDF', 'a.pdf', Buffer.concat([Buffer.from('<html><script>alert(1)</script>'), basic.pdf()])],
    ['a web page in the first comment of a PDF', 'a.pdf', basic.pdf({ extra: '%<script>alert(1)</script>\n' })],
    ['a web page after a PDF', 'a.pdf', Buffer.concat([basic.pdf(), Buffer.from('<html><body onload=alert(1)>')])],
    ['a web page that is also a PDF', 'a.html', Buffer.concat([Buffer.from('<!doctype html><body>'), basic.pdf()])],
  ])('rejects %s as a polyglot', async (_, name, bytes) => {
    expect(await decisive(name, bytes)).toMatchObject({
      check: 'corrupt_file',
      evidence: { trap: 'polyglot' },
      message: expect.stringContaining('maliciously crafted (polyglot)'),
    })
  })

  test.each([
    ['a zip inside a PDF', 'a.pdf', basic.pdf({ extra: `%${archive.toString('latin1').replaceAll(/[\r\n]/g, ' ')}\n` })],
    ['a PDF inside a zip', 'a.zip', basic.zip({ 'a.pdf': basic.pdf() })],
    ['a zip-based document', 'a.docx', basic.docx()],
    ['a web page about PDF', 'a.html', Buffer.from('<html><body>A PDF starts with %PDF-1.4 and ends with %%EOF.</body></html>')],
    ['bytes after a complete image', 'a.png', Buffer.concat([basic.png(), archive])],
  ])('accepts %s as valid', async (_, name, bytes) => {
    expect(await reasonOf(name, bytes)).toBeNull()
  })
})

describe('malicious text', () => {
  test.each([
    ['a.xml', text.billionLaughs(), 'xml_entity_expansion'],
    ['a.svg', text.quadraticBlowup(), 'xml_entity_expansion'],
    ['a.xml', text.deepXml(5000), 'xml_nesting'],
    ['a.json', text.deepJson(200_000), 'json_nesting'],
  ])('rejects malicious text in a file named %s as corrupt_file', async (name, bytes, trap) => {
    expect(await decisive(name, bytes)).toMatchObject({
      check: 'corrupt_file',
      evidence: { trap },
      message: expect.stringContaining(trap),
    })
  })
})

describe('virus check', () => {
  const scan = async (scanner: VirusScanner) => {
    const own = createInspector({ scanner })
    return own.inspect(createSubmission('a.txt', Buffer.from('words'), { scanForViruses: true })).finally(() => own.close())
  }
  const infected = new ScriptedScanner({ verdict: 'infected', signature: 'Test.EICAR' })
  const incomplete = new ScriptedScanner({ verdict: 'incomplete', reason: 'the archive is encrypted' })

  test('rejects a virus as virus_detected and reports its signature name', async () => {
    const report = await scan(infected)
    expect(report).toMatchObject({ outcome: 'rejected', reason: 'virus_detected' })
    expect(report.checks[4]).toMatchObject({
      outcome: 'failed',
      message: 'Virus found by Scripted 1.0: Test.EICAR.',
      evidence: { signature: 'Test.EICAR' },
    })
  })

  test('rejects an incompletely scanned file as scan_incomplete', async () => {
    const report = await scan(incomplete)
    expect(report).toMatchObject({ outcome: 'rejected', reason: 'scan_incomplete' })
    expect(report.checks[4]).toMatchObject({
      outcome: 'incomplete',
      message: 'Scripted 1.0 could not scan the whole file: the archive is encrypted.',
    })
  })

  test('rejects a file with an encrypted part as scan_incomplete even if the scanner finds nothing', async () => {
    const report = await inspect('a.7z', encrypted7z, { scanForViruses: true })
    expect(report).toMatchObject({ outcome: 'rejected', reason: 'scan_incomplete' })
    expect(report.checks[4]).toMatchObject({
      outcome: 'incomplete',
      message: 'A part of the file is encrypted and cannot be scanned.',
    })
  })

  test('accepts an incompletely scanned file and returns a report if the context allows it', async () => {
    const own = createInspector({ scanner: incomplete })
    const rules = { scanForViruses: true, acceptUnscanned: true }
    const report = await own.inspect(createSubmission('a.txt', Buffer.from('words'), rules)).finally(() => own.close())
    expect(report).toMatchObject({ outcome: 'accepted', reason: null })
    expect(report.checks[4]).toMatchObject({ outcome: 'incomplete' })
  })

  test('does not return a report for a failed scan', async () => {
    await expect(scan(new ScriptedScanner(scannerUnavailable('clamd is down')))).rejects.toMatchObject({
      code: 'scanner_unavailable',
    })
  })

  test('rejects an invalid file even if the scanner is unavailable', async () => {
    const down = scannerUnavailable('clamd is down')
    const own = createInspector({ scanner: new ScriptedScanner(down, down) })
    expect(
      await own.inspect(createSubmission('a.pdf', Buffer.from('x'), { scanForViruses: true })).finally(() => own.close()),
    ).toMatchObject({ reason: 'corrupt_file', engine: null })
  })

  test('reports a virus rather than an incomplete scan', async () => {
    expect((await scan(new CombinedScanner(incomplete, infected))).reason).toBe('virus_detected')
    expect((await scan(new CombinedScanner(clean, incomplete))).reason).toBe('scan_incomplete')
    expect((await scan(new CombinedScanner(clean, clean))).checks[4]?.message).toBe(
      'Scripted + Scripted 1.0 + 1.0 found no virus.',
    )
  })
})
