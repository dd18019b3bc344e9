import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { findImpreciseNumber } from '../../src/api/bodies/json.js'

describe('numbers that would lose digits', () => {
  test.each([
    ['{"x":9007199254740993}', '9007199254740993'],
    ['[1, -9007199254740993]', '-9007199254740993'],
    ['[9007199254740992,9007199254740994,9007199254740995]', '9007199254740995'],
    ['{"a":"9007199254740993","b":[{"c":12345678901234567890}]}', '12345678901234567890'],
    [`{"x":1${'0'.repeat(400)}}`, `1${'0'.repeat(39)}…`],
  ])('detects a JSON number that would lose digits in %s', (json, number) => expect(findImpreciseNumber(json)).toBe(number))

  test.each([
    '9007199254740992',
    '66168355489972330',
    '1152921504606846976',
    `1${'0'.repeat(22)}`,
    '9.007199254740993e15',
    '0.12345678901234567890',
    '1e300',
    '"9007199254740993"',
    '{"9007199254740993":"\\"9007199254740993"}',
    '"\\\\\\" 9007199254740993"',
    `"${'"9007199254740993"'.replaceAll('"', '\\"')}"`,
  ])('finds no integer literal that would lose digits in %s', (json) => expect(findImpreciseNumber(json)).toBeUndefined())

  test('accepts the numbers in any output of JSON.stringify', () =>
    fc.assert(
      fc.property(fc.jsonValue(), fc.double({ noNaN: true, noDefaultInfinity: true }), (value, number) =>
        expect(findImpreciseNumber(JSON.stringify([value, number, Math.trunc(number)]))).toBeUndefined(),
      ),
      { seed: 20_261_123 },
    ))

  test('validates the numbers in a long text with unclosed quotes in one pass', () => {
    const text = `"${'1234567890123456\\" '.repeat(50_000)}`
    expect(findImpreciseNumber(text)).toBeUndefined()
  })
})
