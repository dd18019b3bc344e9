import { randomBytes } from 'node:crypto'
import { readdirSync, watch } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { multipart, RawClient } from '../support/raw-client.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

const megabyte = 1_048_576
const maxUploadMb = 4

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open({ MAX_UPLOAD_MB: String(maxUploadMb), UPLOAD_IDLE_SECONDS: '1', MAX_UPLOADS_AT_ONCE: '64' })
  tenant = await world.tenant()
  await tenant.context('notes', { max_file_size_mb: 1 })
  await tenant.context('raw', { allowed_extensions: ['bin'], max_file_size_mb: 2 })
})
afterAll(() => world.close())

const clients: RawClient[] = []
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy()
  // Whatever a test did: nothing of it is left.
  await until(() => spooled().length === 0 && slots() === 0)
})

async function connect(): Promise<RawClient> {
  const client = await RawClient.connect(world.url)
  clients.push(client)
  return client
}

const spooled = () =>
  readdirSync(join(world.dataDir, 'spool')).flatMap((folder) => readdirSync(join(world.dataDir, 'spool', folder)))
const slots = () => (world.app.services.limits as unknown as { uploads: { all: number } }).uploads.all

async function until(holds: () => boolean): Promise<void> {
  for (const end = Date.now() + 10_000; !holds() && Date.now() < end; ) await sleep(10)
  expect(holds()).toBe(true)
}

const bearer = (caller: Caller) => `Bearer ${caller.credential}`
const path = '/api/v1/files/upload'

/** Sends the head of an upload whose body is `length` bytes, as far as it says. */
async function announce(caller: Caller | undefined, length: number, headers: Record<string, string | number> = {}) {
  const client = await connect()
  await client.head('POST', path, {
    ...(caller && { Authorization: bearer(caller) }),
    'Content-Type': 'multipart/form-data; boundary=test-boundary',
    'Content-Length': length,
    ...headers,
  })
  return client
}

async function lastUpload(): Promise<{ status: string; error_message: string | null; context_key: string | null }> {
  return (await tenant.admin.get('/stats/logs?operation=upload&page_size=1')).body.data.data[0]
}

async function uploadCalls(): Promise<number> {
  return (await tenant.admin.get('/stats/logs?operation=upload&page_size=1')).body.data.pagination.total_items
}

const sendBytes = (body: Uint8Array, type: string) =>
  tenant.admin.raw(path, { method: 'POST', headers: { 'content-type': type }, body: body as never })

const send = (parts: Parameters<typeof multipart>[0], options?: Parameters<typeof multipart>[1]) => {
  const { type, body } = multipart(parts, options)
  return sendBytes(body, type)
}

