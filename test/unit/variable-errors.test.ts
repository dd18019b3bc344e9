import { describe, expect, test } from '@jest/globals'
import { buildSchema, type GraphQLError, type OperationDefinitionNode, parse } from 'graphql'
import { rejectInvalidVariables } from '../../src/api/graphql/variable-errors.js'

const schema = buildSchema(
  'enum Scope { read write } input Key { name: String! scopes: [Scope!]! } type Query { a(key: Key, page: Int): Int }',
)
const operation = parse('query ($key: Key!, $page: Int) { a(key: $key, page: $page) }').definitions[0] as OperationDefinitionNode

function getError(variables: Record<string, unknown>): GraphQLError | undefined {
  try {
    rejectInvalidVariables(schema, operation, variables)
    return undefined
  } catch (error) {
    return error as GraphQLError
  }
}

describe('GraphQL variables', () => {
  test('reports all invalid GraphQL variables in one error', () => {
    const error = getError({ key: { name: 1, scopes: ['read', 'fly'] }, page: 'x' })
    expect(error?.extensions).toMatchObject({ code: 'BAD_USER_INPUT' })
    for (const part of ['key.name', 'key.scopes[1]', '"$page"']) expect(error?.message).toContain(part)
  })

  test('keeps the error for invalid GraphQL variables short', () => {
    const error = getError({ key: { name: 'x', scopes: Array(9_000).fill('fly'.repeat(10)) }, page: 'y'.repeat(500_000) })
    expect(error?.message).toContain('Further errors are omitted')
    expect(error!.message.length).toBeLessThan(6_000)
    expect(getError({ key: null, page: 'y'.repeat(500_000) })!.message.length).toBeLessThan(2_000)
  })

  test('does not compare very long variable names with known names', () => {
    const members = Object.fromEntries(Array.from({ length: 9_000 }, (_, at) => [`scope${at}`, 1]))
    const error = getError({ key: { ...members, ['scopes'.repeat(50_000)]: 1, name: 'z'.repeat(500_000), scopes: ['read'] } })
    expect(error!.message).toContain('"scope0" is not defined')
    expect(error!.message).not.toContain('zzz')
    expect(error!.message.length).toBeLessThan(6_000)
    const word = getError({ key: { name: 'x', scopes: ['reading'.repeat(100_000)] } })!.message
    expect(word).toMatch(/does not exist in "Scope" enum/)
    expect(word.length).toBeLessThan(1_000)
  })

  test('rejects an unknown field or scope in a GraphQL variable even if it starts with a known name', () => {
    expect(getError({ key: { name: 'x', scopes: [], [`name${' '.repeat(500)}`]: 1 } })!.message).toContain('is not defined')
    expect(getError({ key: { name: 'x', scopes: [`read${'d'.repeat(500)}`] } })!.message).toContain('does not exist')
    expect(getError({ key: JSON.parse('{"name":"x","scopes":[],"__proto__":{}}') })!.message).toContain('__proto__')
  })

  test('reports missing and null GraphQL variables', () => {
    expect(getError({})!.message).toContain('"$key" of required type "Key!" was not provided')
    expect(getError({ key: null })!.message).toContain('"$key" of non-null type "Key!" must not be null')
    expect(getError({ key: { name: 'x', scopes: 'read' }, page: null })).toBeUndefined()
  })

  test('accepts valid GraphQL variables', () => {
    expect(getError({ key: { name: 'x', scopes: ['read'] } })).toBeUndefined()
  })
})
