import { describe, expect, test } from '@jest/globals'
import { buildSchema, parseType, typeFromAST } from 'graphql'
import type { Operation } from '../../src/api/rest/operations.js'
import { coerceVariables, type RawValue } from '../../src/api/rest/variables.js'

const schema = buildSchema('scalar JSONObject  enum Colour { red green }  type Query { x: Int }')
const operation = (types: Record<string, string>) =>
  ({
    variables: Object.entries(types).map(([name, type]) => ({ name, type: typeFromAST(schema, parseType(type) as never) })),
  }) as unknown as Operation

const coerce = (type: string, value: unknown, format: RawValue['format'] = 'json', rejectsNull = false) => {
  const { variables, errors } = coerceVariables(operation({ v: type }), new Map([['v', { value, format }]]), { rejectsNull })
  return errors.length > 0 ? 'fault' : variables.v
}

describe('numeric variables', () => {
  test.each([
    ['0', 0],
    ['7', 7],
    ['2147483647', 2_147_483_647],
    ['007', 7],
  ])('converts the text value %s to the number %d', (text, number) => {
    expect(coerce('Int', text, 'text')).toBe(number)
  })
  test.each(['', ' ', '1.0', '1.5', '-1', '+1', '1e3', '0x10', '2147483648', '99999999999', '١', '1 ', 'x'])(
    'rejects the text value %j for a numeric variable',
    (text) => {
      expect(coerce('Int', text, 'text')).toBe('fault')
    },
  )
  test.each([1.5, '7', true, [7], {}, 2 ** 31, Number.NaN])('rejects the JSON value %j for a numeric variable', (value) => {
    expect(coerce('Int', value)).toBe('fault')
  })
  test('accepts a negative JSON number', () => {
    expect(coerce('Int', -5)).toBe(-5)
  })
})

test.each([
  ['String', 'x', ['x'], 5],
  ['Boolean', true, [false], 'true'],
  ['Colour', 'red', ['green'], 'RED'],
  ['JSONObject', {}, [{ a: [] }], []],
  ['[String!]', ['a'], [[]], ['a', 5]],
  ['[Colour!]', ['red'], [[]], ['blue']],
  ['[String!]', ['a'], [['b']], [null]],
  ['[String!]', ['a'], [['b']], 'a'],
])('a variable of type %s accepts %j and other valid values, and rejects an invalid one', (type, good, alsoGood, bad) => {
  expect(coerce(type, good)).toEqual(good)
  for (const value of alsoGood) expect(coerce(type, value)).toEqual(value)
  expect(coerce(type, bad)).toBe('fault')
})

test('treats a null variable as omitted, or rejects it if null is not allowed', () => {
  const types = operation({ a: 'Int', b: 'String' })
  expect(coerceVariables(types, new Map(), { rejectsNull: false })).toEqual({ variables: {}, errors: [] })
  const nothing = new Map<string, RawValue>([['a', { value: null, format: 'json' }]])
  expect(coerceVariables(types, nothing, { rejectsNull: false })).toEqual({ variables: {}, errors: [] })
  expect(coerceVariables(types, nothing, { rejectsNull: true }).errors).toEqual([{ field: 'a', message: 'must not be null' }])
})

test('reports each missing required variable and substitutes a value for it', () => {
  const types = operation({ a: 'Int!', b: '[String!]!', c: 'Colour!', d: 'JSONObject!', e: 'String!', f: 'Boolean!' })
  const { variables, errors } = coerceVariables(types, new Map(), { rejectsNull: false })
  expect(errors.map(({ field, message }) => `${field} ${message}`)).toEqual(
    ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `${name} is required`),
  )
  expect(Object.keys(variables)).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
})