describe('before the body is read', () => {
  test.each([
    ['nobody', () => undefined, 401, 'unauthenticated'],
    ['a stranger', () => world.as('assay_unknown'), 401, 'unauthenticated'],
  ])('%s is refused, and not asked for the body', async (_who, caller, status, code) => {
    const client = await announce(caller() as Caller, 3 * megabyte, { Expect: '100-continue' })
    expect(await client.answer()).toMatchObject({ status, body: { error: { code } }, headers: { connection: 'close' } })
    expect(await client.ended).toBe('end')
  })

  test('a key without the scope is refused before its body is read, and that is in the log', async () => {
    const key = await tenant.key(['metadata'])
    const client = await announce(key, 3 * megabyte, { Expect: '100-continue' })
    expect(await client.answer()).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } })
    expect(await lastUpload()).toMatchObject({ status: 'failure' })
  })

  test('a Content-Length beyond MAX_UPLOAD_MB is refused at once, to a client that waits for 100 Continue', async () => {
    const client = await announce(tenant.admin, (maxUploadMb + 1) * megabyte, { Expect: '100-continue' })
    expect(await client.answer()).toMatchObject({ status: 413, body: { error: { code: 'size_exceeded' } } })
    expect(client.rest).toBe('')
    expect(await client.ended).toBe('end')
  })

  test('and to one that goes on sending 50 MB, which gets the JSON and no reset', async () => {
    const client = await announce(tenant.admin, 50 * megabyte)
    const piece = randomBytes(megabyte)
    for (let sent = 0; sent < 50; sent++) await client.send(piece)
    expect(await client.answer()).toMatchObject({ status: 413, body: { error: { code: 'size_exceeded' } } })
    expect(await client.ended).toBe('end')
    expect((await tenant.admin.get('/stats')).body.data.security.by_reason.size_exceeded).toBeGreaterThan(0)
  })

  test('one beyond what the tenant’s quota leaves is refused', async () => {
    const small = await world.tenant({ quotaMb: 1 })
    await small.context('notes', { max_file_size_mb: 1 })
    const client = await announce(small.admin, 2 * megabyte, { Expect: '100-continue' })
    expect(await client.answer()).toMatchObject({ status: 422, body: { error: { code: 'quota_exceeded' } } })
    expect((await small.admin.get('/stats/logs?operation=upload')).body.data.data).toMatchObject([{ status: 'failure' }])
  })

  test('a sound upload that waits for 100 Continue is told to go on', async () => {
    const { body } = multipart([
      { name: 'context', content: 'notes' },
      { name: 'file', filename: 'a.txt', content: 'hello' },
    ])
    const client = await announce(tenant.admin, body.length, { Expect: '100-continue' })
    expect(await client.answer()).toMatchObject({ status: 100 })
    await client.send(body)
    expect(await client.answer()).toMatchObject({ status: 201 })
  })
})

describe('while it streams', () => {
  const head = (context: boolean) =>
    multipart([...(context ? [{ name: 'context', content: 'raw' }] : []), { name: 'file', filename: 'a.bin', content: '' }], {
      end: false,
    }).body.subarray(0, -2)

  async function chunked(client: RawClient, bytes: Uint8Array): Promise<void> {
    await client.send(`${bytes.length.toString(16)}\r\n`)
    await client.send(bytes)
    await client.send('\r\n')
  }

  test.each([
    ['the context’s limit', true, 3],
    ['the limit of all contexts where the context is not known yet', false, 6],
  ])('a chunked body without a length is cut off at %s', async (_limit, context, size) => {
    const client = await connect()
    await client.head('POST', path, {
      Authorization: bearer(tenant.admin),
      'Content-Type': 'multipart/form-data; boundary=test-boundary',
      'Transfer-Encoding': 'chunked',
    })
    await chunked(client, head(context))
    for (let sent = 0; sent < size; sent++) await chunked(client, randomBytes(megabyte))
    expect(await client.answer()).toMatchObject({ status: 413, body: { error: { code: 'size_exceeded' } } })
    expect(await lastUpload()).toMatchObject({ status: 'failure', context_key: context ? 'raw' : null })
  })

  test.each([
    ['before', true],
    ['after', false],
  ])('exactly the limit passes, one byte more does not, the context being %s the file', async (_place, first) => {
    const parts = (size: number) => {
      const context = { name: 'context', content: 'raw' }
      const file = { name: 'file', filename: 'a.bin', content: randomBytes(size) }
      return first ? [context, file] : [file, context]
    }
    expect(await send(parts(2 * megabyte))).toMatchObject({ status: 201, body: { data: { size_bytes: 2 * megabyte } } })
    expect(await send(parts(2 * megabyte + 1))).toMatchObject({ status: 413, body: { error: { code: 'size_exceeded' } } })
  })

  test('a client that stops sending is dropped with a JSON answer, and its call is in the log', async () => {
    const before = await uploadCalls()
    const client = await announce(tenant.admin, 2 * megabyte)
    await client.send(head(true))
    await client.send(randomBytes(megabyte))
    expect(await client.answer()).toMatchObject({ status: 400, body: { error: { code: 'bad_user_input' } } })
    expect(await uploadCalls()).toBe(before + 1)
  })

  test.each([
    ['cuts the connection', (client: RawClient) => client.reset()],
    ['closes its side', (client: RawClient) => client.socket.end()],
  ])('a client that %s in mid-upload leaves a line in the log and nothing else', async (_how, leave) => {
    const before = await uploadCalls()
    const client = await announce(tenant.admin, 2 * megabyte)
    await client.send(head(true))
    await client.send(randomBytes(megabyte))
    await until(() => spooled().length === 1)
    leave(client)
    await until(() => spooled().length === 0 && slots() === 0)
    for (let tries = 0; (await uploadCalls()) !== before + 1 && tries < 100; tries++) await sleep(20)
    expect(await uploadCalls()).toBe(before + 1)
    expect(await lastUpload()).toMatchObject({ status: 'failure' })
  })

  test('a small file touches no temporary file, a large one does', async () => {
    const seen: string[] = []
    const [folder] = readdirSync(join(world.dataDir, 'spool'))
    const watcher = watch(join(world.dataDir, 'spool', folder!), (_event, name) => seen.push(String(name)))
    try {
      expect(await tenant.admin.upload('raw', 'a.bin', randomBytes(64 * 1024))).toMatchObject({ status: 201 })
      const small = [...seen]
      expect(await tenant.admin.upload('raw', 'a.bin', randomBytes(megabyte))).toMatchObject({ status: 201 })
      await until(() => seen.length > 0)
      expect(small).toEqual([])
    } finally {
      watcher.close()
    }
  })
})

