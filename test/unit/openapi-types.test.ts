import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from '@jest/globals'

interface Generator {
  toTypeScriptType(schema: object): string
  generateTypes(document: object): string
  generateEndpoints(document: object): string
}
const { toTypeScriptType, generateTypes, generateEndpoints } = (await import(
  new URL('../../scripts/openapi-types.mjs', import.meta.url).href
)) as Generator

describe('generated TypeScript types', () => {
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
    expect(toTypeScriptType(schema)).toBe(type)
  })

  test('stops type generation with an error if a schema contains an unknown keyword', () => {
    expect(() => toTypeScriptType({ oneOf: [] })).toThrow("The JSON Schema keyword 'oneOf' is not supported.")
  })
})

test('does not let a schema description terminate the generated comment', () => {
  const schemas = { A: { type: 'string', description: 'Matches */ and more' } }
  expect(generateTypes({ paths: {}, components: { schemas } })).toContain('/** Matches *\\/ and more */\n"A": string')
})

describe('generated operations', () => {
  const content = { 'application/json': { schema: { type: 'object', properties: { data: { type: 'integer' } } } } }
  const documentOf = (operation: object, method = 'get') => ({
    paths: { '/a': { [method]: { operationId: 'a', responses: { 201: { content } }, ...operation } } },
    components: { schemas: {} },
  })

  test('makes the generated query object optional unless a parameter is required', () => {
    const parameter = { in: 'query', name: 'page', schema: { type: 'integer' } }
    const typesOf = (required: boolean) => generateTypes(documentOf({ parameters: [{ ...parameter, required }] }))
    expect(typesOf(false)).toContain('parameters: { query?: {\n"page"?: number\n} }')
    expect(typesOf(true)).toContain('parameters: { query: {\n"page": number\n} }')
  })

  test('generates types for the JSON body and response data of operations', () => {
    const requestBody = { content: { 'application/json': { schema: { $ref: '#/components/schemas/A' } } } }
    expect(generateTypes(documentOf({ requestBody }))).toContain(`body: components['schemas']["A"]\ndata: number`)
    const text = { 200: { content: { 'text/plain': { schema: { type: 'string' } } } } }
    expect(generateTypes(documentOf({ responses: text }))).toContain('body: never\ndata: string')
  })

  test("generates each operation's method, path and support for an Idempotency-Key", () => {
    const parameters = [{ $ref: '#/components/parameters/Idempotency-Key' }]
    expect(generateEndpoints(documentOf({ parameters }, 'post'))).toContain("a: ['POST', '/a', true],")
    expect(generateEndpoints(documentOf({}))).toContain("a: ['GET', '/a'],")
  })
})

test('generates the OpenAPI types in a clone inside a folder named src', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const folder = mkdtempSync(join(tmpdir(), 'assay-openapi-'))
  try {
    const clone = join(folder, 'src', 'assay')
    mkdirSync(clone, { recursive: true })
    for (const path of ['package.json', 'scripts']) cpSync(join(root, path), join(clone, path), { recursive: true })
    const isCompiled = (path: string) => !path.startsWith(join(root, 'dist', 'bundle'))
    cpSync(join(root, 'dist'), join(clone, 'dist'), { recursive: true, filter: isCompiled })
    for (const path of ['node_modules', 'packages']) symlinkSync(join(root, path), join(clone, path))
    const types = join(clone, 'types')
    execFileSync(process.execPath, [join(clone, 'scripts', 'openapi-types.mjs'), join(clone, 'dist'), types], { stdio: 'pipe' })
    const read = (path: string) => readFileSync(join(path, 'openapi.ts'), 'utf8')
    expect(read(types)).toBe(read(join(root, 'packages', 'client', 'src', 'generated')))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
