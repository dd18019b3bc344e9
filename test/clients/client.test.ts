import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type AssayClient, AssayError, createClient, isAssayError } from '../../packages/client/src/index.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let client: AssayClient
let folder: string

beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('notes', { allowed_extensions: ['txt'], max_file_size_mb: 5 })
  client = createClient({ baseUrl: `${world.url}/`, apiKey: tenant.admin.credential! })
  folder = await mkdtemp(join(tmpdir(), 'assay-client-'))
})
afterAll(async () => {
  await world.close()
  await rm(folder, { recursive: true, force: true })
})

const getFailure = async (call: Promise<unknown>): Promise<AssayError> => {
  const error = await call.then(
    () => new Error('The call succeeded.'),
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(AssayError)
  return error as AssayError
}

describe('client library uploads', () => {
  test('the client library uploads a path, a Blob, a File, bytes and a stream', async () => {
    const path = join(folder, 'from-disk.txt')
    await writeFile(path, 'from a disk')
    const blob = new Blob(['from a blob'])
    const stream = new Blob(['from a stream']).stream()
    const sources = [
      [path, undefined, 'from-disk.txt', 'from a disk'],
      [blob, 'blob.txt', 'blob.txt', 'from a blob'],
      [new File(['from a file'], 'file.txt'), undefined, 'file.txt', 'from a file'],
      [new TextEncoder().encode('from bytes'), 'bytes.txt', 'bytes.txt', 'from bytes'],
      [stream, 'stream.txt', 'stream.txt', 'from a stream'],
    ] as const
    for (const [source, filename, name, content] of sources) {
      const file = await client.files.upload(source, { context: 'notes', metadata: { page: 1 }, ...(filename && { filename }) })
      expect(file).toMatchObject({ original_filename: name, size_bytes: content.length })
      expect(await client.files.get(file.file_id)).toMatchObject({ metadata: { page: 1 } })
      expect(await (await client.files.download(file.file_id)).text()).toBe(content)
    }
  })

  test('the client library reports the progress of an upload in bytes', async () => {
    const size = 3_000_000
    const steps: number[] = []
    const name = 'a näme.txt'
    const file = await client.files.upload(new Blob(['x'.repeat(size)]), {
      context: 'notes',
      filename: name,
      onProgress: ({ sent, total }) => {
        expect(total).toBe(size)
        steps.push(sent)
      },
    })
    expect(file).toMatchObject({ size_bytes: size, original_filename: name })
    expect(steps).toEqual([...steps].sort((a, b) => a - b))
    expect(steps.at(-1)).toBe(size)
  })

  test('throws an error before the first request if the source has no name', async () => {
    await expect(client.files.upload(new Blob(['x']), { context: 'notes' })).rejects.toThrow(/Set `filename`/)
  })

  test('throws an error with the code, typed details and request id for a rejected file', async () => {
    const error = await getFailure(client.files.upload(new File(['x'], 'a.exe'), { context: 'notes' }))
    expect(error).toMatchObject({ status: 422, code: 'invalid_extension', requestId: expect.stringMatching(/^req_/) })
    if (!isAssayError(error, 'invalid_extension')) throw error
    expect(error.details.allowed).toEqual(['txt'])
  })

  test("the client library's `validate` method returns a dry-run report", async () => {
    const report = await client.files.validate(new File([' '], 'a.txt'), { context: 'notes' })
    expect(report).toMatchObject({ outcome: 'rejected', reason: 'blank_file' })
  })

  test('stores no file if an upload by the client library is aborted', async () => {
    const before = (await client.files.list()).pagination.total_items
    const reason = new Error('changed my mind')
    const options = { context: 'notes', filename: 'a.txt', signal: AbortSignal.abort(reason) }
    await expect(client.files.upload(new Blob(['x']), options)).rejects.toBe(reason)
    expect((await client.files.list()).pagination.total_items).toBe(before)
  })
})

test('the client library supports contexts, API keys, statistics, logs and the tenant', async () => {
  const context = { context_key: 'sdk', display_name: 'SDK', allowed_extensions: ['txt'], max_file_size_mb: 1 }
  expect(await client.contexts.create(context)).toMatchObject(context)
  expect(await client.contexts.update('sdk', { display_name: 'Renamed' })).toMatchObject({ display_name: 'Renamed' })
  expect((await client.contexts.list({ page_size: 1 })).pagination).toMatchObject({ page_size: 1, total_items: 2 })
  expect(await client.contexts.delete('sdk')).toMatchObject({ context_key: 'sdk' })
  const key = await client.apiKeys.create({ name: 'From the SDK', scopes: ['metadata'] })
  const weak = createClient({ baseUrl: world.url, apiKey: async () => key.api_key })
  expect((await getFailure(weak.apiKeys.list())).code).toBe('forbidden')
  expect(await client.apiKeys.disable(key.api_key_id)).toMatchObject({ status: 'disabled' })
  expect((await getFailure(weak.stats.overview())).code).toBe('unauthenticated')
  expect((await client.stats.overview()).overview.total_api_keys).toBeGreaterThan(1)
  expect((await client.logs.listCalls({ status: 'failure' })).data.length).toBeGreaterThan(0)
  expect((await client.logs.listAuditEntries({ audit_type: 'context' })).data[0]).toMatchObject({
    action: 'deleted',
    entity_name: 'sdk',
  })
  expect(await client.tenant.get()).toMatchObject({ tenant_id: tenant.tenantId })
})

test('the `listAll` method iterates over all pages without duplicates', async () => {
  const own = await world.createTenant()
  await own.createContext('many')
  const ids: string[] = []
  for (let count = 0; count < 5; count++) ids.unshift((await own.admin.upload('many', `${count}.txt`, 'x')).body.data.file_id)
  const observed: string[] = []
  for await (const file of createClient({ baseUrl: world.url, apiKey: own.admin.credential! }).files.listAll({ page_size: 2 }))
    observed.push(file.file_id)
  expect(observed).toEqual(ids)
})

test('the `events` method throws the abort reason if it is aborted while waiting for an event', async () => {
  const after = await client.getLastSequence()
  const abort = new AbortController()
  const next = client.events({ after, signal: abort.signal }).next()
  abort.abort(new Error('enough'))
  await expect(next).rejects.toThrow('enough')
})

describe('client library retries', () => {
  /** Starts a server that sends the given responses in turn and closes later connections. */
  async function scripted<T>(
    responses: [number, object][],
    work: (url: string, calls: { key: unknown }[]) => Promise<T>,
  ): Promise<T> {
    const calls: { key: unknown }[] = []
    const listener: RequestListener = (request, response) => {
      calls.push({ key: request.headers['idempotency-key'] })
      const [status, body] = responses[calls.length - 1] ?? [0, {}]
      request.resume().on('end', () => {
        if (status === 0) return response.destroy()
        response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' }).end(JSON.stringify(body))
      })
    }
    const server = createServer(listener)
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    try {
      return await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls)
    } finally {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    }
  }
  const unavailable: [number, object] = [
    503,
    { message: 'The storage is unavailable.', error: { code: 'storage_unavailable', details: {} } },
  ]
  const stored: [number, object] = [201, { data: { file_id: 'file_1' } }]

  test('the client library retries an upload with the same idempotency key', async () => {
    await scripted([unavailable, stored], async (baseUrl, calls) => {
      const file = await createClient({ baseUrl, apiKey: 'k' }).files.upload(new File(['x'], 'a.txt'), { context: 'notes' })
      expect(file.file_id).toBe('file_1')
      expect(calls).toHaveLength(2)
      expect(calls[0]!.key).toMatch(/^[0-9a-f-]{36}$/)
      expect(calls[1]).toEqual(calls[0])
    })
  })

  test('reconnects the `events` stream even after a failed attempt', async () => {
    const event = (sequence: number) => `id: ${sequence}\ndata: {"sequence":${sequence}}\n\n`
    const queries: (string | undefined)[] = []
    const server = createServer((request, response) => {
      queries.push(request.url?.split('?')[1])
      if (queries.length === 2) return response.writeHead(502).end('Bad gateway')
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(event(queries.length))
    })
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const events = createClient({ baseUrl, apiKey: 'k', retries: 0 }).events({ after: 0 })
    expect([(await events.next()).value.sequence, (await events.next()).value.sequence]).toEqual([1, 3])
    await events.return(undefined)
    expect(queries).toEqual(['after=0', 'after=1', 'after=1'])
    await new Promise((closed) => server.close(closed))
  })

  test('does not retry client library calls that cannot be repeated safely', async () => {
    await scripted([unavailable, stored], async (baseUrl, calls) => {
      const once = createClient({ baseUrl, apiKey: 'k' })
      const stream = new Blob(['x']).stream()
      expect((await getFailure(once.files.upload(stream, { context: 'notes', filename: 'a.txt' }))).status).toBe(503)
      expect(calls).toHaveLength(1)
    })
    await scripted([unavailable, stored], async (baseUrl, calls) => {
      expect((await getFailure(createClient({ baseUrl, apiKey: 'k' }).files.delete('file_1'))).code).toBe('storage_unavailable')
      expect(calls).toHaveLength(1)
    })
  })

  test('the client library throws the last error if all retries fail', async () => {
    await scripted([unavailable, unavailable, unavailable, stored], async (baseUrl, calls) => {
      expect((await getFailure(createClient({ baseUrl, apiKey: 'k' }).files.list())).code).toBe('storage_unavailable')
      expect(calls).toHaveLength(3)
    })
    await scripted([], async (baseUrl) => {
      const error = await getFailure(createClient({ baseUrl, apiKey: 'k', retries: 0 }).files.list())
      expect(error).toMatchObject({ code: 'network_error', status: 0 })
    })
    await scripted([[502, {}]], async (baseUrl) => {
      expect((await getFailure(createClient({ baseUrl, apiKey: 'k' }).files.list())).code).toBe('invalid_response')
    })
  })
})