describe('the parts of the body', () => {
  const context = { name: 'context', content: 'notes' }
  const file = { name: 'file', filename: 'a.txt', content: 'hello' }

  test.each<[string, Parameters<typeof multipart>[0], Parameters<typeof multipart>[1]?]>([
    ['no file', [context]],
    ['no context', [file]],
    ['two files', [context, file, file]],
    ['three files', [context, file, file, file]],
    ['two contexts', [context, context, file]],
    ['a part of another name', [context, file, { name: 'other', content: 'x' }]],
    ['a file of another name', [context, file, { name: 'other', filename: 'b.txt', content: 'x' }]],
    ['an empty file name', [context, { ...file, filename: '' }]],
    ['a file without a name', [context, { name: 'file', content: 'x', type: 'application/octet-stream' }]],
    ['a file that is a field', [context, { name: 'file', content: 'x' }]],
    ['a part without a name', [context, file, { name: null, content: 'x' }]],
    ['a file part without a name', [context, file, { name: null, filename: 'b.txt', content: 'x' }]],
    ['a hundred parts', [context, file, ...Array.from({ length: 100 }, (_, at) => ({ name: `p${at}`, content: 'x' }))]],
    ['metadata that is no object', [context, file, { name: 'metadata', content: '[1]' }]],
    ['metadata that is no JSON', [context, file, { name: 'metadata', content: '{' }]],
    ['a field too long', [{ name: 'context', content: 'x'.repeat(70_000) }, file]],
    ['no end', [context, file], { end: false }],
    ['LF instead of CRLF', [context, file], { newline: '\n' }],
  ])('%s is 400, and in the log', async (_what, parts, ...[options]) => {
    const before = await uploadCalls()
    expect(await send(parts, options)).toMatchObject({ status: 400, body: { error: { code: 'bad_user_input' } } })
    expect(await uploadCalls()).toBe(before + 1)
  })

  test('a body that does not know its own boundary is 400', async () => {
    const { body } = multipart([context, file])
    for (const type of ['multipart/form-data; boundary=other', 'multipart/form-data'])
      expect((await sendBytes(body, type)).status).toBe(400)
  })

  test('a truncated part header is 400', async () => {
    const body = Buffer.from('--test-boundary\r\nContent-Disposition: form-da')
    const type = 'multipart/form-data; boundary=test-boundary'
    expect((await sendBytes(body, type)).status).toBe(400)
  })

  test('metadata may come first, last or not at all', async () => {
    const metadata = { name: 'metadata', content: '{"a":1}' }
    for (const parts of [
      [metadata, file, context],
      [file, context, metadata],
      [context, file],
    ])
      expect((await send(parts)).status).toBe(201)
  })
})

