import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { RawClient } from '../support/raw-client.js'
import { toStatusAndCode } from '../support/response-assertions.js'
import { encodeUploadMetadata, Tus, tusHeaders } from '../support/tus.js'
import { UploadWorld } from '../support/upload-world.js'

let uploads: UploadWorld
let tus: Tus
beforeAll(async () => {
  uploads = await UploadWorld.open()
  tus = new Tus(uploads.tenant.admin)
})
afterEach(async () => expect(await uploads.disconnectAll()).toBe(true))
afterAll(() => uploads.close())

const auth = () => ({ Authorization: `Bearer ${uploads.tenant.admin.credential}` })
const fileId = async (path: string) => (await tus.head(path)).headers.get('assay-file-id')
const startUpload = () => tus.begin('raw', 'a.bin', 2_000_000)

/** Sends part of a PATCH body and resolves when the service has stored it. */
async function sendUnended(path: string, headers: Record<string, string | number>, bytes: Buffer | string): Promise<RawClient> {
  const client = await uploads.connect()
  const received = once(uploads.world.app.httpServer, 'request')
  await client.head('PATCH', path, { ...auth(), ...tusHeaders.bytes, ...headers })
  await client.send(bytes)
  const [request] = (await received) as [IncomingMessage]
  // The body exceeds socket buffers, so only the request that holds the upload lock reads it completely.
  while (request.socket.bytesRead < client.socket.bytesWritten || request.readableLength > 0) await nextTurn()
  await nextTurn()
  return client
}

describe('malformed resumable upload requests', () => {
  test.each([
    ['a wrong offset', 5, {}, 409],
    ['a negative offset', '-1', {}, 400],
    ['a fractional offset', '0.5', {}, 400],
    ['an offset above all limits', '99999999999999999999', {}, 400],
    ['an offset in another notation', '0x0', {}, 400],
    ['no offset', 0, { 'upload-offset': undefined }, 400],
    ['another content type', 0, { 'content-type': 'application/octet-stream' }, 415],
    ['no content type', 0, { 'content-type': undefined }, 415],
    ['another version', 0, { 'tus-resumable': '0.2.2' }, 412],
    ['no version', 0, { 'tus-resumable': undefined }, 412],
    ['a length that was already declared', 0, { 'upload-length': '2000000' }, 400],
    ['a length that is not a number', 0, { 'upload-length': 'many' }, 400],
    ['a compressed body', 0, { 'content-encoding': 'gzip' }, 415],
    ['more bytes than remain', 0, { body: 'x'.repeat(2_000_001) }, 400],
  ] as [string, number | string, Record<string, string | undefined>, number][])(
    'rejects a PATCH with %s without changing the upload',
    async (_what, offset, { body = 'text', ...headers }, status) => {
      const path = await startUpload()
      const response = await tus.patch(path, offset, body, headers)
      expect(response.status).toBe(status)
      expect(response.body).toMatchObject({ status: 'ERROR', error: { code: expect.any(String) } })
      expect(response.headers.get('tus-resumable')).toBe('1.0.0')
      if (status === 412) expect(response.headers.get('tus-version')).toBe('1.0.0')
      expect(await tus.getOffset(path)).toBe(0)
      expect((await tus.delete(path)).status).toBe(204)
    },
  )

  test.each([
    ['no length', { 'upload-length': undefined }],
    ['a length and a deferred length', { 'upload-defer-length': '1' }],
    ['an invalid deferred length', { 'upload-length': undefined, 'upload-defer-length': '2' }],
    ['a negative length', { 'upload-length': '-5' }],
    ['a length above all limits', { 'upload-length': '9007199254740993' }],
    ['a concatenation header', { 'upload-concat': 'final;/api/v1/uploads/a /api/v1/uploads/b' }],
    ['metadata that is not base64', { 'upload-metadata': 'filename ???' }],
    ['a duplicate metadata key', { 'upload-metadata': 'filename YQ==,filename YQ==' }],
    [
      'metadata that is not JSON',
      { 'upload-metadata': encodeUploadMetadata({ filename: 'a.bin', context: 'raw', metadata: '{' }) },
    ],
    [
      'metadata with a number that loses digits',
      { 'upload-metadata': encodeUploadMetadata({ filename: 'a.bin', context: 'raw', metadata: '{"n":12345678901234567890}' }) },
    ],
    ['no metadata', { 'upload-metadata': undefined }],
    ['an invalid Idempotency-Key', { 'idempotency-key': 'x'.repeat(256) }],
  ] as [string, Record<string, string | undefined>][])(
    'rejects the creation of a resumable upload with %s',
    async (_what, headers) => {
      expect(toStatusAndCode(await tus.create('raw', 'a.bin', 10, headers))).toEqual([400, 'bad_user_input'])
    },
  )

  test('rejects oversized upload metadata before reading it', async () => {
    const client = await uploads.connect()
    await client.head('POST', '/api/v1/uploads', {
      ...auth(),
      'Tus-Resumable': '1.0.0',
      'Upload-Metadata': `filename ${'A'.repeat(20_000)}`,
    })
    expect((await client.readResponse()).status).toBe(431)
  })

  test('rejects an unsupported upload method and a malformed upload id', async () => {
    expect((await uploads.tenant.admin.rest('PUT', '/uploads')).headers.get('allow')).toBe('OPTIONS, POST')
    for (const id of ['x', '..%2f..%2fetc', '%00', 'upl_', `upl_${'0'.repeat(27)}`, "upl_'--", '%F0%9F%92%A9'])
      expect([id, (await tus.patch(`/api/v1/uploads/${id}`, 0, 'text')).status]).toEqual([id, 404])
    expect((await tus.patch('/api/v1/uploads/%ff', 0, 'text')).status).toBe(400)
    expect((await uploads.tenant.admin.post('/uploads/', {})).status).toBe(404)
  })
})

