import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createMultipartBody } from '../support/multipart.js'
import { getInvalidFields } from '../support/response-assertions.js'
import { type TestTenant, World } from '../support/world.js'

// A double cannot represent this number and would round it to its neighbor.
const number = '9007199254740993'
const metadata = `{"order":${number}}`
let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open({ SCANNER_URL: 'none:' })
  tenant = await world.createTenant()
  await tenant.createContext('notes', { scan_for_viruses: false })
})
afterAll(() => world.close())

const send = (
  path: string,
  body: string | Uint8Array,
  headers: Record<string, string> = { 'content-type': 'application/json' },
) => tenant.admin.raw(path, { method: 'POST', headers, body })

test('rejects numbers that would lose precision in JSON bodies and multipart parts', async () => {
  const context = `{"context_key":"orders","display_name":"Orders","allowed_extensions":["txt"],"max_file_size_mb":1,"metadata":${metadata}}`
  const inBody = await send('/api/v1/contexts', context)
  expect(getInvalidFields(inBody)).toEqual(['body'])
  expect(inBody.body.message).toContain(number)
  const { body, headers } = createMultipartBody([
    { name: 'context', content: 'notes' },
    { name: 'metadata', content: metadata },
    { name: 'file', filename: 'a.txt', content: 'some text' },
  ])
  const inPart = await send('/api/v1/files/upload', body, headers)
  expect(getInvalidFields(inPart)).toEqual(['metadata'])
  expect(inPart.body.message).toContain(number)
})

test('rejects numbers that would lose precision in GraphQL variables, documents and multipart requests', async () => {
  const input =
    '{ contextKey: "orders", displayName: "Orders", allowedExtensions: ["txt"], maxFileSizeMb: 1, metadata: { order: %s } }'
  const create = (value: string) => `mutation { createContext(input: ${input.replace('%s', value)}) { metadata } }`
  const inDocument = await tenant.admin.graphql(create(number))
  expect(inDocument.status).toBe(400)
  expect(JSON.stringify(inDocument.body.errors)).toContain(number)
  const query =
    'mutation ($metadata: JSONObject) { updateContext(contextKey: "notes", input: { metadata: $metadata }) { metadata } }'
  const inVariable = await send('/graphql', `{"query":${JSON.stringify(query)},"variables":{"metadata":${metadata}}}`)
  expect(inVariable.status).toBe(400)
  expect(JSON.stringify(inVariable.body)).toContain(number)
  const upload =
    'mutation ($file: Upload!, $metadata: JSONObject) { uploadFile(file: $file, context: "notes", metadata: $metadata) { fileId } }'
  const { body, headers } = createMultipartBody([
    { name: 'operations', content: `{"query":${JSON.stringify(upload)},"variables":{"file":null,"metadata":${metadata}}}` },
    { name: 'map', content: '{"0":["variables.file"]}' },
    { name: '0', filename: 'a.txt', content: 'some text' },
  ])
  const inMultipart = await send('/graphql', body, { ...headers, 'apollo-require-preflight': 'yes' })
  expect(inMultipart.status).toBe(400)
  expect(JSON.stringify(inMultipart.body)).toContain(number)

  const stored = await tenant.admin.graphql(create('9007199254740992'))
  expect(stored.body).toEqual({ data: { createContext: { metadata: { order: 9007199254740992 } } } })
  expect((await tenant.admin.get('/files')).body.data.pagination.total_items).toBe(0)
})