describe('the connection after an early answer', () => {
  test('lives on where little of the body was left', async () => {
    const client = await announce(undefined, 10_000)
    expect(await client.answer()).toMatchObject({ status: 401 })
    await client.send(Buffer.alloc(10_000))
    await client.head('GET', '/health/live', {})
    expect(await client.answer()).toMatchObject({ status: 200, body: { status: 'live' } })
  })

  test('ends where much was left: a request that is pipelined behind it is not carried out', async () => {
    const before = await uploadCalls()
    const { type, body } = multipart([
      { name: 'context', content: 'notes' },
      { name: 'file', filename: 'a.txt', content: 'hello' },
    ])
    const client = await announce(undefined, 200_000)
    await client.send(Buffer.alloc(200_000))
    await client.head('POST', path, { Authorization: bearer(tenant.admin), 'Content-Type': type, 'Content-Length': body.length })
    await client.send(body)
    expect(await client.answer()).toMatchObject({ status: 401, headers: { connection: 'close' } })
    expect(await client.ended).toBe('end')
    expect(client.rest).toBe('')
    expect(await uploadCalls()).toBe(before)
  })

  test('two uploads that are pipelined are both answered, in their order', async () => {
    const client = await connect()
    for (const name of ['a.txt', 'b.exe']) {
      const { type, body } = multipart([
        { name: 'context', content: 'notes' },
        { name: 'file', filename: name, content: 'hello' },
      ])
      await client.head('POST', path, {
        Authorization: bearer(tenant.admin),
        'Content-Type': type,
        'Content-Length': body.length,
      })
      await client.send(body)
    }
    expect((await client.answer()).status).toBe(201)
    expect((await client.answer()).status).toBe(422)
  })

  test('a slow validation is not mistaken for a silent client', async () => {
    // As many as make the last of them wait longer than a client may be silent.
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, at) => tenant.admin.upload('raw', `${at}.bin`, randomBytes(2 * megabyte))),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
  })
})

