import { describe, expect, test } from '@jest/globals'
import type { FormatReader } from '../../packages/formats/src/format.js'
import { defaultLimits, isBlank } from '../../packages/formats/src/inspect.js'
import { MemorySource } from '../../packages/formats/src/random-access-source.js'
import { readJson, readJsonLines } from '../../packages/formats/src/text/json.js'
import { JsonScanner } from '../../packages/formats/src/text/json-scanner.js'
import { detectText, readText } from '../../packages/formats/src/text/text.js'
import { readSvg, readXml } from '../../packages/formats/src/text/xml.js'
import * as sample from '../../packages/formats/test/support/samples/text.js'

const read = (reader: FormatReader, content: Buffer | string) => {
  const bytes = Buffer.from(content as string)
  return reader(new MemorySource(bytes, ''), defaultLimits(10_000))
}
const findMaliciousConstruction = async (reader: FormatReader, content: Buffer | string) => {
  const verdict = await read(reader, content)
  return verdict.sound ? 'sound' : (verdict.maliciousConstruction ?? 'broken')
}

describe('plain text', () => {
  const hello = 'Grüße aus Köln, 世界 🌍\n'
  test.each([
    ['UTF-8', Buffer.from(hello), 'utf-8'],
    ['UTF-8 with a byte-order mark', sample.utf8Marked(hello), 'utf-8'],
    ['UTF-16 LE', sample.utf16le(hello), 'utf-16le'],
    ['UTF-16 BE', sample.utf16be(hello), 'utf-16be'],
    ['UTF-32 LE', sample.utf32le(hello), 'utf-32le'],
    ['UTF-32 BE', sample.utf32be(hello), 'utf-32be'],
    ['UTF-16 LE without a byte-order mark', sample.utf16le('plain words in Latin letters', false), 'utf-16le'],
    ['UTF-16 BE without a byte-order mark', sample.utf16be('plain words in Latin letters', false), 'utf-16be'],
    ['UTF-32 LE without a byte-order mark', sample.utf32le('plain words', false), 'utf-32le'],
    ['Latin-1', sample.latin1('Gr\xfc\xdfe aus K\xf6ln'), 'legacy'],
    ['Shift JIS', Buffer.from('93fa967b8cea0a', 'hex'), 'legacy'],
    ['terminal colors', Buffer.from('\u001b[31mred\u001b[0m\n'), 'utf-8'],
    ['a last block filled with zeros', Buffer.concat([Buffer.from('words'), Buffer.alloc(400)]), 'utf-8'],
  ])('accepts plain text: %s', async (_, bytes, encoding) => {
    expect(detectText(new MemorySource(bytes, ''))?.encoding).toBe(encoding)
    expect(await read(readText, bytes)).toMatchObject({ sound: true, evidence: { encoding } })
  })

  test('accepts text if a character is split between two chunks of a file', async () => {
    for (const offset of [0, 1, 2, 3])
      expect(await read(readText, `${'a'.repeat(65_534 + offset)}🌍${'ü'.repeat(40_000)}`)).toMatchObject({
        sound: true,
        evidence: { encoding: 'utf-8' },
      })
  })

  test('rejects binary data and text that ends with binary data', async () => {
    const noise = Buffer.from(Array.from({ length: 4000 }, (_, at) => (at * 31) & 255))
    expect((await read(readText, noise)).sound).toBe(false)
    expect((await read(readText, Buffer.concat([Buffer.from('text '.repeat(5000)), noise]))).sound).toBe(false)
  })
})