test('lets X-HTTP-Method-Override change only POST requests, and only to PATCH or DELETE', async () => {
  const path = (await tus.begin('raw', 'b.bin', 4)).replace('/api/v1', '')
  const post = (method: string) =>
    uploads.tenant.admin.rest('POST', path, 'text', { ...tusHeaders.bytes, 'x-http-method-override': method })
  expect(toStatusAndCode(await post('GET'))).toEqual([400, 'bad_user_input'])
  expect((await post('PATCH')).headers.get('assay-file-id')).toMatch(/^file_/)
  expect((await post('DELETE')).status).toBe(204)
  expect((await tus.head(`/api/v1${path}`)).status).toBe(404)
})

test('accepts one of two concurrent PATCH requests and rejects the other with a conflict', async () => {
  for (let rounds = 0; rounds < 5; ) {
    const path = await tus.begin('raw', 'race.bin', 200_000)
    const contents = [randomBytes(200_000), randomBytes(200_000)]
    const responses = await Promise.all(contents.map((content) => tus.patch(path, 0, content)))
    // Both PATCH requests may return a conflict if one of them stalls for a second and is taken over.
    if (responses.every(({ status }) => status === 409)) continue
    rounds++
    expect(responses.map(({ status }) => status)).toContain(204)
    const id = await fileId(path)
    // The later PATCH request receives a conflict or the verdict.
    for (const response of responses)
      expect([response.status, response.status === 204 ? response.headers.get('assay-file-id') : id]).toEqual([
        expect.any(Number),
        id,
      ])
    const { download_url: url } = (await uploads.tenant.admin.get(`/files/${id}`)).body.data
    const stored = Buffer.from(await (await fetch(url)).arrayBuffer())
    expect(contents.some((content) => content.equals(stored))).toBe(true)
  }
})

test('keeps the bytes received before a connection stalls, and continues the upload in a new request', async () => {
  const path = await startUpload()
  const calls = () => uploads.countUploadCalls()
  const before = await calls()
  const dead = await sendUnended(path, { 'Content-Length': 2_000_000 }, Buffer.alloc(1_300_000, 'x'))
  expect(await tus.getOffset(path)).toBe(1_300_000)
  const reported = await dead.readResponse()
  expect([reported.status, reported.body.error.details]).toEqual([409, { resumable: true }])
  expect((await tus.patch(path, 1_300_000, Buffer.alloc(700_000, 'y'))).headers.get('assay-file-id')).toMatch(/^file_/)
  expect(await calls()).toBe(before + 1)
})

test('stores the received bytes and responds if a client stops sending', async () => {
  const path = await startUpload()
  const slow = await uploads.connect()
  await slow.head('PATCH', path, { ...auth(), ...tusHeaders.bytes, 'Content-Length': 2_000_000 })
  await slow.send(Buffer.alloc(100_000, 'x'))
  const response = await slow.readResponse()
  expect([response.status, response.body.error.code, response.body.error.details]).toEqual([409, 'conflict', { resumable: true }])
  expect(await tus.getOffset(path)).toBe(100_000)
})

