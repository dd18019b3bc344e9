import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { anyId, anyTimestamp, getData, getInvalidFields, getItems } from '../support/response-assertions.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
beforeAll(async () => {
  world = await World.open()
})
afterAll(() => world.close())

test('lists, inspects, downloads and deletes an uploaded file', async () => {
  const tenant = await world.createTenant()
  await tenant.createContext('notes')
  const uploaded = await tenant.admin.upload('notes', 'a.txt', 'hello', { metadata: { page: 7 } })
  expect(uploaded).toMatchObject({
    status: 201,
    body: {
      status: 'SUCCESS',
      message: 'File uploaded.',
      data: { original_filename: 'a.txt', content_type: 'text/plain', size_bytes: 5, context_key: 'notes' },
    },
  })
  expect(Object.keys(uploaded.body.data).sort()).toEqual([
    'content_type',
    'context_key',
    'file_id',
    'original_filename',
    'size_bytes',
  ])
  const { file_id: fileId } = uploaded.body.data

  const listed = await tenant.admin.get('/files?context=notes')
  expect(listed.body.data).toMatchObject({
    data: [
      { file_id: fileId, uploaded_by: tenant.admin.id, uploaded_by_name: 'Admin', download_count: 0, last_downloaded_at: null },
    ],
    pagination: { total_items: 1, has_next: false },
  })

  const url = (await tenant.admin.get(`/files/${fileId}`)).body.data
  expect(url).toMatchObject({ file_id: fileId, expires_in_seconds: 300, original_filename: 'a.txt' })
  const download = await fetch(url.download_url)
  expect([download.status, await download.text(), download.headers.get('content-disposition')]).toEqual([
    200,
    'hello',
    'attachment; filename="a.txt"',
  ])

  const metadata = (await tenant.admin.get(`/files/${fileId}/metadata`)).body.data
  expect(metadata).toMatchObject({
    checksum: 'sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
    metadata: { page: 7 },
    download_count: 1,
  })

  expect((await tenant.admin.delete(`/files/${fileId}`)).body.data).toEqual({ file_id: fileId })
  expect((await tenant.admin.get(`/files/${fileId}`)).status).toBe(404)
  expect((await fetch(url.download_url)).status).toBe(404)
  expect((await tenant.admin.get('/contexts/notes')).body.data.storage_used_bytes).toBe(0)
})

