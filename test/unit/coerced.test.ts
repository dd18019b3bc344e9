import { describe, expect, test } from '@jest/globals'
import { buildSchema, type GraphQLError, type OperationDefinitionNode, parse } from 'graphql'
import { refuseBadVariables } from '../../src/graphql/coerced.js'

const schema = buildSchema(
  'enum Scope { read write } input Key { name: String! scopes: [Scope!]! } type Query { a(key: Key, page: Int): Int }',
)
const operation = parse('query ($key: Key!, $page: Int) { a(key: $key, page: $page) }').definitions[0] as OperationDefinitionNode

function refused(variables: Record<string, unknown>): GraphQLError | undefined {
  try {
    refuseBadVariables(schema, operation, variables)
    return undefined
  } catch (error) {
    return error as GraphQLError
  }
}

describe('variables at fault', () => {
  test('are told all at once, in one error', () => {
    const error = refused({ key: { name: 1, scopes: ['read', 'fly'] }, page: 'x' })
    expect(error?.extensions).toMatchObject({ code: 'BAD_USER_INPUT' })
    for (const part of ['key.name', 'key.scopes[1]', '"$page"']) expect(error?.message).toContain(part)
  })

  test('are told short, however many and however long', () => {
    const error = refused({ key: { name: 'x', scopes: Array(9_000).fill('fly'.repeat(10)) }, page: 'y'.repeat(500_000) })
    expect(error?.message).toContain('Too many errors')
    expect(error!.message.length).toBeLessThan(6_000)
    expect(refused({ key: null, page: 'y'.repeat(500_000) })!.message.length).toBeLessThan(2_000)
  })

  test('are none where they fit', () => {
    expect(refused({ key: { name: 'x', scopes: ['read'] } })).toBeUndefined()
  })
})
