import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { gif, pdf, png } from '../../packages/formats/test/support/samples/basic.js'
import { avoidMidnight, avoidMidnightMs } from '../support/clock.js'
import { eicar } from '../support/eicar.js'
import { createMultipartBody, type Part } from '../support/multipart.js'
import { anyId, anyTimestamp, getData, getInvalidFields, getItems, toStatusAndCode } from '../support/response-assertions.js'
import { type ApiResponse, type Caller, type TestTenant, World } from '../support/world.js'

const megabyte = 1_048_576
let world: World
let tenant: TestTenant
let key: Caller
beforeAll(async () => {
  await avoidMidnight()
  world = await World.open({ MAX_UPLOAD_MB: '6' })
  tenant = await world.createTenant()
  await tenant.createContext('notes', { max_file_size_mb: 1 })
  key = await tenant.createKey(['upload', 'metadata'])
}, avoidMidnightMs)
afterAll(() => world.close())

const uploaded = { status: 201, message: true, timestamp: false }
const send = (caller: Caller, parts: Part[], path = '/files/upload'): Promise<ApiResponse> => {
  const { body, headers } = createMultipartBody(parts)
  return caller.raw(`/api/v1${path}`, { method: 'POST', headers, body })
}
const getLastCall = async () => getItems(await tenant.admin.get(`/stats/logs?api_key_id=${key.id}&page_size=1`))[0]
const getSecurityStats = async () => getData(await tenant.admin.get('/stats')).security

describe('rejected files', () => {
  const cases: { reason: string; status: number; name: string; content: () => Uint8Array | string; says: string[] }[] = [
    { reason: 'invalid_extension', status: 422, name: 'a.exe', content: () => 'text', says: ["'exe'", "'notes'", 'txt', 'pdf'] },
    { reason: 'invalid_extension', status: 422, name: 'noextension', content: () => 'text', says: ["'notes'"] },
    { reason: 'invalid_extension', status: 422, name: 'a.png', content: gif, says: ['gif'] },
    { reason: 'size_exceeded', status: 413, name: 'a.txt', content: () => 'x'.repeat(megabyte + 1), says: ['1 MB'] },
    { reason: 'blank_file', status: 422, name: 'a.txt', content: () => '', says: [] },
    { reason: 'blank_file', status: 422, name: 'a.txt', content: () => ' \n\t\0\ufeff', says: [] },
    { reason: 'corrupt_file', status: 422, name: 'a.pdf', content: () => pdf().subarray(0, 100), says: [] },
    { reason: 'corrupt_file', status: 422, name: 'a.png', content: () => png().subarray(0, 40), says: [] },
    { reason: 'corrupt_file', status: 422, name: 'a.pdf', content: () => 'only text', says: [] },
    { reason: 'virus_detected', status: 422, name: 'a.txt', content: () => eicar, says: ['EICAR'] },
  ]
  test.each(cases)(
    'rejects a file with $reason and logs the rejection exactly once: $name',
    async ({ reason, status, name, content, says }) => {
      const before = await getSecurityStats()
      const response = await key.upload('notes', name, content())
      expect(toStatusAndCode(response)).toEqual([status, reason])
      for (const text of says) expect(response.body.message.toLowerCase()).toContain(text.toLowerCase())
      expect(await getLastCall()).toEqual({
        call_id: anyId('call'),
        api_key_id: key.id,
        api_key_name: 'upload+metadata',
        operation: 'upload',
        status: 'failure',
        file_id: null,
        context_key: 'notes',
        error_message: response.body.message,
        ip_address: '127.0.0.1',
        user_agent: expect.any(String),
        created_at: anyTimestamp,
      })
      const after = await getSecurityStats()
      expect(after).toMatchObject({
        files_blocked_total: before.files_blocked_total + 1,
        blocked_today: before.blocked_today + 1,
        by_reason: { ...before.by_reason, [reason]: before.by_reason[reason] + 1 },
      })
      expect(Object.values(after.by_reason).reduce((sum: number, count) => sum + Number(count), 0)).toBe(
        after.files_blocked_total,
      )
      expect(getItems(await tenant.admin.get('/files'))).toEqual([])
      expect(getData(await tenant.admin.get('/tenant')).storage_used_bytes).toBe(0)
    },
  )

  test('reports the first failed check in an upload error', async () => {
    const tooLargeAndForeign = await key.upload('notes', 'a.exe', 'x'.repeat(megabyte + 1))
    expect(toStatusAndCode(tooLargeAndForeign)[1]).toBe('invalid_extension')
    expect(toStatusAndCode(await key.upload('notes', 'a.txt', ' '.repeat(megabyte + 1)))[1]).toBe('size_exceeded')
    expect(toStatusAndCode(await key.upload('notes', 'a.pdf', ' '))[1]).toBe('blank_file')
  })

  test('accepts files that only disabled checks would reject', async () => {
    await tenant.createContext('lenient', { reject_blank_files: false, reject_corrupt_files: false, scan_for_viruses: false })
    for (const [name, content] of [
      ['blank.txt', ''],
      ['broken.pdf', pdf().subarray(0, 100)],
      ['eicar.txt', eicar],
    ] as const)
      getData(await key.upload('lenient', name, content), uploaded)
    const own = await world.createTenant()
    await own.createContext('lenient', { reject_blank_files: false })
    expect(getData(await own.admin.upload('lenient', 'blank.txt', ''), uploaded).size_bytes).toBe(0)
  })
})

