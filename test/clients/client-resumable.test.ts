import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type AssayClient, AssayError, createClient } from '../../packages/client/src/index.js'
import { BreakingProxy } from '../support/breaking-proxy.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let proxy: BreakingProxy

beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('raw', { allowed_extensions: ['bin', 'txt'], max_file_size_mb: 40, scan_for_viruses: false })
  proxy = await BreakingProxy.open(world.url)
})
afterAll(async () => {
  proxy.close()
  await world.close()
})

const openClient = (url: string): AssayClient => createClient({ baseUrl: url, apiKey: tenant.admin.credential! })
const countFiles = async () => (await tenant.admin.get('/files')).body.data.pagination.total_items as number

test('the client library resumes a large upload after lost connections', async () => {
  const content = randomBytes(20 * 1_048_576)
  proxy.breakAfter(3_000_000, 5_000_000, 1_000_000)
  const steps: number[] = []
  const file = await openClient(proxy.url).files.upload(new Blob([content]), {
    context: 'raw',
    filename: 'large.bin',
    metadata: { year: 2026 },
    onProgress: ({ sent, total }) => {
      expect(total).toBe(content.length)
      steps.push(sent)
    },
  })
  expect(proxy.broken).toBe(3)
  expect(file).toEqual({
    file_id: expect.stringMatching(/^file_/),
    original_filename: 'large.bin',
    content_type: 'application/octet-stream',
    size_bytes: content.length,
    context_key: 'raw',
  })
  expect(steps.at(-1)).toBe(content.length)
  const client = openClient(world.url)
  const response = await client.files.download(file.file_id)
  expect(Buffer.from(await response.arrayBuffer()).equals(content)).toBe(true)
  expect((await client.files.get(file.file_id)).metadata).toEqual({ year: 2026 })
  expect((await client.logs.listCalls({ operation: 'upload' })).pagination.total_items).toBe(1)
  expect(await countFiles()).toBe(1)
})

test('the client library throws an error that contains the rejection reason of a resumable upload', async () => {
  const client = openClient(world.url)
  const getRejection = async (name: string, content: string) =>
    client.files.upload(new Blob([content]), { context: 'raw', filename: name, resumable: true }).then(
      () => undefined,
      (error: AssayError) => error,
    )
  expect(await getRejection('program.exe', 'x')).toMatchObject({ code: 'invalid_extension', status: 422 })
  const blank = await getRejection('blank.txt', '   ')
  expect(blank).toBeInstanceOf(AssayError)
  expect(blank).toMatchObject({ code: 'blank_file', status: 422, requestId: expect.stringMatching(/^req_/) })
})

test('the client library aborts a resumable upload if its abort signal is triggered', async () => {
  const abort = new AbortController()
  const sending = openClient(world.url).files.upload(new Blob([randomBytes(20 * 1_048_576)]), {
    context: 'raw',
    filename: 'ended.bin',
    signal: abort.signal,
    onProgress: () => abort.abort(new Error('enough')),
  })
  await expect(sending).rejects.toThrow('enough')
})

test('stores no file if the client library aborts a resumable upload while preparing it', async () => {
  const before = await countFiles()
  for (let microtasks = 1; microtasks <= 40; microtasks++) {
    const abort = new AbortController()
    const later = (remaining: number): void =>
      remaining === 0 ? abort.abort(new Error('enough')) : queueMicrotask(() => later(remaining - 1))
    // The client serializes the metadata before it imports the tus library.
    const metadata = {
      toJSON() {
        later(microtasks)
        return {}
      },
    }
    const sending = openClient(world.url).files.upload(new Blob(['text']), {
      context: 'raw',
      filename: 'early.txt',
      metadata,
      resumable: true,
      signal: abort.signal,
    })
    await expect(sending).rejects.toThrow('enough')
  }
  expect(await countFiles()).toBe(before)
})

test('the client library throws an `unauthenticated` error if the API key is unknown', async () => {
  const sending = createClient({ baseUrl: world.url, apiKey: 'assay_wrong' }).files.upload(new Blob(['x']), {
    context: 'raw',
    filename: 'a.txt',
    resumable: true,
  })
  await expect(sending).rejects.toMatchObject({ code: 'unauthenticated', status: 401 })
})
