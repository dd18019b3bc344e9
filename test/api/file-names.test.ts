import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createMultipartBody, type Part } from '../support/multipart.js'
import { getData, getItems, toStatusAndCode } from '../support/response-assertions.js'
import { Tus } from '../support/tus.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let caller: Caller
beforeAll(async () => {
  world = await World.open({ SCANNER_URL: 'none:' })
  tenant = await world.createTenant()
  await tenant.createContext('notes', { scan_for_viruses: false })
  caller = tenant.admin
})
afterAll(() => world.close())

const send = (path: string, parts: Part[], more: Record<string, string> = {}) => {
  const { body, headers } = createMultipartBody(parts)
  return caller.raw(path, { method: 'POST', headers: { ...headers, ...more }, body: body as never })
}
const createFilePart = (disposition: string): Part => ({
  disposition: `form-data; name="file"; ${disposition}`,
  content: 'text',
  headers: ['Content-Type: text/plain'],
})
const uploadByRest = (endpoint: 'upload' | 'validate', disposition: string) =>
  send(`/api/v1/files/${endpoint}`, [{ name: 'context', content: 'notes' }, createFilePart(disposition)])
const uploadByGraphql = (query: string, disposition: string) =>
  send(
    '/graphql',
    [
      { name: 'operations', content: JSON.stringify({ query, variables: { file: null } }) },
      { name: 'map', content: '{"file":["variables.file"]}' },
      createFilePart(disposition),
    ],
    { 'apollo-require-preflight': 'true' },
  )
const uploadFile = 'mutation ($file: Upload!) { uploadFile(file: $file, context: "notes") { originalFilename } }'
const validateFile = 'mutation ($file: Upload!) { validateFile(file: $file, context: "notes") { outcome } }'

const family = '\u{1F468}\u200d\u{1F469}\u200d\u{1F467}'
const names: [what: string, disposition: string, stored: string][] = [
  ['control characters', 'filename="a\0\u0001\u001b\t\u007fb.txt"', 'ab.txt'],
  ['a control character in the extension', 'filename="a.t\u0007xt"', 'a.txt'],
  ['a lone CR and a lone LF', 'filename="a\rb\nc.txt"', 'abc.txt'],
  ['escape sequences of a browser', 'filename="say %22hi%22%0D%0A.txt"', 'say "hi".txt'],
  ['other escape sequences', 'filename="100%25%0a%41.txt"', '100%25%0a%41.txt'],
  ['quotes escaped by a backslash', 'filename="say \\"hi\\".txt"', 'say "hi".txt'],
  ['a Windows path', 'filename="C:\\Users\\me\\a.txt"', 'a.txt'],
  ['an extended name (RFC 5987)', "filename*=UTF-8''na%C3%AFve%2522%00.txt", 'naïve%22.txt'],
  ['direction marks', 'filename="a\u202etxt.exe\u202c\u2066.txt"', 'atxt.exe.txt'],
  ['a letter with a separate accent', 'filename="cafe\0\u0301.txt"', 'café.txt'],
  ['emoji of more than 255 bytes', `filename="${family.repeat(20)}.txt"`, `${[...family.repeat(20)].slice(0, 69).join('')}.txt`],
]

test.each(names)('sanitizes a file name with %s over REST and GraphQL', async (_what, disposition, stored) => {
  const uploaded = getData(await uploadByRest('upload', disposition), { status: 201, message: true, timestamp: false })
  expect(uploaded.original_filename).toBe(stored)
  expect(Buffer.byteLength(stored)).toBeLessThanOrEqual(255)
  expect(getData(await uploadByRest('validate', disposition)).outcome).toBe('accepted')
  expect((await uploadByGraphql(uploadFile, disposition)).body).toEqual({ data: { uploadFile: { originalFilename: stored } } })
  expect((await uploadByGraphql(validateFile, disposition)).body).toEqual({ data: { validateFile: { outcome: 'accepted' } } })

  const [listed] = getItems(await caller.get(`/files?name_prefix=${encodeURIComponent(stored)}`))
  expect(listed.original_filename).toBe(stored)
  const { download_url: url } = getData(await caller.get(`/files/${uploaded.file_id}`), { timestamp: false })
  const disposed = (await fetch(url)).headers.get('content-disposition')!
  const extended = /filename\*=UTF-8''([^;]+)/.exec(disposed)?.[1]
  const plain = /filename="((?:\\.|[^"\\])*)"/.exec(disposed)?.[1]?.replace(/\\(.)/g, '$1')
  expect(extended ? decodeURIComponent(extended) : plain).toBe(stored)
})

test('returns 400 for a file name that is empty after sanitization', async () => {
  for (const disposition of ['filename="\0\u001f"', 'filename="%0D%0A"', 'filename="a.txt\\\\"', 'filename="..\u0001"'])
    for (const response of [await uploadByRest('upload', disposition), await uploadByRest('validate', disposition)])
      expect(toStatusAndCode(response)).toEqual([400, 'bad_user_input'])
})

test('rejects a part with an invalid Content-Disposition header and explains the problem', async () => {
  for (const disposition of [
    'filename="say "hi".txt"',
    'filename="a.txt\\"',
    'filename=日本語.txt',
    'filename="a.txt',
    'filename',
  ]) {
    const response = await uploadByRest('upload', disposition)
    expect(toStatusAndCode(response)).toEqual([400, 'bad_user_input'])
    expect(response.body.message).toContain('a malformed Content-Disposition header')
    expect((await uploadByGraphql(uploadFile, disposition)).body.errors[0].message).toContain(
      'a malformed Content-Disposition header',
    )
  }
})

test('does not decode escape sequences in the metadata of a resumable upload', async () => {
  const tus = new Tus(caller)
  const { headers } = await tus.create('notes', 'say%22hi%0D\u0007"\r\n.txt', 4, {}, Buffer.from('text'))
  const fileId = headers.get('assay-file-id')
  expect(getData(await caller.get(`/files/${fileId}/metadata`)).original_filename).toBe('say%22hi%0D".txt')
})
