import { describe, expect, test } from '@jest/globals'
import { buildSchema, execute, type GraphQLSchema, Kind, parse } from 'graphql'
import type { Call } from '../../src/access/call.js'
import { stringifyInSlices } from '../../src/api/bodies/json-responses.js'
import { compileOperation } from '../../src/api/rest/operations.js'

const schema = buildSchema(`
  enum Colour { RED BLUE }
  type Thing { id: ID! colour: Colour size: Int tags: [String!] inner: Thing related: Thing }
  type Query { things(first: Int = 2, colour: Colour): [Thing!]! thing: Thing one: Thing! }
`)
const thingFields = (schema.getType('Thing') as { getFields?: () => Record<string, { resolve?: unknown }> }).getFields!()
thingFields.related!.resolve = () => ({ id: 'related' })

const queries = schema.getQueryType()!.getFields()
const answerWith = (name: string, response: (args: Record<string, unknown>, call: unknown) => unknown) => {
  queries[name]!.resolve = (_source, args, call) => response(args, call)
}

function compile(text: string, of: GraphQLSchema = schema) {
  const { definitions } = parse(text)
  const fragments = definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION)
  const operation = definitions.find((node) => node.kind === Kind.OPERATION_DEFINITION)!
  return compileOperation(of, operation, new Map(fragments.map((node) => [node.name.value, node])))
}

const call = {} as Call

/** Returns the result of graphql-js for the same document. */
async function interpret(text: string, variableValues: Record<string, unknown>) {
  const { data } = await execute({ schema, document: parse(text), contextValue: call, variableValues })
  return JSON.stringify(data!.data)
}

describe('compiled GraphQL operations compared with graphql-js', () => {
  const text = `
    query ($first: Int, $colour: Colour) { data: things(first: $first, colour: $colour) { the_id: id ...Rest } }
    fragment Rest on Thing { colour size tags inner { id inner { size } } }
  `

  test('executes aliases, fragments, lists, enums and nulls in the same way as graphql-js', async () => {
    answerWith('things', (args) => [
      { id: 7, colour: args.colour ?? 'BLUE', size: args.first, tags: null },
      { id: 'b', tags: [], inner: { id: 'c', inner: undefined, unknown: true } },
    ])
    for (const variables of [{}, { first: 5 }, { first: null }, { colour: 'RED' }])
      expect(await stringifyInSlices(await compile(text)!(call, variables))).toBe(await interpret(text, variables))
  })

  test('creates the items of a long GraphQL list while writing the response', async () => {
    answerWith('things', () =>
      Array.from({ length: 2_000 }, (_, at) => ({
        id: `"${at}"`,
        size: at % 3 === 0 ? undefined : -at,
        colour: at % 2 ? 'RED' : null,
        tags: at % 5 === 0 ? null : ['é', '\n'],
        inner: at % 7 === 0 ? null : { id: at, inner: at % 2 ? { size: at } : null },
      })),
    )
    expect(await stringifyInSlices({ data: await compile(text)!(call, {}) })).toBe(`{"data":${await interpret(text, {})}}`)
  })

  test('passes the same arguments to resolvers as graphql-js', async () => {
    let observed: unknown[] = []
    queries.one!.resolve = (source, args, context, info) => {
      observed = [source, args, context, info.path.key, info.path.prev, info.schema === schema]
      return { id: 'x' }
    }
    await compile('{ data: one { id } }')!(call, {})
    expect(observed).toEqual([undefined, {}, call, 'data', undefined, true])
  })
})

describe('errors in compiled GraphQL operations', () => {
  test("throws the resolver's error unchanged from a compiled GraphQL operation", async () => {
    const fault = new Error('mine')
    answerWith('thing', () => Promise.reject(fault))
    await expect(compile('{ data: thing { id } }')!(call, {})).rejects.toBe(fault)
  })

  test('throws an error if a value in a compiled GraphQL operation does not match its type', async () => {
    const run = (of: Call, input: object) => compile('{ data: thing { id colour tags } }')!(of, { ...input })
    for (const wrong of [{}, { id: 'a', colour: 'GREEN' }, { id: 'a', tags: ['a', null] }, { id: 'a', tags: 'a' }]) {
      answerWith('thing', () => wrong)
      await expect(run(call, {})).rejects.toThrow()
      answerWith('things', () => [...Array(1_000).fill({ id: 'a' }), wrong])
      const all = compile('{ data: things { id colour tags } }')!
      await expect(all(call, {}).then(stringifyInSlices)).rejects.toThrow()
    }
    answerWith('thing', () => null)
    expect(await run(call, {})).toBeNull()
  })

  test('throws an error if a variable of a compiled GraphQL operation has the wrong type', async () => {
    await expect(compile('query ($first: Int) { data: things(first: $first) { id } }')!(call, { first: 'x' })).rejects.toThrow(
      'Int cannot represent',
    )
  })
})

test('does not compile nested fields with a resolver or a directive', () => {
  expect(compile('{ data: thing { id related { id } } }')).toBeUndefined()
  expect(compile('query ($x: Boolean!) { data: thing { id size @include(if: $x) } }')).toBeUndefined()
})
