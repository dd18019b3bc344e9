import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { currentUsage } from '../../src/ledger/counters.js'
import { storageUnavailable } from '../../src/platform/errors/errors.js'
import { newId } from '../../src/platform/ids.js'
import { createQuarantinedFile } from '../support/quarantined-file.js'
import { anyId, anyTimestamp, getData, getItems, toStatusAndCode } from '../support/response-assertions.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
beforeAll(async () => {
  world = await World.open()
})
afterAll(() => world.close())

interface LoggedCall {
  call_id: string
  created_at: string
  operation: string
  status: string
}

describe('calls in the call log', () => {
  let tenant: TestTenant
  let key: Caller
  let fileId: string
  beforeAll(async () => {
    tenant = await world.createTenant()
    await tenant.createContext('notes')
    key = await tenant.createKey(['upload', 'download', 'metadata', 'delete'], { name: 'Worker' })
    fileId = (await tenant.admin.upload('notes', 'a.txt', 'text')).body.data.file_id
  })
  const lastCall = async (of: Caller = key) =>
    getItems(await tenant.admin.get(`/stats/logs?api_key_id=${of.id}&page_size=1`))[0] as LoggedCall | undefined

  type Expected = { operation: string; file?: boolean; context?: boolean }
  const successes: [string, () => Promise<unknown>, Expected][] = [
    ['GET /files', () => key.get('/files'), { operation: 'metadata' }],
    ['GET /files?context', () => key.get('/files?context=notes'), { operation: 'metadata', context: true }],
    ['file metadata', () => key.get(`/files/${fileId}/metadata`), { operation: 'metadata', file: true, context: true }],
    ['a validation report', () => key.get(`/files/${fileId}/validation`), { operation: 'metadata', file: true, context: true }],
    ['a download URL', () => key.get(`/files/${fileId}`), { operation: 'download', file: true, context: true }],
    ['statistics', () => key.get('/stats'), { operation: 'metadata' }],
    ['a chart', () => key.get('/stats/charts/storage'), { operation: 'metadata' }],
    ['a chart by context', () => key.get('/stats/by-context/files'), { operation: 'metadata' }],
    ['call logs', () => key.get('/stats/logs'), { operation: 'metadata' }],
    ['a dry run', () => key.upload('notes', 'a.txt', ' ', { path: '/files/validate' }), { operation: 'upload', context: true }],
  ]
  test.each(successes)('logs one successful call for %s', async (_what, act, { operation, file, context }) => {
    await act()
    expect(await lastCall()).toEqual({
      call_id: anyId('call'),
      api_key_id: key.id,
      api_key_name: 'Worker',
      operation,
      status: 'success',
      file_id: file ? fileId : null,
      context_key: context ? 'notes' : null,
      error_message: null,
      ip_address: '127.0.0.1',
      user_agent: expect.any(String),
      created_at: anyTimestamp,
    })
  })

  test('includes the file id in the call log entry for an upload or deletion', async () => {
    const { file_id } = (await key.upload('notes', 'b.txt', 'text')).body.data
    expect(await lastCall()).toMatchObject({ operation: 'upload', status: 'success', file_id, context_key: 'notes' })
    await key.delete(`/files/${file_id}`)
    expect(await lastCall()).toMatchObject({ operation: 'delete', status: 'success', file_id, context_key: 'notes' })
  })

  const failures: [string, number, () => ReturnType<Caller['get']>, string][] = [
    ['an invalid page', 400, () => key.get('/files?page=0'), 'metadata'],
    ['an invalid date', 400, () => key.get('/stats/logs?start_date=yesterday'), 'metadata'],
    ['an invalid period', 400, () => key.get('/stats/charts/storage?period=hourly'), 'metadata'],
    ['an unknown file', 404, () => key.get('/files/file_x'), 'download'],
    ['the metadata of an unknown file', 404, () => key.get('/files/file_x/metadata'), 'metadata'],
    ['the deletion of an unknown file', 404, () => key.delete('/files/file_x'), 'delete'],
    ['a malformed upload', 415, () => key.post('/files/upload', {}), 'upload'],
    ['an upload without a context', 400, () => key.upload(undefined, 'a.txt', 'x'), 'upload'],
    ['an upload to an unknown context', 404, () => key.upload('unknown', 'a.txt', 'x'), 'upload'],
    ['a rejected upload', 422, () => key.upload('notes', 'a.exe', 'x'), 'upload'],
    ['a dry run in an unknown context', 404, () => key.upload('no', 'a.txt', 'x', { path: '/files/validate' }), 'upload'],
  ]
  test.each(failures)('logs a failed call for %s with status %i', async (_what, status, act, operation) => {
    const response = await act()
    expect(response.status).toBe(status)
    expect(await lastCall()).toMatchObject({ operation, status: 'failure', file_id: null, error_message: response.body.message })
  })

  test.each([
    ['a metadata request', '/metadata'],
    ['a download URL request', ''],
  ])('logs exactly one failed call if %s is rejected', async (_, path) => {
    const reader = await tenant.createKey(['metadata', 'download'])
    const otherTenant = await world.createTenant()
    await otherTenant.createContext('notes')
    const foreign = (await otherTenant.admin.upload('notes', 'a.txt', 'text')).body.data.file_id
    const deleted = (await tenant.admin.upload('notes', 'c.txt', 'text')).body.data.file_id
    await tenant.admin.delete(`/files/${deleted}`)
    const infected = await createQuarantinedFile(world, tenant, 'notes')
    const rejections: [string, number, object][] = [
      [newId('file'), 404, { file_id: null, context_key: null }],
      [foreign, 404, { file_id: null, context_key: null }],
      [deleted, 404, { file_id: null, context_key: null }],
      [infected, 403, { file_id: infected, context_key: 'notes' }],
    ]
    for (const [count, [id, status, involved]] of rejections.entries()) {
      const response = await reader.get(`/files/${id}${path}`)
      expect(response.status).toBe(status)
      const calls = getData(await tenant.admin.get(`/stats/logs?api_key_id=${reader.id}`))
      expect(calls.pagination.total_items).toBe(count + 1)
      expect(calls.data[0]).toMatchObject({ status: 'failure', error_message: response.body.message, ...involved })
    }
  })

  test('logs the creation of a download URL as one call, and counts it as one download', async () => {
    const reader = await tenant.createKey(['download'])
    const { file_id } = (await tenant.admin.upload('notes', 'd.txt', 'four')).body.data
    await reader.get(`/files/${file_id}`)
    const calls = getData(await tenant.admin.get(`/stats/logs?api_key_id=${reader.id}`))
    expect(calls.data).toEqual([
      expect.objectContaining({ operation: 'download', status: 'success', file_id, context_key: 'notes' }),
    ])
    const { body } = await tenant.admin.get(`/files/${file_id}/metadata`)
    expect(body.data.download_count).toBe(1)
    const { rows } = await world.database.pool.query(
      `SELECT sum(download_success)::int AS calls, sum(downloads)::int AS downloads, sum(bytes_downloaded)::int AS bytes FROM ${currentUsage} u WHERE subject = $1 AND grain = 'total'`,
      [reader.id],
    )
    expect(rows).toEqual([{ calls: 1, downloads: 1, bytes: 4 }])
  })

  test('logs each list request as one call, even if requests are repeated or concurrent', async () => {
    const reader = await tenant.createKey(['metadata'])
    const list = async () => getData(await reader.get('/files')).data
    const page = await list()
    expect(page.length).toBeGreaterThan(0)
    for (let time = 0; time < 20; time++) await list()
    expect(await Promise.all(Array.from({ length: 8 }, list))).toEqual(Array.from({ length: 8 }, () => page))
    const calls = getData(await tenant.admin.get(`/stats/logs?api_key_id=${reader.id}`))
    expect(calls.pagination.total_items).toBe(29)
    const { rows } = await world.database.pool.query(
      `SELECT sum(metadata_success)::int AS calls FROM ${currentUsage} u WHERE subject = $1 AND grain = 'total'`,
      [reader.id],
    )
    expect(rows).toEqual([{ calls: 29 }])
  })

  test('returns the requested page to each of many concurrent list requests', async () => {
    const other = await world.createTenant()
    await other.createContext('notes')
    await tenant.createContext('drafts')
    await tenant.admin.upload('drafts', 'b.txt', 'a draft')
    await other.admin.upload('notes', 'c.txt', 'theirs')
    const reader = await tenant.createKey(['metadata'])
    const requested: [Caller, string][] = [
      [reader, '/files'],
      [other.admin, '/files'],
      [await tenant.createKey(['metadata'], { contexts: ['drafts'] }), '/files'],
      [reader, '/files?context=notes'],
      [reader, '/files?page_size=1'],
      [tenant.admin, '/files'],
    ]
    const alone: unknown[] = []
    for (const [caller, path] of requested) alone.push(getData(await caller.get(path)))
    expect(new Set(alone.map((page) => JSON.stringify(page))).size).toBe(requested.length - 1)
    for (let round = 0; round < 5; round++) {
      for (let time = 0; time < 20; time++) await reader.get('/files')
      const together = [...requested, ...requested, ...requested].map(async ([caller, path]) => getData(await caller.get(path)))
      expect(await Promise.all(together)).toEqual([...alone, ...alone, ...alone])
    }
  })

  test('logs a call that lacks the required scope as failed with 403', async () => {
    const limitedKey = await tenant.createKey([...(['upload'] as const)])
    for (const [operation, act] of [
      ['metadata', () => limitedKey.get('/files')],
      ['metadata', () => limitedKey.get('/stats')],
      ['download', () => limitedKey.get(`/files/${fileId}`)],
      ['delete', () => limitedKey.delete(`/files/${fileId}`)],
    ] as const) {
      const response = await act()
      expect(toStatusAndCode(response)).toEqual([403, 'forbidden'])
      expect(await lastCall(limitedKey)).toMatchObject({ operation, status: 'failure', error_message: response.body.message })
    }
    const reader = await tenant.createKey(['metadata'])
    expect(toStatusAndCode(await reader.upload('notes', 'a.txt', 'x'))).toEqual([403, 'forbidden'])
    expect(await lastCall(reader)).toMatchObject({ operation: 'upload', status: 'failure' })
  })

  test('logs a call with a disabled, revoked or expired key as a failed call by that key', async () => {
    for (const end of ['disable', 'revoke', 'expire']) {
      const ended = await tenant.createKey(['upload', 'metadata'])
      if (end === 'expire')
        await world.database.pool.query(
          'UPDATE api_keys SET expires_at = now() - make_interval(secs => 1) WHERE api_key_id = $1',
          [ended.id],
        )
      else await tenant.admin.post(`/api-keys/${ended.id}/${end}`)
      expect(toStatusAndCode(await ended.get('/files'))).toEqual([401, 'unauthenticated'])
      expect(await lastCall(ended)).toMatchObject({ operation: 'metadata', status: 'failure' })
      expect(toStatusAndCode(await ended.upload('notes', 'a.txt', 'x'))).toEqual([401, 'unauthenticated'])
      expect(await lastCall(ended)).toMatchObject({ operation: 'upload', status: 'failure' })
    }
  })

  test('logs an upload as failed if its context is disabled or it exceeds a quota', async () => {
    await tenant.createContext('closed')
    await tenant.admin.patch('/contexts/closed', { status: 'disabled' })
    await key.upload('closed', 'a.txt', 'x')
    expect(await lastCall()).toMatchObject({ operation: 'upload', status: 'failure', context_key: 'closed' })
    await tenant.createContext('tiny', { storage_quota_mb: 1 })
    await key.upload('tiny', 'a.txt', 'x'.repeat(1_048_577))
    expect(await lastCall()).toMatchObject({ status: 'failure', context_key: 'tiny', file_id: null })
  })

  test('logs a call as failed with 503 if the store is unavailable', async () => {
    const { storage } = world.app.services
    const { signDownload } = storage
    storage.signDownload = () => Promise.reject(storageUnavailable('The store is down.'))
    try {
      expect(toStatusAndCode(await key.get(`/files/${fileId}`))).toEqual([503, 'storage_unavailable'])
    } finally {
      Object.assign(storage, { signDownload })
    }
    expect(await lastCall()).toMatchObject({
      operation: 'download',
      status: 'failure',
      file_id: fileId,
      error_message: 'The store is down.',
    })
  })

  test('does not log admin operations, invalid routes, calls by users or unauthenticated requests', async () => {
    const user = await tenant.createUser(['upload', 'metadata', 'download', 'delete', 'admin'])
    const total = async () => getData(await tenant.admin.get('/stats/logs')).pagination.total_items
    const before = await total()
    await tenant.admin.get('/api-keys')
    await tenant.admin.get('/contexts')
    await key.get('/contexts/notes')
    await tenant.admin.get('/audit-logs')
    await tenant.admin.get('/tenant')
    await key.get('/nothing')
    await key.rest('PUT', '/files')
    await user.get('/files')
    await user.upload('notes', 'u.txt', 'text')
    await user.get(`/files/${fileId}`)
    await user.get('/files/file_x')
    await world.unauthenticated.get('/files')
    await world.createCaller(`assay_${'A'.repeat(43)}`).get('/files')
    // The call log contains the previous list request.
    expect(await total()).toBe(before + 1)
  })
})

test("logs each call with the client's IP address, its user agent and the key name", async () => {
  const tenant = await world.createTenant()
  const key = await tenant.createKey(['metadata'], { name: 'Before' })
  await key.get('/files', { 'user-agent': `agent/${'x'.repeat(600)}` })
  await world.database.pool.query("UPDATE api_keys SET name = 'After' WHERE api_key_id = $1", [key.id])
  const [call] = getItems(await tenant.admin.get(`/stats/logs?api_key_id=${key.id}`))
  expect(call).toMatchObject({ api_key_name: 'Before', ip_address: '127.0.0.1' })
  expect(call.user_agent).toBe(`agent/${'x'.repeat(506)}`)
})
