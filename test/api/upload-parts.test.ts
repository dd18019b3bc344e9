import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { pdf, png } from '../../packages/formats/test/support/samples/basic.js'
import { createMultipartBody, type Part } from '../support/multipart.js'
import { getData, getInvalidFields, getItems, toStatusAndCode } from '../support/response-assertions.js'
import { type ApiResponse, type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let key: Caller
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('notes', { max_file_size_mb: 1 })
  key = await tenant.createKey(['upload', 'metadata'])
})
afterAll(() => world.close())

const uploaded = { status: 201, message: true, timestamp: false }
const send = (caller: Caller, parts: Part[]): Promise<ApiResponse> => {
  const { body, headers } = createMultipartBody(parts)
  return caller.raw('/api/v1/files/upload', { method: 'POST', headers, body })
}
const getStoredName = (response: ApiResponse) => getData(response, uploaded).original_filename
const getLastCall = async () => getItems(await tenant.admin.get(`/stats/logs?api_key_id=${key.id}&page_size=1`))[0]

describe('multipart upload parts', () => {
  const file: Part = { name: 'file', filename: 'a.txt', content: 'text' }
  const context: Part = { name: 'context', content: 'notes' }

  test('accepts multipart parts, including metadata, in any order', async () => {
    const own = await world.createTenant()
    await own.createContext('notes')
    const metadata: Part = { name: 'metadata', content: '{"page":7}' }
    for (const parts of [
      [file, context, metadata],
      [metadata, context, file],
      [context, file, metadata],
    ]) {
      const { file_id } = getData(await send(own.admin, parts), uploaded)
      expect(getData(await own.admin.get(`/files/${file_id}/metadata`)).metadata).toEqual({ page: 7 })
    }
  })

  test('accepts context and metadata parts with file names, which browsers send for typed Blobs', async () => {
    const blobs = [
      { ...context, filename: 'blob' },
      { name: 'metadata', filename: 'blob', content: '{"page":8}' },
    ]
    for (const parts of [
      [...blobs, file],
      [file, ...blobs],
    ]) {
      const { file_id } = getData(await send(tenant.admin, parts), uploaded)
      expect(getData(await tenant.admin.get(`/files/${file_id}/metadata`)).metadata).toEqual({ page: 8 })
    }
    const large: Part = { name: 'metadata', filename: 'blob', content: `{"page":"${'x'.repeat(70_000)}"}` }
    expect(getInvalidFields(await send(tenant.admin, [context, large, file]))).toEqual(['metadata'])
    expect(getInvalidFields(await send(tenant.admin, [...blobs, context, file]))).toEqual(['context'])
  })

  test('reports an unknown multipart part and suggests the nearest known name', async () => {
    for (const part of [
      { name: 'contxt', content: 'notes' },
      { name: 'contxt', filename: 'blob', content: 'notes' },
    ]) {
      const response = await send(tenant.admin, [context, file, part])
      expect(getInvalidFields(response)).toEqual(['contxt'])
      expect(response.body.message).toContain("Did you mean 'context'?")
    }
  })

  const invalidBodies: [string, Part[], string[]][] = [
    ['no parts', [], ['context', 'file']],
    ['no file', [context], ['file']],
    ['no context', [file], ['context']],
    ['two files', [context, file, file], ['file']],
    ['a file with another name', [context, file, { ...file, name: 'second' }], ['second']],
    ['no file name', [context, { name: 'file', content: 'text' }], ['file']],
    ['an empty file name', [context, { ...file, filename: '' }], ['file']],
    ['a file name that consists of a path', [context, { ...file, filename: 'dir/' }], ['file']],
    [
      'a file name of control characters',
      [context, { ...file, disposition: 'form-data; name="file"; filename*=UTF-8\'\'%01%02' }],
      ['file'],
    ],
    ['a file name of dots', [context, { ...file, filename: '..' }], ['file']],
    ['an unknown field', [context, file, { name: 'colour', content: 'red' }], ['colour']],
    ['two contexts', [context, context, file], ['context']],
    ['metadata that is not JSON', [context, file, { name: 'metadata', content: '{' }], ['metadata']],
    ['metadata that is not an object', [context, file, { name: 'metadata', content: '[1]' }], ['metadata']],
    ['metadata that is null', [context, file, { name: 'metadata', content: 'null' }], ['metadata']],
    [
      'metadata over 16 KiB',
      [context, file, { name: 'metadata', content: JSON.stringify({ x: 'y'.repeat(16_384) }) }],
      ['metadata'],
    ],
    [
      'metadata above the limit of a field',
      [context, file, { name: 'metadata', content: `{"x":"${'y'.repeat(100_000)}"}` }],
      ['metadata'],
    ],
    ['metadata with NUL', [context, file, { name: 'metadata', content: '{"x":"\\u0000"}' }], ['metadata']],
    [
      'metadata with a number that a double cannot represent',
      [context, file, { name: 'metadata', content: '{"x":1e400}' }],
      ['metadata'],
    ],
    [
      'several errors',
      [
        { name: 'metadata', content: '7' },
        { name: 'colour', content: 'red' },
      ],
      ['colour', 'context', 'file', 'metadata'],
    ],
    ['an empty context', [{ name: 'context', content: '' }, file], ['context']],
  ]
  test.each(invalidBodies)('returns 400 for a multipart body with %s and logs a failed call', async (_what, parts, fields) => {
    expect(getInvalidFields(await send(key, parts))).toEqual(fields)
    expect(await getLastCall()).toMatchObject({ operation: 'upload', status: 'failure', file_id: null })
  })

  test('returns 404 for an upload to an unknown context and logs the call without a context', async () => {
    for (const unknown of ['unknown', 'No Key', 'x'.repeat(200)]) {
      expect(toStatusAndCode(await send(key, [{ name: 'context', content: unknown }, file]))).toEqual([404, 'not_found'])
      expect(await getLastCall()).toMatchObject({ operation: 'upload', status: 'failure', context_key: null })
    }
  })
})