describe('file size limits', () => {
  test('accepts a file of exactly the size limit but rejects one more byte', async () => {
    const own = await world.createTenant()
    await own.createContext('notes', { max_file_size_mb: 1 })
    expect(getData(await own.admin.upload('notes', 'a.txt', 'x'.repeat(megabyte)), uploaded).size_bytes).toBe(megabyte)
    expect(toStatusAndCode(await own.admin.upload('notes', 'a.txt', 'x'.repeat(megabyte + 1)))).toEqual([413, 'size_exceeded'])
  })

  test('enforces the size limit even if the context field follows the file or Content-Length is missing', async () => {
    const parts = [
      { name: 'file', filename: 'a.txt', content: 'x'.repeat(2 * megabyte) },
      { name: 'context', content: 'notes' },
    ]
    expect(toStatusAndCode(await send(key, parts))).toEqual([413, 'size_exceeded'])
    const { body, headers } = createMultipartBody(parts.reverse())
    const chunked = await key.raw('/api/v1/files/upload', {
      method: 'POST',
      headers,
      body: new ReadableStream({
        start(controller) {
          for (let at = 0; at < body.length; at += 65_536) controller.enqueue(body.subarray(at, at + 65_536))
          controller.close()
        },
      }),
      duplex: 'half',
    } as RequestInit)
    expect(toStatusAndCode(chunked)).toEqual([413, 'size_exceeded'])
  })

  test('rejects a Content-Length above MAX_UPLOAD_MB before reading the body', async () => {
    const before = await getSecurityStats()
    expect(toStatusAndCode(await key.upload('notes', 'a.txt', 'x'.repeat(7 * megabyte)))).toEqual([413, 'size_exceeded'])
    expect((await getSecurityStats()).by_reason.size_exceeded).toBe(before.by_reason.size_exceeded + 1)
    expect(await getLastCall()).toMatchObject({ status: 'failure', file_id: null, context_key: null })
  })
})

