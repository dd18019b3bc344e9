import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { createMultipartBody, type RawClient } from '../support/raw-client.js'
import { maxUploadMb, UploadWorld, waitUntilTrue } from '../support/upload-world.js'
import type { Caller, TestTenant } from '../support/world.js'

const megabyte = 1_048_576

let uploads: UploadWorld
let tenant: TestTenant
beforeAll(async () => {
  uploads = await UploadWorld.open()
  tenant = uploads.tenant
})
afterEach(async () => expect(await uploads.disconnectAll()).toBe(true))
afterAll(() => uploads.close())

const toBearer = (caller: Caller) => `Bearer ${caller.credential}`

describe('multipart body parts', () => {
  const context = { name: 'context', content: 'notes' }
  const file = { name: 'file', filename: 'a.txt', content: 'hello' }

  test.each<[string, Parameters<typeof createMultipartBody>[0], Parameters<typeof createMultipartBody>[1]?]>([
    ['no file', [context]],
    ['no context', [file]],
    ['two files', [context, file, file]],
    ['three files', [context, file, file, file]],
    ['two contexts', [context, context, file]],
    ['a part with another name', [context, file, { name: 'other', content: 'x' }]],
    ['a file with another name', [context, file, { name: 'other', filename: 'b.txt', content: 'x' }]],
    ['an empty file name', [context, { ...file, filename: '' }]],
    ['a file without a name', [context, { name: 'file', content: 'x', type: 'application/octet-stream' }]],
    ['a file sent as a field', [context, { name: 'file', content: 'x' }]],
    ['a part without a name', [context, file, { name: null, content: 'x' }]],
    ['a file part without a name', [context, file, { name: null, filename: 'b.txt', content: 'x' }]],
    ['a hundred parts', [context, file, ...Array.from({ length: 100 }, (_, at) => ({ name: `p${at}`, content: 'x' }))]],
    ['metadata that is not an object', [context, file, { name: 'metadata', content: '[1]' }]],
    ['metadata that is not JSON', [context, file, { name: 'metadata', content: '{' }]],
    ['a field that is too long', [{ name: 'context', content: 'x'.repeat(70_000) }, file]],
    ['a missing end', [context, file], { end: false }],
    ['LF instead of CRLF', [context, file], { newline: '\n' }],
  ])('returns 400 for a multipart body with %s, and logs the call', async (_what, parts, ...[options]) => {
    const before = await uploads.countUploadCalls()
    expect(await uploads.send(parts, options)).toMatchObject({ status: 400, body: { error: { code: 'bad_user_input' } } })
    expect(await uploads.countUploadCalls()).toBe(before + 1)
  })

  test('returns 400 for a multipart body that does not match its boundary', async () => {
    const { body } = createMultipartBody([context, file])
    for (const type of ['multipart/form-data; boundary=other', 'multipart/form-data'])
      expect((await uploads.sendBytes(body, type)).status).toBe(400)
  })

  test('returns 400 for a truncated multipart part header', async () => {
    const body = Buffer.from('--test-boundary\r\nContent-Disposition: form-da')
    const type = 'multipart/form-data; boundary=test-boundary'
    expect((await uploads.sendBytes(body, type)).status).toBe(400)
  })

  test('accepts an upload whose metadata part is first, last or omitted', async () => {
    const metadata = { name: 'metadata', content: '{"a":1}' }
    for (const parts of [
      [metadata, file, context],
      [file, context, metadata],
      [context, file],
    ])
      expect((await uploads.send(parts)).status).toBe(201)
  })
})