describe('GraphQL uploads', () => {
  const mutation =
    'mutation ($file: Upload!, $context: String!) { uploadFile(file: $file, context: $context) { fileId sizeBytes } }'
  const operations = (context: string, file: null | null[] = null) => ({
    name: 'operations',
    content: JSON.stringify({ query: mutation, variables: { context, file } }),
  })
  const map = { name: 'map', content: '{"0":["variables.file"]}' }
  const file = { name: '0', filename: 'a.txt', content: 'hello' }

  const graphql = async (parts: Parameters<typeof multipart>[0], options?: Parameters<typeof multipart>[1]) => {
    const { type, body } = multipart(parts, options)
    return tenant.admin.raw('/graphql', {
      method: 'POST',
      headers: { 'content-type': type, 'apollo-require-preflight': 'true' },
      body: body as never,
    })
  }
  const codes = (answer: { body: { errors?: { extensions: { code: string } }[] } }) =>
    answer.body.errors?.map(({ extensions }) => extensions.code)

  test('take a file, small or large, and no temporary file of their own', async () => {
    expect((await graphql([operations('notes'), map, file])).body).toMatchObject({ data: { uploadFile: { sizeBytes: 5 } } })
    const large = { name: '0', filename: 'a.bin', content: randomBytes(2 * megabyte) }
    expect((await graphql([operations('raw'), map, large])).body).toMatchObject({
      data: { uploadFile: { sizeBytes: 2 * megabyte } },
    })
    expect(codes(await graphql([operations('raw'), map, { ...large, content: randomBytes(2 * megabyte + 1) }]))).toEqual([
      'SIZE_EXCEEDED',
    ])
  })

  test('take several files, whatever the order in which they are sent', async () => {
    const query =
      'mutation ($a: Upload!, $b: Upload!) { first: uploadFile(file: $a, context: "raw") { originalFilename } second: uploadFile(file: $b, context: "raw") { originalFilename } }'
    const both = { name: 'operations', content: JSON.stringify({ query, variables: { a: null, b: null } }) }
    const answer = await graphql([
      both,
      { name: 'map', content: '{"x":["variables.a"],"y":["variables.b"]}' },
      { name: 'y', filename: 'b.bin', content: randomBytes(megabyte) },
      { name: 'x', filename: 'a.bin', content: randomBytes(megabyte) },
    ])
    expect(answer.body).toMatchObject({
      data: { first: { originalFilename: 'a.bin' }, second: { originalFilename: 'b.bin' } },
    })
  })

  test.each<[string, Parameters<typeof multipart>[0], Parameters<typeof multipart>[1]?]>([
    ['the file is missing', [operations('notes'), map]],
    ['the map is missing', [operations('notes'), file]],
    ['the map comes first', [map, operations('notes'), file]],
    ['the operations are no JSON', [{ name: 'operations', content: '{' }, map, file]],
    [
      'the map names a place that is not there',
      [operations('notes'), { name: 'map', content: '{"0":["variables.other"]}' }, file],
    ],
    ['the map would change a prototype', [operations('notes'), { name: 'map', content: '{"0":["__proto__.x"]}' }, file]],
    ['the file has no name', [operations('notes'), map, { ...file, filename: '' }]],
    ['the file is a field', [operations('notes'), map, { name: '0', content: 'hello' }]],
    ['the body has no end', [operations('notes'), map, file], { end: false }],
    ['the lines end in LF', [operations('notes'), map, file], { newline: '\n' }],
    [
      'there are too many files',
      [operations('notes'), map, ...Array.from({ length: 11 }, (_, at) => ({ ...file, name: `${at}` }))],
    ],
  ])('are told what is wrong where %s', async (_what, parts, ...[options]) => {
    const before = await uploadCalls()
    const answer = await graphql(parts, options)
    expect(answer.status).toBeLessThan(500)
    expect(codes(answer)).toEqual(['BAD_USER_INPUT'])
    expect(await uploadCalls()).toBe(before + 1)
  })

  test('are refused before their body is read: without a credential, without the preflight header, beyond MAX_UPLOAD_MB', async () => {
    const refused = async (headers: Record<string, string | number>) => {
      const client = await connect()
      await client.head('POST', '/graphql', {
        'Content-Type': 'multipart/form-data; boundary=x',
        'Content-Length': megabyte,
        Expect: '100-continue',
        ...headers,
      })
      const { status, body } = await client.answer()
      return [status, body.errors[0].extensions.code]
    }
    const preflight = { 'Apollo-Require-Preflight': 'true' }
    expect(await refused(preflight)).toEqual([401, 'UNAUTHENTICATED'])
    expect(await refused({ Authorization: bearer(tenant.admin) })).toEqual([400, 'BAD_USER_INPUT'])
    expect(
      await refused({ ...preflight, Authorization: bearer(tenant.admin), 'Content-Length': (maxUploadMb + 1) * megabyte }),
    ).toEqual([413, 'SIZE_EXCEEDED'])
  })

  test.each([
    ['hangs up', (client: RawClient) => client.reset()],
    ['falls silent', () => {}],
  ])('of a client that %s leave a line in the log and nothing else', async (_how, leave) => {
    const before = await uploadCalls()
    const client = await connect()
    await client.head('POST', '/graphql', {
      Authorization: bearer(tenant.admin),
      'Apollo-Require-Preflight': 'true',
      'Content-Type': 'multipart/form-data; boundary=test-boundary',
      'Content-Length': 2 * megabyte,
    })
    const parts = [operations('raw'), map, { name: '0', filename: 'a.bin', content: randomBytes(megabyte) }]
    await client.send(multipart(parts, { end: false }).body)
    await until(() => spooled().length === 1)
    leave(client)
    for (let tries = 0; (await uploadCalls()) !== before + 1 && tries < 200; tries++) await sleep(20)
    expect(await uploadCalls()).toBe(before + 1)
  })
})
