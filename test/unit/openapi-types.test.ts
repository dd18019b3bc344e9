import { describe, expect, test } from '@jest/globals'

interface Generator {
  typeOfSchema(schema: object): string
  openApiTypes(document: object): string
}
const { typeOfSchema, openApiTypes } = (await import(
  new URL('../../scripts/openapi-types.mjs', import.meta.url).href
)) as Generator

describe('the TypeScript type of a schema', () => {
  test.each<[object, string]>([
    [{ type: 'integer', minimum: 1 }, 'number'],
    [{ type: ['string', 'null'], format: 'date-time' }, '(string | null)'],
    [{ type: ['string', 'null'], enum: ['a', null] }, '("a" | null)'],
    [{ const: 'conflict' }, '"conflict"'],
    [{ $ref: '#/components/schemas/File' }, `components['schemas']["File"]`],
    [{ type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'boolean' }] } }, 'Array<(string | boolean)>'],
    [{ type: 'object', additionalProperties: true }, 'Record<string, unknown>'],
    [{ type: 'object', additionalProperties: { type: 'integer' } }, 'Record<string, number>'],
    [{ type: 'object', additionalProperties: false }, 'Record<string, never>'],
    [
      { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } }, required: ['a'] },
      '{\n"a": string\n"b"?: string\n}',
    ],
    [{}, 'unknown'],
  ])('converts the schema %j to the type %s', (schema, type) => {
    expect(typeOfSchema(schema)).toBe(type)
  })

  test('stops the build for an unknown keyword, because the type would be wrong', () => {
    expect(() => typeOfSchema({ oneOf: [] })).toThrow("The JSON Schema keyword 'oneOf' is not supported.")
  })
})

test('a description cannot end the comment that contains it', () => {
  const schemas = { A: { type: 'string', description: 'Matches */ and more' } }
  expect(openApiTypes({ paths: {}, components: { schemas } })).toContain('/** Matches *\\/ and more */\n"A": string')
})

test('query parameters are optional, unless one is required', () => {
  const parameter = { in: 'query', name: 'page', schema: { type: 'integer' } }
  const document = (required: boolean) => ({
    paths: { '/a': { get: { operationId: 'listA', parameters: [{ ...parameter, required }] } } },
    components: { schemas: {} },
  })
  expect(openApiTypes(document(false))).toContain('{ parameters: { query?: {\n"page"?: number\n} } }')
  expect(openApiTypes(document(true))).toContain('{ parameters: { query: {\n"page": number\n} } }')
})