describe('GraphQL uploads', () => {
  const mutation =
    'mutation ($file: Upload!, $context: String!) { uploadFile(file: $file, context: $context) { fileId sizeBytes } }'
  const operations = (context: string, file: null | null[] = null) => ({
    name: 'operations',
    content: JSON.stringify({ query: mutation, variables: { context, file } }),
  })
  const map = { name: 'map', content: '{"0":["variables.file"]}' }
  const file = { name: '0', filename: 'a.txt', content: 'hello' }

  const graphql = async (
    parts: Parameters<typeof createMultipartBody>[0],
    options?: Parameters<typeof createMultipartBody>[1],
  ) => {
    const { type, body } = createMultipartBody(parts, options)
    return tenant.admin.raw('/graphql', {
      method: 'POST',
      headers: { 'content-type': type, 'apollo-require-preflight': 'true' },
      body: body as never,
    })
  }
  const codes = (response: { body: { errors?: { extensions: { code: string } }[] } }) =>
    response.body.errors?.map(({ extensions }) => extensions.code)

  test('accepts a GraphQL upload of exactly the size limit, but rejects one more byte', async () => {
    expect((await graphql([operations('notes'), map, file])).body).toMatchObject({ data: { uploadFile: { sizeBytes: 5 } } })
    const large = { name: '0', filename: 'a.bin', content: randomBytes(2 * megabyte) }
    expect((await graphql([operations('raw'), map, large])).body).toMatchObject({
      data: { uploadFile: { sizeBytes: 2 * megabyte } },
    })
    expect(codes(await graphql([operations('raw'), map, { ...large, content: randomBytes(2 * megabyte + 1) }]))).toEqual([
      'SIZE_EXCEEDED',
    ])
  })

  test('accepts several files in any order in a GraphQL upload', async () => {
    const query =
      'mutation ($a: Upload!, $b: Upload!) { first: uploadFile(file: $a, context: "raw") { originalFilename } second: uploadFile(file: $b, context: "raw") { originalFilename } }'
    const both = { name: 'operations', content: JSON.stringify({ query, variables: { a: null, b: null } }) }
    const response = await graphql([
      both,
      { name: 'map', content: '{"x":["variables.a"],"y":["variables.b"]}' },
      { name: 'y', filename: 'b.bin', content: randomBytes(megabyte) },
      { name: 'x', filename: 'a.bin', content: randomBytes(megabyte) },
    ])
    expect(response.body).toMatchObject({
      data: { first: { originalFilename: 'a.bin' }, second: { originalFilename: 'b.bin' } },
    })
  })

  test.each<[string, Parameters<typeof createMultipartBody>[0], Parameters<typeof createMultipartBody>[1]?]>([
    ['the file is missing', [operations('notes'), map]],
    ['the map is missing', [operations('notes'), file]],
    ['the map comes first', [map, operations('notes'), file]],
    ['the operations are not JSON', [{ name: 'operations', content: '{' }, map, file]],
    [
      'the map names a variable that does not exist',
      [operations('notes'), { name: 'map', content: '{"0":["variables.other"]}' }, file],
    ],
    ['the map would change a prototype', [operations('notes'), { name: 'map', content: '{"0":["__proto__.x"]}' }, file]],
    ['the file has no name', [operations('notes'), map, { ...file, filename: '' }]],
    ['the file is sent as a field', [operations('notes'), map, { name: '0', content: 'hello' }]],
    ['the body has no end', [operations('notes'), map, file], { end: false }],
    ['the lines end in LF', [operations('notes'), map, file], { newline: '\n' }],
    [
      'there are too many files',
      [operations('notes'), map, ...Array.from({ length: 11 }, (_, at) => ({ ...file, name: `${at}` }))],
    ],
  ])('returns the rejection reason for a GraphQL upload if %s', async (_what, parts, ...[options]) => {
    const before = await uploads.countUploadCalls()
    const response = await graphql(parts, options)
    expect(response.status).toBeLessThan(500)
    expect(codes(response)).toEqual(['BAD_USER_INPUT'])
    expect(await uploads.countUploadCalls()).toBe(before + 1)
  })

  test('rejects a GraphQL upload with invalid headers before reading its body', async () => {
    const expectRejected = async (headers: Record<string, string | number>) => {
      const client = await uploads.connect()
      await client.head('POST', '/graphql', {
        'Content-Type': 'multipart/form-data; boundary=x',
        'Content-Length': megabyte,
        Expect: '100-continue',
        ...headers,
      })
      const { status, body } = await client.readResponse()
      return [status, body.errors[0].extensions.code]
    }
    const preflight = { 'Apollo-Require-Preflight': 'true' }
    expect(await expectRejected(preflight)).toEqual([401, 'UNAUTHENTICATED'])
    expect(await expectRejected({ Authorization: toBearer(tenant.admin) })).toEqual([400, 'BAD_USER_INPUT'])
    expect(
      await expectRejected({
        ...preflight,
        Authorization: toBearer(tenant.admin),
        'Content-Length': (maxUploadMb + 1) * megabyte,
      }),
    ).toEqual([413, 'SIZE_EXCEEDED'])
  })

  test.each([
    ['disconnects', (client: RawClient) => client.reset()],
    ['stops sending', () => {}],
  ])('logs the call and stores no data if a GraphQL client %s', async (_how, leave) => {
    const before = await uploads.countUploadCalls()
    const client = await uploads.connect()
    await client.head('POST', '/graphql', {
      Authorization: toBearer(tenant.admin),
      'Apollo-Require-Preflight': 'true',
      'Content-Type': 'multipart/form-data; boundary=test-boundary',
      'Transfer-Encoding': 'chunked',
    })
    const parts = [operations('raw'), map, { name: '0', filename: 'a.bin', content: randomBytes(megabyte) }]
    const { body } = createMultipartBody(parts, { end: false })
    await client.send(`${body.length.toString(16)}\r\n`)
    await client.send(body)
    expect(await waitUntilTrue(() => uploads.listTemporaryFiles().length === 1)).toBe(true)
    leave(client)
    for (let tries = 0; (await uploads.countUploadCalls()) !== before + 1 && tries < 1000; tries++) await sleep(20)
    expect(await uploads.countUploadCalls()).toBe(before + 1)
  })
})
