import { randomBytes } from 'node:crypto'
import { readdirSync, watch } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { createMultipartBody, type RawClient } from '../support/raw-client.js'
import { maxUploadMb, UploadWorld, uploadPath, waitUntilTrue } from '../support/upload-world.js'
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

/** Sends the headers of an upload with a declared body length. */
async function sendHeaders(caller: Caller | undefined, length: number, headers: Record<string, string | number> = {}) {
  const client = await uploads.connect()
  await client.head('POST', uploadPath, {
    ...(caller && { Authorization: toBearer(caller) }),
    'Content-Type': 'multipart/form-data; boundary=test-boundary',
    'Content-Length': length,
    ...headers,
  })
  return client
}

describe('upload checks before the body is read', () => {
  test.each([
    ['a missing credential', () => undefined, 401, 'unauthenticated'],
    ['an unknown key', () => uploads.world.createCaller('assay_unknown'), 401, 'unauthenticated'],
  ])('rejects an upload with %s without sending 100 Continue', async (_who, caller, status, code) => {
    const client = await sendHeaders(caller() as Caller, 3 * megabyte, { Expect: '100-continue' })
    expect(await client.readResponse()).toMatchObject({ status, body: { error: { code } }, headers: { connection: 'close' } })
    expect(await client.ended).toBe('end')
  })

  test('rejects an upload with a key that lacks the upload scope, and logs the call', async () => {
    const key = await tenant.createKey(['metadata'])
    const client = await sendHeaders(key, 3 * megabyte, { Expect: '100-continue' })
    expect(await client.readResponse()).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } })
    expect(await uploads.getLastUpload()).toMatchObject({ status: 'failure' })
  })

  test('rejects a Content-Length above MAX_UPLOAD_MB immediately if the client expects 100 Continue', async () => {
    const client = await sendHeaders(tenant.admin, (maxUploadMb + 1) * megabyte, { Expect: '100-continue' })
    expect(await client.readResponse()).toMatchObject({ status: 413, body: { error: { code: 'size_exceeded' } } })
    expect(client.rest).toBe('')
    expect(await client.ended).toBe('end')
  })

  test('returns the error to a client that sends an entire 50 MB body, instead of resetting the connection', async () => {
    const client = await sendHeaders(tenant.admin, 50 * megabyte)
    const chunk = randomBytes(megabyte)
    for (let sent = 0; sent < 50; sent++) await client.send(chunk)
    expect(await client.readResponse()).toMatchObject({ status: 413, body: { error: { code: 'size_exceeded' } } })
    expect(await client.ended).toBe('end')
    expect((await tenant.admin.get('/stats')).body.data.security.by_reason.size_exceeded).toBeGreaterThan(0)
  })

  test("rejects an upload larger than the tenant's remaining quota before reading the body", async () => {
    const small = await uploads.world.createTenant({ quotaMb: 1 })
    await small.createContext('notes', { max_file_size_mb: 1 })
    const client = await sendHeaders(small.admin, 2 * megabyte, { Expect: '100-continue' })
    expect(await client.readResponse()).toMatchObject({ status: 422, body: { error: { code: 'quota_exceeded' } } })
    expect((await small.admin.get('/stats/logs?operation=upload')).body.data.data).toMatchObject([{ status: 'failure' }])
  })

  test('sends 100 Continue for an upload with valid headers', async () => {
    const { body } = createMultipartBody([
      { name: 'context', content: 'notes' },
      { name: 'file', filename: 'a.txt', content: 'hello' },
    ])
    const client = await sendHeaders(tenant.admin, body.length, { Expect: '100-continue' })
    expect(await client.readResponse()).toMatchObject({ status: 100 })
    await client.send(body)
    expect(await client.readResponse()).toMatchObject({ status: 201 })
  })
})