describe('storage quotas', () => {
  test("accepts uploads until they exactly fill a context's quota", async () => {
    const own = await world.createTenant()
    await own.createContext('small', { storage_quota_mb: 1, max_file_size_mb: 2 })
    await own.createContext('large')
    getData(await own.admin.upload('small', 'a.txt', 'x'.repeat(megabyte - 10)), uploaded)
    const rejected = await own.admin.upload('small', 'b.txt', 'x'.repeat(11))
    expect(toStatusAndCode(rejected)).toEqual([422, 'quota_exceeded'])
    getData(await own.admin.upload('small', 'b.txt', 'x'.repeat(10)), uploaded)
    getData(await own.admin.upload('large', 'b.txt', 'x'.repeat(11)), uploaded)
    expect(getData(await own.admin.get('/contexts/small')).storage_used_bytes).toBe(megabyte)
    // A quota rejection does not count as a blocked file.
    expect(getData(await own.admin.get('/stats')).security.files_blocked_total).toBe(0)
  })

  test('counts files in all contexts towards the tenant quota and frees the bytes of deleted files', async () => {
    const own = await world.createTenant({ quotaMb: 1 })
    await own.createContext('one')
    await own.createContext('two')
    const { file_id } = getData(await own.admin.upload('one', 'a.txt', 'x'.repeat(700_000)), uploaded)
    expect(toStatusAndCode(await own.admin.upload('two', 'b.txt', 'x'.repeat(700_000)))).toEqual([422, 'quota_exceeded'])
    getData(await own.admin.delete(`/files/${file_id}`))
    getData(await own.admin.upload('two', 'b.txt', 'x'.repeat(700_000)), uploaded)
  })

  test('reports a failed check rather than an exceeded quota if both apply', async () => {
    const own = await world.createTenant({ quotaMb: 1 })
    await own.createContext('notes')
    getData(await own.admin.upload('notes', 'a.txt', 'x'.repeat(megabyte)), uploaded)
    expect(toStatusAndCode(await own.admin.upload('notes', 'a.exe', 'x'))[1]).toBe('invalid_extension')
  })

  test('accepts exactly as many concurrent uploads as the quota allows', async () => {
    const own = await world.createTenant()
    await own.createContext('edge', { storage_quota_mb: 1 })
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, index) => own.admin.upload('edge', `${index}.txt`, 'x'.repeat(200_000))),
    )
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(5)
    expect(responses.filter(({ status }) => status === 422)).toHaveLength(7)
    expect(getData(await own.admin.get('/contexts/edge')).storage_used_bytes).toBe(1_000_000)
  })
})

describe('uploads and creations with an Idempotency-Key', () => {
  test('rejects an upload that repeats an Idempotency-Key with a different body or file name', async () => {
    const own = await world.createTenant()
    await own.createContext('notes')
    const headers = { 'idempotency-key': 'k-1' }
    const first = getData(await own.admin.upload('notes', 'a.txt', 'text', { headers }), uploaded)
    expect(getData(await own.admin.upload('notes', 'a.txt', 'text', { headers }), uploaded)).toEqual(first)
    expect(toStatusAndCode(await own.admin.upload('notes', 'a.txt', 'other', { headers }))).toEqual([409, 'idempotency_mismatch'])
    expect(toStatusAndCode(await own.admin.upload('notes', 'b.txt', 'text', { headers }))).toEqual([409, 'idempotency_mismatch'])
    expect(getItems(await own.admin.get('/files'))).toHaveLength(1)
  })

  test('returns the original response to a repeated request to create a context', async () => {
    const own = await world.createTenant()
    const headers = { 'idempotency-key': 'k-2' }
    const body = { context_key: 'once', display_name: 'Once', allowed_extensions: ['txt'], max_file_size_mb: 1 }
    const first = getData(await own.admin.post('/contexts', body, headers), { status: 201 })
    expect(getData(await own.admin.post('/contexts', body, headers), { status: 201 })).toEqual(first)
    expect(toStatusAndCode(await own.admin.post('/contexts', { ...body, max_file_size_mb: 2 }, headers))[1]).toBe(
      'idempotency_mismatch',
    )
    const secret = { 'idempotency-key': 'k-3' }
    const created = getData(await own.admin.post('/api-keys', { name: 'x' }, secret), { status: 201, message: true })
    const again = await own.admin.post('/api-keys', { name: 'x' }, secret)
    expect(toStatusAndCode(again)).toEqual([409, 'conflict'])
    expect(JSON.stringify(again.body)).toContain(created.api_key_id)
    expect(JSON.stringify(again.body)).not.toContain(created.api_key)
    expect(getInvalidFields(await own.admin.post('/api-keys', { name: 'x' }, { 'idempotency-key': 'x'.repeat(256) }))).toEqual([
      'Idempotency-Key',
    ])
  })
})
