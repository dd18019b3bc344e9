import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import {
  type AssayClient,
  AssayError,
  createClient,
  getLinkRules,
  isAssayError,
  uploadTo,
} from '../../packages/client/src/index.js'
import { BreakingProxy } from '../support/breaking-proxy.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let client: AssayClient
let proxy: BreakingProxy
let folder: string

beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('inbox', { allowed_extensions: ['bin', 'txt'], max_file_size_mb: 40, scan_for_viruses: false })
  client = createClient({ baseUrl: world.url, apiKey: tenant.admin.credential! })
  proxy = await BreakingProxy.open(world.url)
  folder = await mkdtemp(join(tmpdir(), 'assay-upload-to-'))
})
afterAll(async () => {
  proxy.close()
  await world.close()
  await rm(folder, { recursive: true, force: true })
})

const createLink = (more: object = {}) => client.createUploadLink({ context: 'inbox', max_files: 10, ...more })
const throughProxy = (url: string) => url.replace(world.url, proxy.url)
const getFailure = (call: Promise<unknown>): Promise<AssayError> =>
  call.then(
    () => expect(undefined).toBe('a rejected promise'),
    (error) => error,
  ) as Promise<AssayError>
const downloadContent = async (fileId: string) => Buffer.from(await (await client.files.download(fileId)).arrayBuffer())

test('uploadTo uploads a path, a Blob, bytes and a stream through a link', async () => {
  const { url } = await createLink()
  const path = join(folder, 'résumé & co.txt')
  await writeFile(path, 'from a disk')
  const sources = [
    [path, {}, 'résumé & co.txt', 'from a disk'],
    [new File(['from a file'], 'file.txt'), {}, 'file.txt', 'from a file'],
    [new TextEncoder().encode('from bytes'), { filename: 'bytes.txt' }, 'bytes.txt', 'from bytes'],
    [new Blob(['from a stream']).stream(), { filename: 'stream.txt' }, 'stream.txt', 'from a stream'],
  ] as const
  for (const [source, options, original_filename, content] of sources) {
    const steps: unknown[] = []
    const file = await uploadTo(url, source, { ...options, onProgress: (progress) => steps.push(progress) })
    expect(file).toMatchObject({ original_filename, size_bytes: content.length, context_key: 'inbox' })
    expect((await downloadContent(file.file_id)).toString()).toBe(content)
    const total = original_filename === 'stream.txt' ? undefined : content.length
    expect(steps.at(-1)).toEqual({ sent: content.length, total })
  }
})

test('uploadTo ignores the query and the fragment of a link URL', async () => {
  const { url } = await createLink()
  const source = new File(['through a mail'], 'mail.txt')
  for (const resumable of [false, true])
    expect(await uploadTo(`${url}?utm_source=mail#top`, source, { resumable })).toMatchObject({ original_filename: 'mail.txt' })
})

test('stores the metadata that uploadTo sends with both small and resumable uploads', async () => {
  const { url } = await createLink({ metadata: { order: 7 } })
  for (const resumable of [false, true]) {
    const { file_id } = await uploadTo(url, new File(['text'], 'a.txt'), { metadata: { page: 1 }, resumable })
    expect((await client.files.get(file_id)).metadata).toEqual({ page: 1, order: 7 })
  }
})

test("uploadTo rejects a file that violates the link's rules, and does not send it", async () => {
  const { url, link_id } = await createLink({ allowed_extensions: ['txt'], max_size_mb: 1 })
  expect(await getLinkRules(url)).toMatchObject({ allowed_extensions: ['txt'], max_size_mb: 1, remaining: 10 })
  const wrongType = await getFailure(uploadTo(url, new File(['x'], 'a.BIN')))
  if (!isAssayError(wrongType, 'invalid_extension')) throw wrongType
  expect(wrongType.details).toEqual({ extension: 'bin', allowed: ['txt'] })
  expect(await getFailure(uploadTo(url, new File(['x'], 'README')))).toMatchObject({ code: 'invalid_extension' })
  const tooLarge = new File([new Uint8Array(1_048_577)], 'a.txt')
  expect(await getFailure(uploadTo(url, tooLarge))).toMatchObject({ code: 'size_exceeded', status: 413 })
  expect(await client.uploadLinks.get(link_id)).toMatchObject({ accepted_files: 0, rejected_files: 0 })
})

