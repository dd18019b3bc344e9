import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from '@jest/globals'
import { formatBytes, formatPercent, formatSeconds, RateMeter } from '../src/format.js'
import { getExtension, parseError, toLinkUrl } from '../src/link-rules.js'
import { defaultTexts, fill, toErrorText } from '../src/texts.js'

test('the script with all of its dependencies has at most 30 KB gzip', () => {
  const script = readFileSync(new URL('../../../dist/uploader/uploader.js', import.meta.url))
  expect(gzipSync(script, { level: 9 }).length).toBeLessThan(30 * 1024)
})

describe('texts for people', () => {
  test.each([
    [0, '0 bytes'],
    [1, '1 byte'],
    [1536, '1.5 kB'],
    [5 * 1024 ** 2, '5 MB'],
    [3 * 1024 ** 4, '3 TB'],
  ])('format %d bytes as %s', (bytes, text) => expect(formatBytes(bytes, 'en')).toBe(text))

  test('use the number format of the language', () => {
    expect(formatBytes(1_572_864, 'de')).toBe('1,5 MB')
    expect(formatPercent(0.42, 'de')).toBe('42\u00a0%')
  })

  test.each([
    [0.2, '1 sec'],
    [90, '90 sec'],
    [91, '2 min'],
    [7201, '3 hr'],
  ])('format %d seconds as %s', (seconds, text) => expect(formatSeconds(seconds, 'en')).toBe(text))

  test('keep braces without a value', () => {
    expect(fill('{name} and {other}', { name: '{other}' })).toBe('{other} and {other}')
  })

  test('explain each error of the service, and show the message of an unknown one', () => {
    const explain = (code: string) => toErrorText(defaultTexts, { code, message: 'from the service' })
    expect(explain('virus_detected')).toContain('Do not open the file')
    expect(explain('storage_unavailable')).toBe(defaultTexts.unavailable)
    expect(explain('conflict')).toBe('from the service')
    expect(explain('toString')).toBe('from the service')
  })
})

describe('rate of an upload', () => {
  test('is unknown in the first second, and then the average of the last five seconds', () => {
    const meter = new RateMeter()
    meter.add(0, 0)
    meter.add(500, 500)
    expect(meter.bytesPerSecond).toBeUndefined()
    meter.add(2_000, 1_000)
    expect(meter.bytesPerSecond).toBe(2_000)
    for (let second = 2; second <= 10; second++) meter.add(2_000 + second * 100, second * 1_000)
    expect(meter.bytesPerSecond).toBeCloseTo(100, 0)
  })
})

test('the URL of a link loses its query, its fragment and a final slash', () => {
  expect(toLinkUrl('/upload/ulk_a/?x#y', 'https://files.example.com/page')).toBe('https://files.example.com/upload/ulk_a')
})

test('the extension of a name is the part after the last dot, in lower case', () => {
  expect(['a.tar.GZ', 'README', '.env', 'a.'].map(getExtension)).toEqual(['gz', '', 'env', ''])
})

test.each([
  [404, '', 'not_found'],
  [502, '<html>', 'overloaded'],
  [413, '<html>', 'size_exceeded'],
  [422, '{"message":"m","error":{"code":"blank_file"}}', 'blank_file'],
])('reads an error with status %d and body %j', (status, body, code) => expect(parseError(body, status).code).toBe(code))