test('stores the bytes received from a client that disconnects, but logs no call', async () => {
  const path = await startUpload()
  const before = await uploads.countUploadCalls()
  const disconnected = await sendUnended(path, { 'Transfer-Encoding': 'chunked' }, `13d620\r\n${'x'.repeat(1_300_000)}\r\n`)
  disconnected.destroy()
  expect(await tus.getOffset(path)).toBe(1_300_000)
  expect(await uploads.countUploadCalls()).toBe(before)
})

test('rejects a chunked body that exceeds the upload length and stores none of its bytes', async () => {
  const path = await tus.begin('raw', 'long.bin', 10)
  const sender = await uploads.connect()
  await sender.head('PATCH', path, { ...auth(), ...tusHeaders.bytes, 'Transfer-Encoding': 'chunked' })
  await sender.send(`b\r\n${'x'.repeat(11)}\r\n0\r\n\r\n`)
  expect((await sender.readResponse()).status).toBe(400)
  expect(await tus.getOffset(path)).toBe(0)
})

test('rejects a PATCH that extends past the upload length, but accepts a retry of the last PATCH', async () => {
  const path = await tus.begin('raw', 'done.bin', 10)
  const last = await tus.patch(path, 0, '0123456789')
  const id = last.headers.get('assay-file-id')
  expect(id).toMatch(/^file_/)
  const chunked = async (offset: number, bytes: string) => {
    const client = await uploads.connect()
    await client.head('PATCH', path, { ...auth(), ...tusHeaders.bytes, 'upload-offset': offset, 'Transfer-Encoding': 'chunked' })
    await client.send(`${bytes.length.toString(16)}\r\n${bytes}\r\n0\r\n\r\n`)
    return (await client.readResponse()).status
  }
  for (const [offset, bytes] of [
    [10, 'x'],
    [0, 'x'.repeat(11)],
    [4, 'x'.repeat(1_000_000)],
  ] as const) {
    const response = await tus.patch(path, offset, bytes)
    expect([toStatusAndCode(response), response.body.error.details.fields[0].field]).toEqual([[400, 'bad_user_input'], 'body'])
    expect(await chunked(offset, bytes)).toBe(400)
  }
  expect(toStatusAndCode(await tus.patch(path, 11, ''))).toEqual([409, 'conflict'])
  for (const offset of [0, 4, 10]) {
    const repeated = await tus.patch(path, offset, '0123456789'.slice(offset))
    expect([repeated.status, repeated.headers.get('assay-file-id')]).toEqual([204, id])
  }
  expect(await chunked(4, '456789')).toBe(204)
  expect(await fileId(path)).toBe(id)
})

test('validates the credential and scopes of a PATCH before reading its body', async () => {
  const path = await startUpload()
  for (const authorization of ['Bearer assay_wrong', `Bearer ${(await uploads.tenant.createKey(['metadata'])).credential}`]) {
    const client = await uploads.connect()
    await client.head('PATCH', path, {
      Authorization: authorization,
      ...tusHeaders.bytes,
      'Content-Length': 2_000_000,
      Expect: '100-continue',
    })
    expect([401, 403]).toContain((await client.readResponse()).status)
  }
  const good = await uploads.connect()
  await good.head('PATCH', path, { ...auth(), ...tusHeaders.bytes, 'Content-Length': 4, Expect: '100-continue' })
  expect((await good.readResponse()).status).toBe(100)
  await good.send('text')
  expect((await good.readResponse()).status).toBe(204)
})

test('does not create a file for an upload whose deferred length is never declared', async () => {
  const path = await tus.begin('raw', 'never.bin', null)
  for (let at = 0; at < 3; at++) expect((await tus.patch(path, at * 4, 'text')).status).toBe(204)
  expect(await fileId(path)).toBeNull()
  expect((await tus.get(path)).body.data).toMatchObject({ size_bytes: null, received_bytes: 12, file: null })
  expect(toStatusAndCode(await tus.patch(path, 12, '', { 'upload-length': '11' }))).toEqual([400, 'bad_user_input'])
})

test('does not allow pages on other origins to read the headers of resumable uploads', async () => {
  const response = await tus.options('/api/v1/uploads', { origin: 'https://elsewhere.example' })
  expect(response.headers.get('access-control-allow-origin')).toBeNull()
  const fromForeignOrigin = await tus.create('raw', 'a.bin', 4, { origin: 'https://elsewhere.example' })
  expect(fromForeignOrigin.headers.get('access-control-allow-origin')).toBeNull()
  expect(fromForeignOrigin.headers.get('access-control-expose-headers')).toBeNull()
})