test('uploadTo throws an error with the request id if the service rejects the file', async () => {
  const { url } = await createLink()
  const blank = await getFailure(uploadTo(url, new File([' '], 'a.txt')))
  expect(blank).toBeInstanceOf(AssayError)
  expect(blank).toMatchObject({ code: 'blank_file', status: 422, requestId: expect.stringMatching(/^req_/) })
})

test('uploadTo throws a `not_found` error if the link is revoked', async () => {
  const { url, link_id } = await createLink()
  await client.uploadLinks.revoke(link_id)
  expect(await getFailure(uploadTo(url, new File(['x'], 'a.txt')))).toMatchObject({ code: 'not_found', status: 404 })
})

test('uploadTo retries an upload after a lost response, and the file is stored only once', async () => {
  const { url, link_id } = await createLink({ max_files: 1 })
  let lostResponses = 0
  const losing: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    if (init?.method !== 'PUT' || lostResponses > 0) return response
    lostResponses++
    throw new TypeError('The connection was lost.')
  }
  const file = await uploadTo(url, new File(['once'], 'a.txt'), { fetch: losing })
  expect((await downloadContent(file.file_id)).toString()).toBe('once')
  expect(await client.uploadLinks.get(link_id)).toMatchObject({ status: 'used', accepted_files: 1 })
})

test('uploadTo uploads a file larger than 16 MB in parts', async () => {
  const content = randomBytes(17 * 1_048_576)
  const { url } = await createLink()
  proxy.breakAfter(3_000_000, 5_000_000)
  const steps: number[] = []
  const file = await uploadTo(throughProxy(url), new Blob([content]), {
    filename: 'large.bin',
    onProgress: ({ sent }) => steps.push(sent),
  })
  expect(proxy.broken).toBe(2)
  expect((await downloadContent(file.file_id)).equals(content)).toBe(true)
  expect(steps.at(-1)).toBe(content.length)
  expect(Math.max(...steps.slice(1).map((sent, index) => sent - steps[index]!))).toBeLessThan(2_000_000)
})

test('uploadTo resumes an aborted upload from the last received byte', async () => {
  const content = randomBytes(20 * 1_048_576)
  const { url, link_id } = await createLink({ max_files: 1 })
  const abort = new AbortController()
  let uploadUrl = ''
  const first = uploadTo(url, new File([content], 'a.bin'), {
    signal: abort.signal,
    onUploadUrl: (created) => (uploadUrl = created),
    onProgress: ({ sent }) => sent > 9 * 1_048_576 && abort.abort(new Error('paused')),
  })
  await expect(first).rejects.toThrow('paused')
  const steps: number[] = []
  const resume = () =>
    uploadTo(url, new File([content], 'a.bin'), { resumeFrom: uploadUrl, onProgress: ({ sent }) => steps.push(sent) })
  const file = await resume()
  expect(steps[0]).toBeGreaterThanOrEqual(8 * 1_048_576)
  expect((await downloadContent(file.file_id)).equals(content)).toBe(true)
  expect(await resume()).toEqual(file)
  expect(await client.uploadLinks.get(link_id)).toMatchObject({ accepted_files: 1, rejected_files: 0 })
})

test('uploadTo starts a new upload if the upload to resume no longer exists', async () => {
  const { url } = await createLink()
  const resumeFrom = `${url}/tus/upl_00000000000000000000000000`
  const file = await uploadTo(url, new File(['text'], 'a.txt'), { resumeFrom })
  expect((await downloadContent(file.file_id)).toString()).toBe('text')
})

test('uploadTo sends no file if the signal is aborted before or during the rule check', async () => {
  const { url, link_id } = await createLink()
  const file = new File(['x'], 'a.txt')
  await expect(uploadTo(url, file, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
  for (const resumable of [false, true]) {
    const abort = new AbortController()
    const aborting: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      abort.abort(new Error('enough'))
      return response
    }
    await expect(uploadTo(url, file, { signal: abort.signal, fetch: aborting, resumable })).rejects.toThrow('enough')
  }
  expect(await client.uploadLinks.get(link_id)).toMatchObject({ accepted_files: 0 })
})

test('uploadTo names the invalid path or link in its error', async () => {
  const { url } = await createLink()
  await expect(uploadTo(url, join(folder, 'missing.txt'))).rejects.toThrow('missing.txt')
  await expect(uploadTo(url, folder)).rejects.toThrow(`'${folder}' is not a file.`)
  await expect(uploadTo('upload/ulk_1', new File(['x'], 'a.txt'))).rejects.toThrow("'upload/ulk_1'")
})
