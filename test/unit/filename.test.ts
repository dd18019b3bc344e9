import { expect, test } from '@jest/globals'
import { getExtension } from '../../src/inspection/engine/inspect.js'
import { sanitizeFilename } from '../../src/platform/spool/content.js'

const stored: [string, string][] = [
  ['a.txt', 'a.txt'],
  ['/etc/passwd', 'passwd'],
  ['..\\..\\boot.ini', 'boot.ini'],
  ['C:\\dir/mixed\\name.pdf', 'name.pdf'],
  ['  spaced name.txt ', 'spaced name.txt'],
  ['e\u0301.txt', '\u00e9.txt'],
  ['e\0\u0301.txt', '\u00e9.txt'],
  ['e\u200b\u0301.txt', '\u00e9.txt'],
  ['a\r\nSet-Cookie: x.txt', 'aSet-Cookie: x.txt'],
  ['a\0b.txt', 'ab.txt'],
  ['inv\u202egpj.exe', 'invgpj.exe'],
  ['\ufeffbom.txt', 'bom.txt'],
  ['half\ud800.txt', 'half.txt'],
  ['quote".txt', 'quote".txt'],
  ['日本語.pdf', '日本語.pdf'],
]
test.each(stored)('stores the file name %j as %j', (input, expected) => {
  expect(sanitizeFilename(input)).toBe(expected)
})

test.each(['', '/', 'dir/', '..', '.', '\u0001\u0002', '   ', '\u202e'])(
  'returns 400 for the file name %j, which is empty after sanitization',
  (input) => {
    expect(() => sanitizeFilename(input)).toThrow(/file name/)
  },
)

test('truncates a long file name to 255 bytes without losing its extension', () => {
  for (const character of ['x', 'ü', '€', '\u{1F600}'])
    for (const extension of ['.txt', '', `.${'e'.repeat(100)}`]) {
      const name = sanitizeFilename(character.repeat(300) + extension)
      expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255)
      expect(Buffer.byteLength(name)).toBeGreaterThan(251 - 4)
      expect(name.isWellFormed()).toBe(true)
      if (extension === '.txt') expect(name.endsWith('.txt')).toBe(true)
    }
})

test('does not change a sanitized file name if it is sanitized again', () => {
  for (const name of [
    `${'x'.repeat(250)}${' '.repeat(20)}y`,
    `${'\u3000'.repeat(3)}${'a \u3000'.repeat(100)}`,
    `${' a'.repeat(200)}.txt`,
  ]) {
    const clean = sanitizeFilename(name)
    expect(clean).toBe(clean.trim())
    expect(sanitizeFilename(clean)).toBe(clean)
  }
})

test('returns the lowercase extension after the last dot of a file name', () => {
  expect(['A.TAR.GZ', 'none', 'x.', '.hidden', 'a.b.C'].map(getExtension)).toEqual(['gz', '', '', '', 'c'])
})
