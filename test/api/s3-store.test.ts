import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { parseCommand, runCommand } from '../../src/cli/run-command.js'
import { readConfig } from '../../src/platform/config/config.js'
import { Lifecycle } from '../../src/platform/processes/lifecycle.js'
import { FakeS3 } from '../support/s3/fake-s3.js'
import { type TestTenant, World } from '../support/world.js'

let fakeS3: FakeS3
let env: Record<string, string>
let world: World
let tenant: TestTenant
beforeAll(async () => {
  fakeS3 = await FakeS3.start()
  env = {
    STORAGE_URL: `s3://blobs/files?endpoint=${encodeURIComponent(fakeS3.url)}&path_style=true`,
    S3_ACCESS_KEY_ID: 'id',
    S3_SECRET_ACCESS_KEY: 'secret',
  }
  world = await World.open(env)
  tenant = await world.createTenant()
  await tenant.createContext('notes', { scan_for_viruses: false })
})
afterEach(() => void Object.assign(fakeS3, { ignoresConditions: false, ignoresHashes: false }))
afterAll(async () => {
  await world?.close()
  await fakeS3.stop()
})

const runAdmin = async (...words: string[]) => {
  const lifecycle = new Lifecycle()
  const parts = {
    DATABASE_URL: world.databaseUrl,
    MASTER_KEY: world.config.masterKey!.toString('base64'),
    DATA_DIR: world.dataDir,
  }
  const config = readConfig({ ...parts, ...env })
  return runCommand(parseCommand(words), { config, lifecycle, print: () => {} }).finally(() => lifecycle.close())
}

test('serves and deletes an uploaded file in an S3 store', async () => {
  const uploaded = await tenant.admin.upload('notes', 'ä note.txt', 'some text')
  expect(uploaded.status).toBe(201)
  const id = uploaded.body.data.file_id as string
  const url = new URL((await tenant.admin.get(`/files/${id}`)).body.data.download_url)
  expect(Object.fromEntries(url.searchParams)).toMatchObject({
    'X-Amz-Expires': '300',
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'response-content-disposition': `attachment; filename="? note.txt"; filename*=UTF-8''%C3%A4%20note.txt`,
    'response-content-type': 'text/plain',
  })
  expect(await (await fetch(url)).text()).toBe('some text')
  const blob = [...fakeS3.objects.keys()].find((name) => name.startsWith(`files/${tenant.tenantId}/`))
  expect(blob).toBeDefined()
  expect((await tenant.admin.delete(`/files/${id}`)).status).toBe(200)
  expect((await runAdmin('sweep')).result).toMatchObject({ removed: 1, failed: 0, aborted_uploads: 0 })
  expect(fakeS3.objects.has(blob!)).toBe(false)
})

test('rejects a request for a single-use bucket URL', async () => {
  const id = (await tenant.admin.upload('notes', 'a.txt', 'some text')).body.data.file_id as string
  const { status, body } = await tenant.admin.get(`/files/${id}?once=true`)
  expect([status, body.error.details.fields[0].field]).toEqual([400, 'once'])
})

test('refuses to start with an object store that ignores conditional writes', async () => {
  fakeS3.ignoresConditions = true
  await expect(World.open(env)).rejects.toThrow("The bucket 'blobs' ignores write conditions and overwrites objects.")
})

test('refuses to start with an object store that does not verify checksums', async () => {
  fakeS3.ignoresHashes = true
  await expect(World.open(env)).rejects.toThrow("The bucket 'blobs' stores content that does not match its checksum.")
})

test('the `storage prove` command reports each guarantee and leaves no objects in the store', async () => {
  const before = [...fakeS3.objects.keys()].filter((name) => !name.endsWith('.assay/ready'))
  const { result, error } = await runAdmin('storage', 'prove')
  const { guarantees } = result as { guarantees: { guarantee: string; result: string; detail?: string }[] }
  expect(guarantees.filter((each) => each.result !== 'pass')).toEqual([])
  expect([guarantees.length, error]).toEqual([10, undefined])
  expect([...fakeS3.objects.keys()].filter((name) => !name.endsWith('.assay/ready'))).toEqual(before)
})

test('the `storage prove` command fails if the store does not verify checksums', async () => {
  fakeS3.ignoresHashes = true
  const { result, error } = await runAdmin('storage', 'prove')
  const { guarantees } = result as { guarantees: { guarantee: string; result: string; detail?: string }[] }
  expect(guarantees.find(({ guarantee }) => guarantee.includes('checksum'))).toMatchObject({
    result: 'fail',
    detail: 'The store accepted content with an incorrect checksum.',
  })
  expect(error).toMatch(/^The store does not meet \d+ of the 10 required guarantees\.$/)
})
