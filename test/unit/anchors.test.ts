import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { countNonTextControlCharacters } from '../../packages/formats/src/text/text.js'
import { AnchorSearch } from '../../src/inspection/scanners/yara/script-search.js'

const anchors = ['PowerShell', 'getRuntime', '<script', '<?php', '<%', '$_GET']
const search = new AnchorSearch(anchors)
const found = (bytes: Buffer) => [...search.findAnchors(bytes)]

/** Returns the same bytes at an unaligned address. */
function copyUnaligned(bytes: Buffer, by: number): Buffer {
  const room = Buffer.alloc(bytes.length + 8, 'x')
  const start = (-room.byteOffset & 3) + by
  bytes.copy(room, start)
  return room.subarray(start, start + bytes.length)
}

describe('search strings', () => {
  test.each(anchors)('finds the search string %s at any offset and alignment, in any letter case', (text) => {
    for (const spelling of [text, text.toUpperCase(), text.toLowerCase()])
      for (let before = 0; before < 20; before++)
        for (let behind = 0; behind < 9; behind++)
          for (let by = 0; by < 4; by++)
            expect(found(copyUnaligned(Buffer.from('.'.repeat(before) + spelling + '.'.repeat(behind)), by))).toEqual([text])
  })

  test('does not find an incomplete search string', () => {
    for (const nothing of ['', '<', 'getruntim', 'powershel', 'ower-shell', '<scripx', '$_G'])
      for (let by = 0; by < 4; by++) expect(found(copyUnaligned(Buffer.from(nothing), by))).toEqual([])
  })

  test('finds the same strings as indexOf in random text', () => {
    const chunks = fc.constantFrom(
      'power',
      'Shell',
      'getRun',
      'time',
      '<?',
      'PHP',
      '<',
      '%',
      '$_',
      'get',
      'svg',
      'script',
      ' ',
      'é',
    )
    const plain = (text: string) => anchors.filter((sought) => text.toLowerCase().includes(sought.toLowerCase()))
    fc.assert(
      fc.property(fc.array(chunks, { maxLength: 40 }), fc.nat(3), (parts, by) => {
        // Every character is one byte, so text positions equal byte positions.
        const text = parts.join('')
        expect(found(copyUnaligned(Buffer.from(text, 'latin1'), by)).sort()).toEqual(plain(text).sort())
      }),
      { numRuns: 2000, seed: 20_261_123 },
    )
  })

  test('distinguishes short search strings with the same prefix', () => {
    const alike = new AnchorSearch(['<?php', '<?='])
    expect([...alike.findAnchors(Buffer.from('<?xml <?PHP'))]).toEqual(['<?php'])
    expect([...alike.findAnchors(Buffer.from('<?xml <?='))]).toEqual(['<?='])
    for (const text of ['<?xml ?>', 'php =']) expect([...alike.findAnchors(Buffer.from(text))]).toEqual([])
  })

  test('rejects a short search string that starts with a letter', () => {
    expect(() => new AnchorSearch(['eval'])).toThrow("'eval'")
  })
})

describe('countNonTextControlCharacters function', () => {
  const isCounted = (byte: number) => byte === 127 || (byte < 32 && ![7, 8, 9, 10, 11, 12, 13, 14, 15, 26, 27].includes(byte))

  test.each([0, 1, 2, 3])('counts control characters in a buffer that starts %i bytes after an aligned address', (by) => {
    const wrong: string[] = []
    for (const other of [0, 10, 32, 97, 126, 127, 128, 255])
      for (let byte = 0; byte < 256; byte++) {
        const bytes = copyUnaligned(Buffer.from([other, byte, byte, other, byte, other, other, byte, byte, byte, byte]), by)
        if (countNonTextControlCharacters(bytes) !== bytes.filter(isCounted).length) wrong.push(`${other} ${byte}`)
      }
    expect(wrong).toEqual([])
  })

  test('counts control characters four bytes at a time with the same result as byte by byte', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(3), (bytes, by) => {
        expect(countNonTextControlCharacters(copyUnaligned(Buffer.from(bytes), by))).toBe(bytes.filter(isCounted).length)
      }),
      { numRuns: 2000, seed: 20_261_124 },
    )
  })
})