describe('JSON files', () => {
  test.each([
    '{}',
    '[]',
    '0',
    '-0',
    '1.5e+10',
    '"a"',
    'true',
    'null',
    ' [1 , 2.0 , {"a":[ ]}, "\\u00e9\\n"] \n',
    '[1E22]',
    '{"a":1,"a":2}',
    '""',
    '["\\ud800"]',
    '[123.456e-789]',
    '{"":0}',
  ])('accepts the JSON text %s', async (content) => {
    expect((await read(readJson, content)).sound).toBe(true)
  })

  test.each([
    '',
    '[',
    ']',
    '[1,]',
    '{"a":1,}',
    '{a:1}',
    "{'a':1}",
    '[01]',
    '[1.]',
    '[.5]',
    '[1e]',
    '[-]',
    '[+1]',
    '[NaN]',
    'nul',
    'truex',
    '[1 2]',
    '{"a" 1}',
    '{"a":}',
    '["\t"]',
    '["\\x"]',
    '["\\u12g4"]',
    '"open',
    '[1}',
    '{]',
    '[1]]',
    '{} {}',
    '// comment\n{}',
    '123\0',
    '\0',
    '[\f]',
    '{"a":1',
    '-',
    '["a',
    '[tru]',
    '[1e1.5]',
    '\u2060[]',
  ])('rejects the JSON text %j as damaged', async (content) => {
    expect((await read(readJson, content)).sound).toBe(false)
  })

  test.each([
    ['a byte-order mark', sample.utf8Marked('{"a":1}')],
    ['UTF-16', sample.utf16le('{"a":"ü"}')],
    ['UTF-32', sample.utf32be('[1,2,3]')],
  ])('reads JSON with %s', async (_, bytes) => {
    expect((await read(readJson, bytes)).sound).toBe(true)
  })

  test.each([
    ['UTF-16LE', sample.utf16le('{"a":"some words"}', false)],
    ['UTF-16BE', sample.utf16be('{"a":"some words"}', false)],
  ])('rejects JSON in %s without a byte-order mark as damaged', async (encoding, bytes) => {
    expect(await read(readJson, bytes)).toMatchObject({ sound: false, problem: expect.stringContaining(encoding) })
  })

  test('returns the same result as JSON.parse for every single-byte change to a document', () => {
    const document = '{"a":[1,-2.5e3,true,null,"x\\n\\u00e9"],"b":{"c":""}}'
    const differing: string[] = []
    for (let at = 0; at < document.length; at++) {
      for (const byte of '{}[],:"\\0-.eE1tnu \n\tx') {
        const changed = document.slice(0, at) + byte + document.slice(at + 1)
        if (parses(changed) !== scans(Buffer.from(changed))) differing.push(changed)
      }
    }
    expect(differing).toEqual([])
  })

  test('returns the same JSON validation result regardless of the chunk boundaries', () => {
    const document = Buffer.from('{"key":[1.25e-3,"\\u00e9\\\\",false,{"x":null}]}')
    for (let cut = 1; cut < document.length; cut++) {
      expect(scans(document.subarray(0, cut), document.subarray(cut))).toBe(true)
      expect(scans(document.subarray(0, cut), document.subarray(cut, -1))).toBe(false)
    }
  })

  test('rejects JSON that exceeds the nesting limit', async () => {
    expect(await findMaliciousConstruction(readJson, sample.deepJson(1000))).toBe('sound')
    expect(await findMaliciousConstruction(readJson, sample.deepJson(1001))).toBe('json_nesting')
    expect(await findMaliciousConstruction(readJson, Buffer.alloc(5_000_000, '['))).toBe('json_nesting')
    expect(await findMaliciousConstruction(readJson, Buffer.from('{"a":'.repeat(100_000)))).toBe('json_nesting')
  })

  test('accepts valid JSON Lines, but not as a JSON document', async () => {
    expect(await read(readJsonLines, '{"a":1}\n[2]\r\n\n3\n')).toMatchObject({ sound: true })
    expect((await read(readJsonLines, '{"a":1}\n{broken}\n')).sound).toBe(false)
    expect((await read(readJson, '{"a":1}\n{"a":2}\n')).sound).toBe(false)
  })
})