describe('file names and types', () => {
  const names: [string, string][] = [
    ['C:\\Users\\me\\report.txt', 'report.txt'],
    ['../../etc/passwd.txt', 'passwd.txt'],
    ['cafe\u0301.txt', 'caf\u00e9.txt'],
    [`${'\u{1F600}'.repeat(100)}.txt`, `${'\u{1F600}'.repeat(62)}.txt`],
    [`${'x'.repeat(300)}.txt`, `${'x'.repeat(251)}.txt`],
    ['a b;c=d.txt', 'a b;c=d.txt'],
    ['ARCHIVE.TXT', 'ARCHIVE.TXT'],
  ]
  test.each(names)('stores the file name %j as %j', async (name, stored) => {
    const response = await send(tenant.admin, [
      { name: 'context', content: 'notes' },
      { name: 'file', filename: name.replace(/\\/g, '\\\\'), content: 'text' },
    ])
    expect(getStoredName(response)).toBe(stored)
    expect(Buffer.byteLength(stored)).toBeLessThanOrEqual(255)
  })

  test('removes control characters and bidirectional overrides from file names', async () => {
    const response = await send(tenant.admin, [
      { name: 'context', content: 'notes' },
      { disposition: 'form-data; name="file"; filename*=UTF-8\'\'a%01b%0D%0A%00%7F%E2%80%AEc.txt', content: 'text' },
    ])
    expect(getStoredName(response)).toBe('abc.txt')
  })

  test("detects the file type from the content instead of the client's Content-Type", async () => {
    const claim = async (filename: string, content: Uint8Array | string) =>
      getData(
        await send(tenant.admin, [
          { name: 'context', content: 'notes' },
          { name: 'file', filename, content, headers: ['Content-Type: text/html'] },
        ]),
        uploaded,
      ).content_type
    expect(await claim('a.png', png())).toBe('image/png')
    expect(await claim('a.pdf', pdf())).toBe('application/pdf')
    expect(await claim('a.txt', 'plain')).toBe('text/plain')
    expect(await claim('a.json', '{"a":1}')).toBe('application/json')
    expect(await claim('a.csv', 'a,b\n1,2\n')).toBe('text/csv')
  })
})