describe('file response fields', () => {
  let tenant: TestTenant
  let fileId: string
  beforeAll(async () => {
    tenant = await world.createTenant()
    await tenant.createContext('notes')
    fileId = (await tenant.admin.upload('notes', 'a.txt', 'text', { metadata: { n: 1 } })).body.data.file_id
  })
  const uploaded = { original_filename: 'a.txt', content_type: 'text/plain', size_bytes: 4, context_key: 'notes' }

  test('returns exactly the documented fields in a file list', async () => {
    expect(getItems(await tenant.admin.get('/files'))).toEqual([
      {
        file_id: anyId('file'),
        ...uploaded,
        uploaded_by: tenant.admin.id,
        uploaded_by_name: 'Admin',
        download_count: 0,
        last_downloaded_at: null,
        created_at: anyTimestamp,
      },
    ])
  })

  test('returns exactly the documented fields in file metadata', async () => {
    expect(getData(await tenant.admin.get(`/files/${fileId}/metadata`))).toEqual({
      file_id: fileId,
      ...uploaded,
      checksum: 'sha256:982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1',
      metadata: { n: 1 },
      download_count: 0,
      last_downloaded_at: null,
      created_at: anyTimestamp,
      updated_at: anyTimestamp,
    })
  })

  test('returns a download URL with the documented fields, and counts the request as a download', async () => {
    // The service estimates the database clock with an error below this tolerance, even under load.
    const before = Date.now() - 1000
    expect(getData(await tenant.admin.get(`/files/${fileId}`), { timestamp: false })).toEqual({
      file_id: fileId,
      download_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/download\//),
      expires_in_seconds: 300,
      original_filename: 'a.txt',
    })
    await tenant.admin.get(`/files/${fileId}`)
    for (const file of [
      getData(await tenant.admin.get(`/files/${fileId}/metadata`)),
      getItems(await tenant.admin.get('/files'))[0],
    ]) {
      expect(file).toMatchObject({ download_count: 2, last_downloaded_at: anyTimestamp })
      expect(Date.parse(file.last_downloaded_at)).toBeGreaterThanOrEqual(before)
    }
  })

  test('omits the key name from the metadata of a file that a user uploaded', async () => {
    const user = await tenant.createUser(['upload'])
    const { file_id } = (await user.upload('notes', 'u.txt', 'text')).body.data
    const [file] = getItems(await tenant.admin.get('/files?page_size=1'))
    expect(file).toMatchObject({ file_id, uploaded_by: anyId('usr'), uploaded_by_name: null })
    expect(getItems(await tenant.admin.get(`/files?uploaded_by=${file.uploaded_by}`))).toEqual([file])
  })

  test("stores a snapshot of the uploader's name", async () => {
    const key = await tenant.createKey(['upload'], { name: 'Before' })
    const { file_id } = (await key.upload('notes', 'k.txt', 'text')).body.data
    await world.database.pool.query("UPDATE api_keys SET name = 'After' WHERE api_key_id = $1", [key.id])
    await tenant.admin.post(`/api-keys/${key.id}/revoke`)
    expect(getItems(await tenant.admin.get('/files?page_size=1'))[0]).toMatchObject({ file_id, uploaded_by_name: 'Before' })
  })
})

describe('file lists', () => {
  let tenant: TestTenant
  let second: Caller
  const created: string[] = []
  beforeAll(async () => {
    tenant = await world.createTenant()
    await tenant.createContext('images')
    // A context whose key has the same prefix must not match the filter.
    await tenant.createContext('images2')
    second = await tenant.createKey(['upload'])
    for (const [caller, context] of [
      [tenant.admin, 'images'],
      [second, 'images'],
      [second, 'images2'],
      [tenant.admin, 'images2'],
      [tenant.admin, 'images'],
    ] as const)
      created.push((await caller.upload(context, 'a.txt', 'text')).body.data.file_id)
  })
  const list = async (query: string) => {
    const { data, pagination } = getData(await tenant.admin.get(`/files?${query}`))
    return { found: data.map((file: { file_id: string }) => created.indexOf(file.file_id)), ...pagination }
  }

  test('lists files newest first and combines filters', async () => {
    expect(await list('')).toMatchObject({ found: [4, 3, 2, 1, 0], total_items: 5 })
    expect(await list('context=images')).toMatchObject({ found: [4, 1, 0], total_items: 3 })
    expect(await list(`uploaded_by=${second.id}`)).toMatchObject({ found: [2, 1], total_items: 2 })
    expect(await list(`uploaded_by=${second.id}&context=images`)).toMatchObject({ found: [1], total_items: 1 })
  })

  test('returns an empty file list if a filter is malformed or matches no file', async () => {
    for (const query of [
      'context=unknown',
      'context=No%20Key',
      'context=%00',
      'context=',
      'uploaded_by=key_00000000000000000000000000',
      'uploaded_by=usr_x',
      'uploaded_by=%00',
      'uploaded_by=',
      `uploaded_by=${created[0]}`,
      `context=images2&uploaded_by=${tenant.tenantId}`,
    ])
      expect(await list(query)).toEqual({
        found: [],
        page: 1,
        page_size: 20,
        total_items: 0,
        total_pages: 0,
        has_next: false,
        has_previous: false,
      })
  })

  test('returns all pages of a file list', async () => {
    expect(await list('page=2&page_size=2')).toMatchObject({ found: [2, 1], total_pages: 3, has_next: true, has_previous: true })
    expect(await list('page=3&page_size=2')).toMatchObject({ found: [0], has_next: false, has_previous: true })
    expect(await list('page=4&page_size=2')).toMatchObject({ found: [], has_next: false, has_previous: true })
    expect(await list('page=2147483647&page_size=100')).toMatchObject({ found: [], total_items: 5 })
    expect(getInvalidFields(await tenant.admin.get('/files?page=2147483648&page_size=101'))).toEqual(['page', 'page_size'])
  })

  test('lists files created in the same millisecond without duplicates or gaps', async () => {
    const own = await world.createTenant()
    await own.createContext('notes')
    await Promise.all(Array.from({ length: 25 }, (_, index) => own.admin.upload('notes', `${index}.txt`, `${index}`)))
    const observed: string[] = []
    for (let page = 1; page <= 4; page++)
      observed.push(
        ...getItems(await own.admin.get(`/files?page_size=7&page=${page}`)).map((file: { file_id: string }) => file.file_id),
      )
    expect(observed).toHaveLength(25)
    expect(observed).toEqual([...new Set(observed)].sort().reverse())
  })
})

