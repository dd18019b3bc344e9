import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'
import {
  type GraphQLNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
} from 'graphql'
import type { Endpoint } from '../../src/access/endpoint.js'
import { buildSchema, formatSchema } from '../../src/api/graphql/schema.js'
import { createResolvers } from '../../src/features/resolvers.js'

const schema = buildSchema(createResolvers({} as Parameters<typeof createResolvers>[0]))
const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]
const types = Object.values(schema.getTypeMap()).filter((type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type))

test('schema.graphql is up to date (update it with npm run schema)', () => {
  expect(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8')).toBe(formatSchema(schema))
})

test('the repository contains no files in folders named generated', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  // A source download has no Git history.
  if (!existsSync(`${root}/.git`)) return
  expect(execFileSync('git', ['ls-files', '*/generated/*'], { cwd: root, encoding: 'utf8' })).toBe('')
})

test('the GraphQL schema describes every type, field, argument, input field and enum value', () => {
  expect(types.flatMap(listUndescribed)).toEqual([])
  expect(types.length).toBeGreaterThan(40)
})

test('no GraphQL description refers to a section of an internal document', () => {
  expect(formatSchema(schema)).not.toMatch(/§|specification, section/)
})

test('documents the required scope of every GraphQL root field', () => {
  for (const root of roots)
    for (const [name, field] of Object.entries(root!.getFields()))
      expect([name, (field.extensions.endpoint as Endpoint | undefined)?.access]).toEqual([
        name,
        expect.stringMatching(/^(upload|download|metadata|delete|admin|any|public)$/),
      ])
})

function listUndescribed(type: GraphQLNamedType): string[] {
  const missing = type.description || roots.includes(type as never) ? [] : [type.name]
  if (isEnumType(type))
    return [...missing, ...type.getValues().flatMap(({ name, description }) => (description ? [] : [`${type.name}.${name}`]))]
  if (!isObjectType(type) && !isInputObjectType(type) && !isInterfaceType(type)) return missing
  for (const [name, field] of Object.entries(type.getFields())) {
    if (!field.description) missing.push(`${type.name}.${name}`)
    for (const argument of 'args' in field ? field.args : [])
      if (!argument.description) missing.push(`${type.name}.${name}(${argument.name})`)
  }
  return missing
}
