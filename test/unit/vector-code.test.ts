import { expect, test } from '@jest/globals'
import { vectorCode } from '../../src/formats/vector-code.js'

test('a program looks at the bytes that it is given, sixteen at a time', () => {
  const code = `local.get 0
    v128.load 0
    v128.const ${Array(16).fill(200).join(' ')}
    i8x16.eq
    i8x16.bitmask
    i32.popcnt`
  const { run, memory } = vectorCode({ i32: 0, v128: 0, bytes: 100_000, code })!
  expect(memory.length).toBe(2 * 65_536)
  memory.fill(200, 1003, 1007)
  expect([987, 988, 990, 1003, 1006, 1007].map(run)).toEqual([0, 1, 3, 4, 1, 0])
})

test('a program with an instruction that is not known is refused', () => {
  expect(() => vectorCode({ i32: 0, v128: 0, bytes: 1, code: 'i32.clz' })).toThrow("'i32.clz'")
})

test('what is no program is none', () => {
  expect(vectorCode({ i32: 0, v128: 0, bytes: 1, code: 'i32.add' })).toBeUndefined()
})