describe('upload checks while the body is received', () => {
  const head = (context: boolean) =>
    createMultipartBody(
      [...(context ? [{ name: 'context', content: 'raw' }] : []), { name: 'file', filename: 'a.bin', content: '' }],
      {
        end: false,
      },
    ).body.subarray(0, -2)

  /** Starts an upload without a declared length. */
  async function startUpload(): Promise<RawClient> {
    const client = await uploads.connect()
    await client.head('POST', uploadPath, {
      Authorization: toBearer(tenant.admin),
      'Content-Type': 'multipart/form-data; boundary=test-boundary',
      'Transfer-Encoding': 'chunked',
    })
    return client
  }

  async function chunked(client: RawClient, bytes: Uint8Array): Promise<void> {
    await client.send(`${bytes.length.toString(16)}\r\n`)
    await client.send(bytes)
    await client.send('\r\n')
  }

  test.each([
    ["the context's limit", true, 3],
    ['the highest context limit if the context is not yet known', false, 6],
  ])('rejects a chunked upload that exceeds %s', async (_limit, context, size) => {
    const client = await startUpload()
    await chunked(client, head(context))
    for (let sent = 0; sent < size; sent++) await chunked(client, randomBytes(megabyte))
    expect(await client.readResponse()).toMatchObject({ status: 413, body: { error: { code: 'size_exceeded' } } })
    expect(await uploads.getLastUpload()).toMatchObject({ status: 'failure', context_key: context ? 'raw' : null })
  })

  test.each([
    ['before', true],
    ['after', false],
  ])('rejects a file that exceeds the size limit by one byte, with the context part %s the file', async (_place, first) => {
    const parts = (size: number) => {
      const context = { name: 'context', content: 'raw' }
      const file = { name: 'file', filename: 'a.bin', content: randomBytes(size) }
      return first ? [context, file] : [file, context]
    }
    expect(await uploads.send(parts(2 * megabyte))).toMatchObject({ status: 201, body: { data: { size_bytes: 2 * megabyte } } })
    expect(await uploads.send(parts(2 * megabyte + 1))).toMatchObject({
      status: 413,
      body: { error: { code: 'size_exceeded' } },
    })
  })

  test('returns a JSON error to a client that stops sending, and logs the call', async () => {
    const before = await uploads.countUploadCalls()
    const client = await sendHeaders(tenant.admin, 2 * megabyte)
    await client.send(head(true))
    await client.send(randomBytes(megabyte))
    expect(await client.readResponse()).toMatchObject({ status: 400, body: { error: { code: 'bad_user_input' } } })
    expect(await uploads.countUploadCalls()).toBe(before + 1)
  })

  test.each([
    ['resets the connection', 'in memory', (client: RawClient) => client.reset()],
    ['ends its side of the connection', 'in memory', (client: RawClient) => client.socket.end()],
    ['resets the connection', 'in a file', (client: RawClient) => client.reset()],
    ['ends its side of the connection', 'in a file', (client: RawClient) => client.socket.end()],
  ])('logs the call and stores no data if a client %s during an upload (%s)', async (_how, place, leave) => {
    const before = await uploads.countUploadCalls()
    const inFile = place === 'in a file'
    const client = inFile ? await startUpload() : await sendHeaders(tenant.admin, 2 * megabyte)
    for (const bytes of [head(true), randomBytes(megabyte)]) await (inFile ? chunked(client, bytes) : client.send(bytes))
    expect(await waitUntilTrue(() => !uploads.isQuiet() && uploads.listTemporaryFiles().length === (inFile ? 1 : 0))).toBe(true)
    leave(client)
    expect(await waitUntilTrue(uploads.isQuiet)).toBe(true)
    for (let tries = 0; (await uploads.countUploadCalls()) !== before + 1 && tries < 1000; tries++) await sleep(20)
    expect(await uploads.countUploadCalls()).toBe(before + 1)
    expect(await uploads.getLastUpload()).toMatchObject({ status: 'failure' })
  })

  test('uses a temporary file only for a large upload of unknown size', async () => {
    const observed: string[] = []
    const [folder] = readdirSync(join(uploads.world.dataDir, 'spool'))
    const watcher = watch(join(uploads.world.dataDir, 'spool', folder!), (_event, name) => observed.push(String(name)))
    try {
      for (const size of [64 * 1024, 2 * megabyte])
        expect(await tenant.admin.upload('raw', 'a.bin', randomBytes(size))).toMatchObject({ status: 201 })
      const announced = [...observed]
      const client = await startUpload()
      for (const bytes of [head(true), randomBytes(megabyte)]) await chunked(client, bytes)
      await chunked(client, Buffer.from('\r\n--test-boundary--\r\n'))
      await client.send('0\r\n\r\n')
      expect(await client.readResponse()).toMatchObject({ status: 201 })
      expect(await waitUntilTrue(() => observed.length > 0)).toBe(true)
      expect(announced).toEqual([])
    } finally {
      watcher.close()
    }
  })
})

describe('connections after an early response', () => {
  test('keeps the connection open after an early response if little of the body remains unread', async () => {
    const client = await sendHeaders(undefined, 10_000)
    expect(await client.readResponse()).toMatchObject({ status: 401 })
    await client.send(Buffer.alloc(10_000))
    await client.head('GET', '/health/live', {})
    expect(await client.readResponse()).toMatchObject({ status: 200, body: { status: 'live' } })
  })

  test('closes the connection after an early response if much of the body remains unread', async () => {
    const before = await uploads.countUploadCalls()
    const { type, body } = createMultipartBody([
      { name: 'context', content: 'notes' },
      { name: 'file', filename: 'a.txt', content: 'hello' },
    ])
    const client = await sendHeaders(undefined, 200_000)
    await client.send(Buffer.alloc(200_000))
    await client.head('POST', uploadPath, {
      Authorization: toBearer(tenant.admin),
      'Content-Type': type,
      'Content-Length': body.length,
    })
    await client.send(body)
    expect(await client.readResponse()).toMatchObject({ status: 401, headers: { connection: 'close' } })
    expect(await client.ended).toBe('end')
    expect(client.rest).toBe('')
    expect(await uploads.countUploadCalls()).toBe(before)
  })

  test('responds to two pipelined uploads in order', async () => {
    const client = await uploads.connect()
    for (const name of ['a.txt', 'b.exe']) {
      const { type, body } = createMultipartBody([
        { name: 'context', content: 'notes' },
        { name: 'file', filename: name, content: 'hello' },
      ])
      await client.head('POST', uploadPath, {
        Authorization: toBearer(tenant.admin),
        'Content-Type': type,
        'Content-Length': body.length,
      })
      await client.send(body)
    }
    expect((await client.readResponse()).status).toBe(201)
    expect((await client.readResponse()).status).toBe(422)
  })

  test('does not time out a client during a slow validation', async () => {
    // Queues enough validations that the last one waits longer than the client idle timeout.
    const responses = await Promise.all(
      Array.from({ length: 24 }, (_, at) => tenant.admin.upload('raw', `${at}.bin`, randomBytes(2 * megabyte))),
    )
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 201))
  })
})
