import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { execute, parse } from 'graphql'
import { hasTooManyValues, maxJsonValues } from '../../src/api/bodies/json.js'
import { mapToList, stringifyInSlices } from '../../src/api/bodies/json-responses.js'
import { screenDocument } from '../../src/api/graphql/document-limits.js'

async function countTurns<T>(work: () => Promise<T>): Promise<{ result: T; turns: number }> {
  let turns = 0
  let going = true
  const count = () => {
    turns++
    if (going) setImmediate(count)
  }
  setImmediate(count)
  const result = await work().finally(() => {
    going = false
  })
  return { result, turns }
}

describe('response serialization in slices', () => {
  test('produces the same JSON as JSON.stringify when it serializes a response in slices', () =>
    fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => expect(await stringifyInSlices(value)).toBe(JSON.stringify(value))),
      { seed: 20_261_123 },
    ))

  test('serializes long lists, dates, undefined values and toJSON results in slices', async () => {
    const value = {
      none: undefined,
      data: { points: Array.from({ length: 2001 }, (_, at) => ({ at: new Date(at), gone: undefined })), 'a "name"': [undefined] },
      moment: new Date(0),
      nothing: null,
    }
    const { result, turns } = await countTurns(() => stringifyInSlices(value))
    expect(result).toBe(JSON.stringify(value))
    expect(turns).toBeGreaterThanOrEqual(4)
  })
})

describe('resolution of long GraphQL lists', () => {
  const ascending = Array.from({ length: 1000 }, (_, at) => at)
  async function completed(text: string) {
    const { buildSchema } = await import('graphql')
    const schema = buildSchema('type Query { points: [Point!]! } type Point { at: Int! }')
    const rootValue = {
      get points() {
        return mapToList(ascending, (at) => ({ at }))
      },
    }
    const { result, turns } = await countTurns(async () => execute({ schema, document: parse(text), rootValue }))
    expect(result.errors).toBeUndefined()
    return { lists: Object.values(result.data as Record<string, { at: number }[]>), turns }
  }

  test('resolves a long GraphQL list in slices without changing its order', async () => {
    const { lists, turns } = await completed('{ points { at } }')
    expect(lists[0]!.map(({ at }) => at)).toEqual(ascending)
    expect(turns).toBeGreaterThanOrEqual(5)
  })

  test('resolves each slice of a long GraphQL list in a separate event loop turn', async () => {
    const { lists, turns } = await completed('{ a: points { at } b: points { at } c: points { at } }')
    for (const list of lists) expect(list.map(({ at }) => at)).toEqual(ascending)
    expect(turns).toBeGreaterThanOrEqual(15)
  })
})

describe('number of values in a JSON body', () => {
  const tooMany = (text: string) => hasTooManyValues(Buffer.from(text))

  test('accepts a body with the maximum number of values but rejects one more value', () => {
    expect(tooMany(JSON.stringify(Array(maxJsonValues).fill(1)))).toBe(false)
    expect(tooMany(JSON.stringify(Array(maxJsonValues + 1).fill(1)))).toBe(true)
  })

  test.each(['[', '{', ',', '{"a":'])('rejects a JSON body that repeats %s too many times', (text) =>
    expect(tooMany(text.repeat(maxJsonValues + 1))).toBe(true),
  )

  test('ignores the content of strings when counting JSON values', () => {
    expect(tooMany(JSON.stringify('[,{"\\'.repeat(100_000)))).toBe(false)
    expect(tooMany(`"${'['.repeat(100_000)}`)).toBe(false)
    expect(tooMany(`${'"\\'}`)).toBe(false)
  })
})

describe('GraphQL document breadth', () => {
  const fault = (text: string) => screenDocument(text).error?.message
  const many = (count: number, make: (at: number) => string) => Array.from({ length: count }, (_, at) => make(at)).join(' ')

  test.each<[string, (count: number) => string, number]>([
    ['operations', (count) => many(count, (at) => `query Q${at} { a }`), 20],
    ['fragments', (count) => `{ a } ${many(count, (at) => `fragment F${at} on A { a }`)}`, 50],
    ['variables', (count) => `query (${many(count, (at) => `$v${at}: Int`)}) { a }`, 100],
    ['arguments', (count) => `{ a(${many(count, (at) => `v${at}: 1`)}) }`, 50],
    ['arguments of a directive', (count) => `{ a @b(${many(count, (at) => `v${at}: 1`)}) }`, 50],
    ['fields with one name', (count) => `{ r { ${many(count, () => 'x: a')} } }`, 50],
    ['fields with one name in inline fragments', (count) => `{ r { ${many(count, () => '... { a }')} } }`, 50],
    ['spreads of one fragment', (count) => `{ r { ${many(count, () => '...F')} } }`, 50],
    ['list literals', (count) => `{ a(b: [${many(count, () => '1')}]) }`, 1000],
    ['object literals', (count) => `{ a(b: { ${many(count, (at) => `k${at}: 1`)} }) }`, 1000],
  ])('limits the number of %s in a GraphQL document', (_what, make, max) => {
    expect(fault(make(max))).toBeUndefined()
    expect(fault(make(max + 1))).toContain(String(max))
  })
})