describe('XML files', () => {
  test.each([
    ['plain', Buffer.from('<?xml version="1.0"?><a b="c">d</a>')],
    ['undeclared namespaces', Buffer.from('<x:a/>')],
    ['declared Latin-1', sample.latin1('<?xml version="1.0" encoding="ISO-8859-1"?><a>\xe9</a>')],
    ['UTF-16', sample.utf16le('<?xml version="1.0" encoding="UTF-16"?><a>é</a>')],
    ['a DOS code page', sample.latin1('<?xml version="1.0" encoding="IBM855"?><a>\xe9\x9f</a>')],
    ['a Macintosh code page', sample.latin1('<?xml version="1.0" encoding="MacCyrillic"?><a>\xe9</a>')],
    ['declared UTF-16, written as UTF-8', Buffer.from('<?xml version="1.0" encoding="utf-16"?><a/>')],
    ['a byte-order mark', sample.utf8Marked('<a/>')],
    [
      'an external DTD, which is not fetched',
      Buffer.from('<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://127.0.0.1:1/x.dtd"><html>&nbsp;</html>'),
    ],
    ['internal entities', Buffer.from('<!DOCTYPE a [<!ENTITY e "text"><!ENTITY f "&e;&e;">]><a b="&e;">&f;</a>')],
    ['entities in a comment', Buffer.from('<!DOCTYPE a [<!-- <!ENTITY e "&e;"> -->]><a/>')],
  ])('accepts XML: %s', async (_, bytes) => {
    expect(await findMaliciousConstruction(readXml, bytes)).toBe('sound')
  })

  test.each([
    '',
    'text',
    '<a>',
    '<a></b>',
    '<a b=c/>',
    '<a/><b/>',
    '<a>&nope;</a>',
    '<a><',
    '<a b="1" b="2"/>',
    '<?xml version="1.0" encoding="nonsense"?><a/>',
    '<a>]]></a>',
  ])('rejects the XML text %j as damaged', async (content) => {
    expect(await findMaliciousConstruction(readXml, content)).toBe('broken')
  })

  test('rejects XML as damaged if it contains bytes that are invalid in its encoding', async () => {
    expect(await findMaliciousConstruction(readXml, sample.latin1('<a>\xe9</a>'))).toBe('broken')
  })

  test('rejects XML with expanding entities, recursive entities or too many levels', async () => {
    expect(await findMaliciousConstruction(readXml, sample.billionLaughs())).toBe('xml_entity_expansion')
    expect(await findMaliciousConstruction(readXml, sample.quadraticBlowup())).toBe('xml_entity_expansion')
    expect(await findMaliciousConstruction(readXml, '<!DOCTYPE a [<!ENTITY x "&y;"><!ENTITY y "&x;">]><a>&x;</a>')).toBe(
      'xml_entity_circle',
    )
    expect(
      await findMaliciousConstruction(
        readXml,
        `<!DOCTYPE a [<!ENTITY % p0 "${'x'.repeat(1000)}">${Array.from({ length: 8 }, (_, at) => `<!ENTITY % p${at + 1} "${`%p${at};`.repeat(10)}">`).join('')}%p8;]><a/>`,
      ),
    ).toBe('xml_entity_expansion')
    expect(await findMaliciousConstruction(readXml, sample.deepXml(1000))).toBe('sound')
    expect(await findMaliciousConstruction(readXml, sample.deepXml(1001))).toBe('xml_nesting')
  })

  test('reports an external XML entity without reading the file that it refers to', async () => {
    const verdict = await read(readXml, '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>')
    expect(verdict).toMatchObject({ sound: true, notes: [expect.stringContaining('not fetched')] })
    expect(JSON.stringify(verdict)).not.toContain('root:')
  })
})

describe('SVG files', () => {
  test('requires an SVG file to have an svg root element, and reports scripts', async () => {
    expect(await findMaliciousConstruction(readSvg, sample.svg())).toBe('sound')
    expect(await findMaliciousConstruction(readSvg, '<s:svg xmlns:s="http://www.w3.org/2000/svg"/>')).toBe('sound')
    expect(await findMaliciousConstruction(readSvg, '<html><svg/></html>')).toBe('broken')
    expect(await read(readSvg, sample.svg('<script>1</script>'))).toMatchObject({
      sound: true,
      notes: ['the file contains a script'],
    })
  })
})

describe('blank files', () => {
  test.each([
    ['no bytes', Buffer.alloc(0)],
    ['spaces and line breaks', Buffer.from(' \t\r\n\v\f '.repeat(20_000))],
    ['zeros', Buffer.alloc(200_000)],
    ['byte-order marks of every width', Buffer.concat([Buffer.from('efbbbf', 'hex')])],
    ['UTF-16 spaces', sample.utf16le(' \n\u3000\u00a0')],
    ['UTF-16 BE spaces', sample.utf16be(' \n')],
    ['UTF-32 spaces', sample.utf32be('  ')],
    ['no-break spaces', Buffer.from('\u00a0\u2003\u3000'.repeat(30_000))],
  ])('detects blank file content: %s', (_, bytes) => {
    expect(isBlank(new MemorySource(bytes, ''), defaultLimits(10_000))).toBe(true)
  })

  test.each([
    ['one letter at the end', Buffer.concat([Buffer.alloc(200_000), Buffer.from('x')])],
    ['an invalid byte', Buffer.from([0x20, 0xff])],
    ['half of a character', Buffer.from([0xe9])],
    ['half of a space', Buffer.from([0x20, 0xe2, 0x80])],
    ['a zero-width joiner', Buffer.from('\u200d')],
    ['a digit in UTF-16', sample.utf16le(' 1')],
  ])('detects non-blank file content: %s', (_, bytes) => {
    expect(isBlank(new MemorySource(bytes, ''), defaultLimits(10_000))).toBe(false)
  })
})

const parses = (text: string): boolean => !throws(() => JSON.parse(text))
const scans = (...chunks: Buffer[]): boolean => !throws(() => new JsonScanner(chunks, { maxDepth: 100, many: false }).scan())

function throws(work: () => void): boolean {
  try {
    work()
    return false
  } catch {
    return true
  }
}
