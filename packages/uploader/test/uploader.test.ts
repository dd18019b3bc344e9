import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from '@jest/globals'
import { formatBytes, formatPercent, formatSeconds, RateMeter } from '../src/format.js'
import { getExtension, parseError, toLinkUrl } from '../src/link-rules.js'
import { defaultTexts, fillPlaceholders, toErrorText } from '../src/texts.js'

test('limits the compressed uploader script, including its dependencies, to 30 KB', () => {
  const script = readFileSync(new URL('../../../dist/uploader/uploader.js', import.meta.url))
  expect(gzipSync(script, { level: 9 }).length).toBeLessThan(30 * 1024)
})

describe('uploader texts', () => {
  test.each([
    [0, '0 bytes'],
    [1, '1 byte'],
    [1536, '1.5 kB'],
    [5 * 1024 ** 2, '5 MB'],
    [3 * 1024 ** 4, '3 TB'],
  ])('formats %d bytes as %s', (bytes, text) => expect(formatBytes(bytes, 'en')).toBe(text))

  test('formats sizes and percentages in the specified language', () => {
    expect(formatBytes(1_572_864, 'de')).toBe('1,5 MB')
    expect(formatPercent(0.42, 'de')).toBe('42\u00a0%')
  })

  test.each([
    [0.2, '1 sec'],
    [90, '90 sec'],
    [91, '2 min'],
    [7201, '3 hr'],
  ])('formats %d seconds as %s', (seconds, text) => expect(formatSeconds(seconds, 'en')).toBe(text))

  test('leaves placeholders without a value unchanged', () => {
    expect(fillPlaceholders('{name} and {other}', { name: '{other}' })).toBe('{other} and {other}')
  })

  test("explains known error codes and shows the service's message for other codes", () => {
    const explain = (code: string) => toErrorText(defaultTexts, { code, message: 'from the service' })
    expect(explain('virus_detected')).toContain('Do not open the file')
    expect(explain('storage_unavailable')).toBe(defaultTexts.unavailable)
    expect(explain('conflict')).toBe('from the service')
    expect(explain('toString')).toBe('from the service')
  })
})

describe('upload rate', () => {
  test('reports the average upload rate over the last five seconds', () => {
    const meter = new RateMeter()
    meter.addSample(0, 0)
    meter.addSample(500, 500)
    expect(meter.bytesPerSecond).toBeUndefined()
    meter.addSample(2_000, 1_000)
    expect(meter.bytesPerSecond).toBe(2_000)
    for (let second = 2; second <= 10; second++) meter.addSample(2_000 + second * 100, second * 1_000)
    expect(meter.bytesPerSecond).toBeCloseTo(100, 0)
  })
})

test('removes the query, the fragment and a trailing slash from an upload link URL', () => {
  expect(toLinkUrl('/upload/ulk_a/?x#y', 'https://files.example.com/page')).toBe('https://files.example.com/upload/ulk_a')
})

test('returns the lowercase extension after the last dot of a file name', () => {
  expect(['a.tar.GZ', 'README', '.env', 'a.'].map(getExtension)).toEqual(['gz', '', 'env', ''])
})

test.each([
  [404, '', 'not_found'],
  [502, '<html>', 'overloaded'],
  [413, '<html>', 'size_exceeded'],
  [422, '{"message":"m","error":{"code":"blank_file"}}', 'blank_file'],
])('parses an error response with status %d and body %j', (status, body, code) =>
  expect(parseError(body, status).code).toBe(code),
)