test('creates a tenant, a key and a dashboard user, but no context, on the first start', async () => {
  const { firstAdmin: first } = world
  expect(getItems(await first.get('/contexts'))).toEqual([])
  expect(getItems(await first.get('/api-keys'))).toMatchObject([
    { scopes: ['upload', 'download', 'metadata', 'delete', 'admin'] },
  ])
  const { body } = await first.graphql('{ users { data { email scopes } } }')
  expect(body.data.users.data).toEqual([
    { email: 'admin@localhost', scopes: ['upload', 'download', 'metadata', 'delete', 'admin'] },
  ])
  for (const entry of getItems(await first.get('/audit-logs')))
    expect(entry).toMatchObject({ action: 'created', performed_by_id: 'system', performed_by_type: 'system' })
})

test('checks access for a HEAD request to a download URL, but does not count or log the request', async () => {
  const tenant = await world.createTenant()
  await tenant.createContext('heads')
  const { file_id: fileId } = (await tenant.admin.upload('heads', 'a.txt', 'text')).body.data
  const [reader, uploader] = [await tenant.createKey(['download']), await tenant.createKey(['upload'])]
  const user = await tenant.createUser(['download'])
  const head = async (caller: Caller, path: string) => {
    const { status, body, headers } = await caller.raw(`/api/v1${path}`, { method: 'HEAD' })
    expect([body, headers.get('content-length')]).toEqual(['', null])
    return status
  }
  expect(await head(reader, `/files/${fileId}`)).toBe(200)
  expect(await head(user, `/files/${fileId}`)).toBe(200)
  expect(await head(reader, `/files/${fileId}?once=maybe`)).toBe(400)
  expect(await head(reader, `/files/${fileId.replace(/.{6}$/, 'aaaaaa')}`)).toBe(404)
  expect(await head(uploader, `/files/${fileId}`)).toBe(403)
  expect(await head(world.unauthenticated, `/files/${fileId}`)).toBe(401)
  const { total_downloads: before } = getData(await tenant.admin.get('/stats')).overview
  expect(getData(await tenant.admin.get(`/files/${fileId}/metadata`))).toMatchObject({
    download_count: 0,
    last_downloaded_at: null,
  })
  for (const key of [reader, uploader]) expect(getItems(await tenant.admin.get(`/stats/logs?api_key_id=${key.id}`))).toEqual([])
  // A GET request is still counted after the HEAD request.
  getData(await reader.get(`/files/${fileId}`), { timestamp: false })
  expect(getData(await tenant.admin.get('/stats')).overview.total_downloads).toBe(before + 1)
  expect(getItems(await tenant.admin.get(`/stats/logs?api_key_id=${reader.id}`))).toMatchObject([{ operation: 'download' }])
})
