import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals'
import { encrypted7z } from '../../packages/formats/test/support/samples/archive.js'
import { LocalStorage } from '../../src/platform/storage/local/local.js'
import { getData } from '../support/response-assertions.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
/** Upload buffers passed to the store. The test reads them late, like a slow store. */
let stored: Buffer[] = []
const { put } = LocalStorage.prototype
const storing = jest.spyOn(LocalStorage.prototype, 'put')

beforeAll(async () => {
  world = await World.open({ SCANNER_URL: 'yara:' })
  tenant = await world.createTenant()
  await tenant.createContext('notes', { max_file_size_mb: 1, allowed_extensions: ['txt', '7z'] })
})
afterEach(() => {
  storing.mockReset()
})
afterAll(async () => {
  storing.mockRestore()
  await world.close()
})

const createText = (word: string) => Buffer.alloc(300_000, `${word}\n`)
const upload = (content: Buffer, name = 'a.txt') => tenant.admin.upload('notes', name, content)

/** Replaces the store for the first upload only. */
function replaceStore(reading: typeof put = put) {
  stored = []
  storing.mockImplementation(function (this: LocalStorage, path, content, options) {
    stored.push(content.bytes!)
    return (stored.length === 1 ? reading : put).call(this, path, content, options)
  })
}

test("reuses an accepted upload's buffer for the next upload", async () => {
  replaceStore()
  for (const word of ['first', 'second']) expect((await upload(createText(word))).status).toBe(201)
  expect(stored).toHaveLength(2)
  expect(stored[1]!.buffer).toBe(stored[0]!.buffer)
  expect(stored[1]!.equals(createText('second'))).toBe(true)
})

test('does not reuse the buffer of a failed upload that the store may still read', async () => {
  replaceStore(() => Promise.reject(Object.assign(new Error('The disk is slow.'), { code: 'EIO' })))
  expect((await upload(createText('first'))).status).toBeGreaterThanOrEqual(500)
  for (const word of ['second', 'third']) expect((await upload(createText(word))).status).toBe(201)
  expect(stored[0]!.equals(createText('first'))).toBe(true)
})

test("does not reuse an upload's buffer if a rule change causes the upload to be stored again", async () => {
  const words: string[] = []
  replaceStore(async function (this: LocalStorage, path, content, options) {
    await put.call(this, path, content, options)
    getData(await tenant.admin.patch('/contexts/notes', { max_file_size_mb: 2 }))
    expect((await upload(createText('second'))).status).toBe(201)
  })
  const recorded = storing.getMockImplementation()!
  storing.mockImplementation(function (this: LocalStorage, path, content, options) {
    words.push(content.bytes!.toString('utf8', 290_000).split('\n')[1]!)
    return recorded.call(this, path, content, options)
  })
  expect((await upload(createText('first'))).status).toBe(201)
  expect(words).toEqual(['first', 'second', 'first'])
})

test('does not reuse the buffer of an upload that was accepted without a complete scan', async () => {
  getData(await tenant.admin.patch('/contexts/notes/policy', { accept_unscanned: true }))
  const padded = Buffer.concat([encrypted7z, Buffer.alloc(300_000)])
  replaceStore()
  expect((await upload(padded, 'a.7z')).status).toBe(201)
  for (const word of ['second', 'third']) expect((await upload(createText(word))).status).toBe(201)
  expect(stored[0]!.equals(padded)).toBe(true)
})
