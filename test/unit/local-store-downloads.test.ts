import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import express from 'express'
import { toPublicError } from '../../src/access/public-error.js'
import { createDownloadRequestHandler, type ServedFile } from '../../src/api/http/downloads.js'
import { httpStatus } from '../../src/platform/errors/errors.js'
import { newId } from '../../src/platform/ids.js'
import { LocalStorage } from '../../src/platform/storage/local/local.js'
import { DownloadUrls } from '../../src/platform/storage/signed-url.js'
import { inMemory, noise } from '../contract/contents.js'

const secret = { id: 'sig_1', secret: Buffer.alloc(32, 1) }
const secrets = { getCurrentKey: async () => secret, findKey: async () => secret }
const type = { contentType: 'application/octet-stream' }

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'assay-local-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

const open = () => LocalStorage.open(root, new DownloadUrls('http://127.0.0.1', secrets))

describe('local store downloads', () => {
  const bytes = noise(100_000)
  const fileId = newId('file')
  let server: Server
  let store: LocalStorage
  let file: ServedFile | null
  const others = new Map<string, ServedFile>()
  let base: string

  beforeEach(async () => {
    store = await open()
    await store.put('t/c/x', inMemory(bytes), type)
    file = {
      path: 't/c/x',
      originalFilename: 'Straße "1"; \u{1f600}\u202etxt.html',
      contentType: 'text/html',
      sizeBytes: bytes.length,
      checksum: `sha256:${inMemory(bytes).sha256}`,
      createdAt: new Date('2026-11-20T10:00:00.500Z'),
    }
    const app = express()
    app.get(
      '/download/:fileId',
      createDownloadRequestHandler({
        storage: store,
        findFile: async (signed) => (signed.fileId === fileId ? file : (others.get(signed.fileId) ?? null)),
        markUrlAsUsed: async () => {},
        watchAvailability: () => () => {},
      }),
    )
    app.use(((error, _request, response, _next) => {
      const { code, message } = toPublicError(error)
      response.status(httpStatus[code]).json({ error: { code }, message })
    }) satisfies express.ErrorRequestHandler)
    server = createServer(app)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterEach(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  async function get(headers: Record<string, string> = {}, method = 'GET', seconds = 300) {
    const url = new URL(
      await store.urls.sign({ tenantId: newId('ten'), by: newId('key'), fileId: fileId, expiresInSeconds: seconds }),
    )
    const response = await fetch(base + url.pathname + url.search, { method, headers: { connection: 'close', ...headers } })
    return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) }
  }

  test('serves a complete file as an attachment that browsers do not execute', async () => {
    const { status, headers, body } = await get()
    expect(status).toBe(200)
    expect(body.equals(bytes)).toBe(true)
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/html',
      'content-length': '100000',
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      'accept-ranges': 'bytes',
      'last-modified': 'Fri, 20 Nov 2026 10:00:00 GMT',
      etag: `"${inMemory(bytes).sha256}"`,
    })
    const disposition = headers.get('content-disposition') as string
    expect(disposition).toMatch(/^attachment; filename="/)
    expect(disposition).toContain(`filename*=UTF-8''Stra%C3%9Fe%20%221%22%3B%20%F0%9F%98%80%E2%80%AEtxt.html`)
  })

  test('returns the headers of a download without a body for a HEAD request', async () => {
    const { status, headers, body } = await get({}, 'HEAD')
    expect([status, headers.get('content-length'), headers.get('etag'), body.length]).toEqual([
      200,
      '100000',
      `"${inMemory(bytes).sha256}"`,
      0,
    ])
  })

  test.each([
    ['bytes=0-0', 0, 1],
    ['bytes=10-19', 10, 20],
    ['bytes=99999-', 99999, 100000],
    ['bytes=-5', 99995, 100000],
    ['bytes=99990-200000', 99990, 100000],
  ])('downloads the range %s', async (range, start, end) => {
    const { status, headers, body } = await get({ range })
    expect([status, headers.get('content-range'), headers.get('content-length')]).toEqual([
      206,
      `bytes ${start}-${end - 1}/100000`,
      String(end - start),
    ])
    expect(body.equals(bytes.subarray(start, end))).toBe(true)
  })

  test('rejects a range outside the file with status 416 and the file size', async () => {
    const { status, headers, body } = await get({ range: 'bytes=100000-' })
    expect([status, headers.get('content-range')]).toEqual([416, 'bytes */100000'])
    expect(headers.get('content-disposition')).toBeNull()
    expect(headers.get('etag')).not.toBe((await get()).headers.get('etag'))
    expect(JSON.parse(body.toString())).toMatchObject({ status: 'ERROR', error: { code: 'bad_user_input' } })
  })

  test('supports conditional download requests', async () => {
    const etag = `"${inMemory(bytes).sha256}"`
    const part = { range: 'bytes=0-9' }
    const status = async (headers: Record<string, string>) => (await get(headers)).status
    expect(await status({ 'if-none-match': etag })).toBe(304)
    expect(await status({ 'if-none-match': `W/${etag}, "x"` })).toBe(304)
    expect(await status({ 'if-none-match': '"other"' })).toBe(200)
    expect(await status({ 'if-modified-since': 'Fri, 20 Nov 2026 10:00:00 GMT' })).toBe(304)
    expect(await status({ 'if-modified-since': 'Fri, 20 Nov 2026 09:59:59 GMT' })).toBe(200)
    expect(await status({ ...part, 'if-range': etag })).toBe(206)
    expect(await status({ ...part, 'if-range': '"other"' })).toBe(200)
    expect(await status({ ...part, 'if-range': 'Fri, 20 Nov 2026 10:00:00 GMT' })).toBe(206)
    expect(await status({ 'if-match': '"other"' })).toBe(412)
    expect(await status({ 'if-match': etag })).toBe(200)
  })

  test('returns 403 for an invalid download URL and 404 for a deleted file', async () => {
    expect((await get({}, 'GET', -10)).status).toBe(403)
    const forged = await fetch(`${base}/download/${fileId}?expires=9999999999&key=sig_1&signature=${'A'.repeat(43)}`, {
      headers: { connection: 'close' },
    })
    expect([forged.status, await forged.json()]).toMatchObject([403, { error: { code: 'forbidden' } }])
    file = null
    expect((await get()).status).toBe(404)
    expect(await store.urls.sign({ tenantId: newId('ten'), by: newId('key'), fileId: fileId, expiresInSeconds: 300 })).toMatch(
      /^http:\/\/127\.0\.0\.1\/download\//,
    )
  })

  test('never serves a file whose blob is missing or truncated', async () => {
    await writeFile(store.getFilePath('t/c/x'), 'cut')
    expect((await get()).status).toBe(503)
    await rm(store.getFilePath('t/c/x'))
    expect((await get()).status).toBe(503)
  })

  test('never serves a file whose blob has grown', async () => {
    for (const size of [1_000, 100_000]) {
      await writeFile(store.getFilePath('t/c/x'), noise(size + 1))
      file = { ...(file as ServedFile), sizeBytes: size }
      expect((await get()).status).toBe(503)
    }
  })

  test('sends the correct bytes to slow and disconnecting clients', async () => {
    const contents = Array.from({ length: 4 }, (_, at) => noise(2_000_000 + at))
    const ids = contents.map(() => newId('file'))
    for (const [at, content] of contents.entries()) {
      await store.put(`t/c/${at}`, inMemory(content), type)
      others.set(ids[at]!, { ...file!, path: `t/c/${at}`, sizeBytes: content.length })
    }
    const readSlowly = async (id: string, leaves: boolean) => {
      const url = new URL(await store.urls.sign({ tenantId: newId('ten'), by: newId('key'), fileId: id, expiresInSeconds: 300 }))
      const response = await fetch(base + url.pathname + url.search, { headers: { connection: 'close' } })
      const chunks: Uint8Array[] = []
      for await (const chunk of response.body!) {
        chunks.push(chunk)
        if (leaves) break
        await new Promise((turn) => setImmediate(turn))
      }
      return Buffer.concat(chunks)
    }
    for (let round = 0; round < 5; round++) {
      const reads = ids.flatMap((id) => [readSlowly(id, true), readSlowly(id, false)])
      const read = await Promise.all(reads)
      for (const [at, content] of contents.entries()) expect(read[2 * at + 1]!.equals(content)).toBe(true)
    }
  })

  test('downloads an empty file', async () => {
    await store.put('t/c/empty', inMemory(Buffer.alloc(0)), type)
    file = { ...(file as ServedFile), path: 't/c/empty', sizeBytes: 0n }
    const { status, headers, body } = await get()
    expect([status, headers.get('content-length'), body.length]).toEqual([200, '0', 0])
  })

  test('leaves no open file if a client disconnects during a download', async () => {
    await store.put('t/c/large', inMemory(noise(20_000_000)), type)
    file = { ...(file as ServedFile), path: 't/c/large', sizeBytes: 20_000_000 }
    const url = new URL(
      await store.urls.sign({ tenantId: newId('ten'), by: newId('key'), fileId: fileId, expiresInSeconds: 300 }),
    )
    await new Promise<void>((resolve) => {
      const request = httpRequest(base + url.pathname + url.search, (response) => {
        response.once('data', () => request.destroy())
        response.once('close', () => resolve())
        response.on('error', () => {})
      })
      request.on('error', () => {}).end()
    })
    const isOpen = async () => {
      const links = await readdir('/proc/self/fd').catch(() => [])
      const files = await Promise.all(links.map((link) => stat(`/proc/self/fd/${link}`).catch(() => null)))
      const { ino } = await stat(store.getFilePath('t/c/large'))
      return files.some((each) => each?.ino === ino)
    }
    while (await isOpen()) await new Promise((resolve) => setTimeout(resolve, 10))
  })
})
