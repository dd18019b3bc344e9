import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { anId, aTime, dataOf, faultyFields, itemsOf, refusal } from '../support/answers.js'
import { eicar } from '../support/eicar.js'
import { multipart, type Part } from '../support/multipart.js'
import { gif, pdf, png } from '../support/samples/basic.js'
import { type Answer, type Caller, type TestTenant, World } from '../support/world.js'

const megabyte = 1_048_576
let world: World
let tenant: TestTenant
let key: Caller
beforeAll(async () => {
  world = await World.open({ MAX_UPLOAD_MB: '6' })
  tenant = await world.tenant()
  await tenant.context('notes', { max_file_size_mb: 1 })
  key = await tenant.key(['upload', 'metadata'])
})
afterAll(() => world.close())

const uploaded = { status: 201, message: true, timestamp: false }
const send = (caller: Caller, parts: Part[], path = '/files/upload'): Promise<Answer> => {
  const { body, headers } = multipart(parts)
  return caller.raw(`/api/v1${path}`, { method: 'POST', headers, body })
}
const nameOf = (answer: Answer) => dataOf(answer, uploaded).original_filename
const lastCall = async () => itemsOf(await tenant.admin.get(`/stats/logs?api_key_id=${key.id}&page_size=1`))[0]
const security = async () => dataOf(await tenant.admin.get('/stats')).security

describe('a file that is refused', () => {
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
  test.each(cases)('$reason: $name, logged and counted once', async ({ reason, status, name, content, says }) => {
    const before = await security()
    const answer = await key.upload('notes', name, content())
    expect(refusal(answer)).toEqual([status, reason])
    for (const text of says) expect(answer.body.message.toLowerCase()).toContain(text.toLowerCase())
    expect(await lastCall()).toEqual({
      call_id: anId('call'),
      api_key_id: key.id,
      api_key_name: 'upload+metadata',
      operation: 'upload',
      status: 'failure',
      file_id: null,
      context_key: 'notes',
      error_message: answer.body.message,
      ip_address: '127.0.0.1',
      user_agent: expect.any(String),
      created_at: aTime,
    })
    const after = await security()
    expect(after).toMatchObject({
      files_blocked_total: before.files_blocked_total + 1,
      blocked_today: before.blocked_today + 1,
      by_reason: { ...before.by_reason, [reason]: before.by_reason[reason] + 1 },
    })
    expect(Object.values(after.by_reason).reduce((sum: number, count) => sum + Number(count), 0)).toBe(after.files_blocked_total)
    expect(itemsOf(await tenant.admin.get('/files'))).toEqual([])
    expect(dataOf(await tenant.admin.get('/tenant')).storage_used_bytes).toBe(0)
  })

  test('the first check that fails decides', async () => {
    const tooLargeAndForeign = await key.upload('notes', 'a.exe', 'x'.repeat(megabyte + 1))
    expect(refusal(tooLargeAndForeign)[1]).toBe('invalid_extension')
    expect(refusal(await key.upload('notes', 'a.txt', ' '.repeat(megabyte + 1)))[1]).toBe('size_exceeded')
    expect(refusal(await key.upload('notes', 'a.pdf', ' '))[1]).toBe('blank_file')
  })

  test('a context takes what its switched-off checks would refuse', async () => {
    await tenant.context('lenient', { reject_blank_files: false, reject_corrupt_files: false, scan_for_viruses: false })
    for (const [name, content] of [
      ['blank.txt', ''],
      ['broken.pdf', pdf().subarray(0, 100)],
      ['eicar.txt', eicar],
    ] as const)
      dataOf(await key.upload('lenient', name, content), uploaded)
    const own = await world.tenant()
    await own.context('lenient', { reject_blank_files: false })
    expect(dataOf(await own.admin.upload('lenient', 'blank.txt', ''), uploaded).size_bytes).toBe(0)
  })
})

describe('sizes', () => {
  test('a file of exactly the limit passes, one byte more does not', async () => {
    const own = await world.tenant()
    await own.context('notes', { max_file_size_mb: 1 })
    expect(dataOf(await own.admin.upload('notes', 'a.txt', 'x'.repeat(megabyte)), uploaded).size_bytes).toBe(megabyte)
    expect(refusal(await own.admin.upload('notes', 'a.txt', 'x'.repeat(megabyte + 1)))).toEqual([413, 'size_exceeded'])
  })

  test('the limit holds also where the context comes after the file, and without a Content-Length', async () => {
    const parts = [
      { name: 'file', filename: 'a.txt', content: 'x'.repeat(2 * megabyte) },
      { name: 'context', content: 'notes' },
    ]
    expect(refusal(await send(key, parts))).toEqual([413, 'size_exceeded'])
    const { body, headers } = multipart(parts.reverse())
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
    expect(refusal(chunked)).toEqual([413, 'size_exceeded'])
  })

  test('a Content-Length beyond MAX_UPLOAD_MB is refused before the body is read, and counted', async () => {
    const before = await security()
    expect(refusal(await key.upload('notes', 'a.txt', 'x'.repeat(7 * megabyte)))).toEqual([413, 'size_exceeded'])
    expect((await security()).by_reason.size_exceeded).toBe(before.by_reason.size_exceeded + 1)
    expect(await lastCall()).toMatchObject({ status: 'failure', file_id: null, context_key: null })
  })
})

describe('quotas', () => {
  test('a context’s quota is filled to the last byte, and not beyond', async () => {
    const own = await world.tenant()
    await own.context('small', { storage_quota_mb: 1, max_file_size_mb: 2 })
    await own.context('large')
    dataOf(await own.admin.upload('small', 'a.txt', 'x'.repeat(megabyte - 10)), uploaded)
    const refused = await own.admin.upload('small', 'b.txt', 'x'.repeat(11))
    expect(refusal(refused)).toEqual([422, 'quota_exceeded'])
    dataOf(await own.admin.upload('small', 'b.txt', 'x'.repeat(10)), uploaded)
    dataOf(await own.admin.upload('large', 'b.txt', 'x'.repeat(11)), uploaded)
    expect(dataOf(await own.admin.get('/contexts/small')).storage_used_bytes).toBe(megabyte)
    // No check refused it: it is no blocked file.
    expect(dataOf(await own.admin.get('/stats')).security.files_blocked_total).toBe(0)
  })

  test('the tenant’s quota goes over all its contexts; deleting gives room again', async () => {
    const own = await world.tenant({ quotaMb: 1 })
    await own.context('one')
    await own.context('two')
    const { file_id } = dataOf(await own.admin.upload('one', 'a.txt', 'x'.repeat(700_000)), uploaded)
    expect(refusal(await own.admin.upload('two', 'b.txt', 'x'.repeat(700_000)))).toEqual([422, 'quota_exceeded'])
    dataOf(await own.admin.delete(`/files/${file_id}`))
    dataOf(await own.admin.upload('two', 'b.txt', 'x'.repeat(700_000)), uploaded)
  })

  test('checks decide before quota', async () => {
    const own = await world.tenant({ quotaMb: 1 })
    await own.context('notes')
    dataOf(await own.admin.upload('notes', 'a.txt', 'x'.repeat(megabyte)), uploaded)
    expect(refusal(await own.admin.upload('notes', 'a.exe', 'x'))[1]).toBe('invalid_extension')
  })

  test('of many at once at the edge of a quota exactly as many pass as fit', async () => {
    const own = await world.tenant()
    await own.context('edge', { storage_quota_mb: 1 })
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => own.admin.upload('edge', `${index}.txt`, 'x'.repeat(200_000))),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5)
    expect(answers.filter(({ status }) => status === 422)).toHaveLength(7)
    expect(dataOf(await own.admin.get('/contexts/edge')).storage_used_bytes).toBe(1_000_000)
  })
})

describe('parts', () => {
  const file: Part = { name: 'file', filename: 'a.txt', content: 'text' }
  const context: Part = { name: 'context', content: 'notes' }

  test('in any order, metadata with them', async () => {
    const own = await world.tenant()
    await own.context('notes')
    const metadata: Part = { name: 'metadata', content: '{"page":7}' }
    for (const parts of [
      [file, context, metadata],
      [metadata, context, file],
      [context, file, metadata],
    ]) {
      const { file_id } = dataOf(await send(own.admin, parts), uploaded)
      expect(dataOf(await own.admin.get(`/files/${file_id}/metadata`)).metadata).toEqual({ page: 7 })
    }
  })

  const faults: [string, Part[], string[]][] = [
    ['nothing', [], ['context', 'file']],
    ['no file', [context], ['file']],
    ['no context', [file], ['context']],
    ['two files', [context, file, file], ['file']],
    ['a file of another name', [context, file, { ...file, name: 'second' }], ['second']],
    ['no file name', [context, { name: 'file', content: 'text' }], ['file']],
    ['an empty file name', [context, { ...file, filename: '' }], ['file']],
    ['a file name that is all path', [context, { ...file, filename: 'dir/' }], ['file']],
    [
      'a file name of control characters',
      [context, { ...file, disposition: 'form-data; name="file"; filename*=UTF-8\'\'%01%02' }],
      ['file'],
    ],
    ['a file name of dots', [context, { ...file, filename: '..' }], ['file']],
    ['an unknown field', [context, file, { name: 'colour', content: 'red' }], ['colour']],
    ['two contexts', [context, context, file], ['context']],
    ['metadata that is no JSON', [context, file, { name: 'metadata', content: '{' }], ['metadata']],
    ['metadata that is no object', [context, file, { name: 'metadata', content: '[1]' }], ['metadata']],
    ['metadata that is null', [context, file, { name: 'metadata', content: 'null' }], ['metadata']],
    [
      'metadata over 16 KiB',
      [context, file, { name: 'metadata', content: JSON.stringify({ x: 'y'.repeat(16_384) }) }],
      ['metadata'],
    ],
    [
      'metadata over what a field may have',
      [context, file, { name: 'metadata', content: `{"x":"${'y'.repeat(100_000)}"}` }],
      ['metadata'],
    ],
    ['metadata with NUL', [context, file, { name: 'metadata', content: '{"x":"\\u0000"}' }], ['metadata']],
    ['metadata with a number that no double holds', [context, file, { name: 'metadata', content: '{"x":1e400}' }], ['metadata']],
    [
      'several faults',
      [
        { name: 'metadata', content: '7' },
        { name: 'colour', content: 'red' },
      ],
      ['colour', 'context', 'file', 'metadata'],
    ],
    ['an empty context', [{ name: 'context', content: '' }, file], ['context']],
  ]
  test.each(faults)('%s is 400, and a failed call', async (_what, parts, fields) => {
    expect(faultyFields(await send(key, parts))).toEqual(fields)
    expect(await lastCall()).toMatchObject({ operation: 'upload', status: 'failure', file_id: null })
  })

  test('an unknown context is 404, and no context of the call', async () => {
    for (const unknown of ['unknown', 'No Key', 'x'.repeat(200)]) {
      expect(refusal(await send(key, [{ name: 'context', content: unknown }, file]))).toEqual([404, 'not_found'])
      expect(await lastCall()).toMatchObject({ operation: 'upload', status: 'failure', context_key: null })
    }
  })
})

describe('names and types', () => {
  const names: [string, string][] = [
    ['C:\\Users\\me\\report.txt', 'report.txt'],
    ['../../etc/passwd.txt', 'passwd.txt'],
    ['cafe\u0301.txt', 'caf\u00e9.txt'],
    [`${'\u{1F600}'.repeat(100)}.txt`, `${'\u{1F600}'.repeat(62)}.txt`],
    [`${'x'.repeat(300)}.txt`, `${'x'.repeat(251)}.txt`],
    ['a b;c=d.txt', 'a b;c=d.txt'],
    ['ARCHIVE.TXT', 'ARCHIVE.TXT'],
  ]
  test.each(names)('%j is kept as %j', async (given, kept) => {
    const answer = await send(tenant.admin, [
      { name: 'context', content: 'notes' },
      { name: 'file', filename: given.replace(/\\/g, '\\\\'), content: 'text' },
    ])
    expect(nameOf(answer)).toBe(kept)
    expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(255)
  })

  test('control characters and those that turn text around are taken out', async () => {
    const answer = await send(tenant.admin, [
      { name: 'context', content: 'notes' },
      { disposition: 'form-data; name="file"; filename*=UTF-8\'\'a%01b%0D%0A%00%7F%E2%80%AEc.txt', content: 'text' },
    ])
    expect(nameOf(answer)).toBe('abc.txt')
  })

  test('the type is what the content is, never what the client claims', async () => {
    const claim = async (filename: string, content: Uint8Array | string) =>
      dataOf(
        await send(tenant.admin, [
          { name: 'context', content: 'notes' },
          { name: 'file', filename, content, headers: ['Content-Type: text/html'] },
        ]),
        uploaded,
      ).content_type
    expect(await claim('a.png', png())).toBe('image/png')
    expect(await claim('a.pdf', pdf())).toBe('application/pdf')
    expect(await claim('a.txt', 'plain')).toBe('text/plain')
    expect(await claim('a.json', '{"a":1}')).toBe('application/json')
    expect(await claim('a.csv', 'a,b\n1,2\n')).toBe('text/csv')
  })
})

describe('dry runs', () => {
  const report = {
    outcome: 'accepted',
    reason: null,
    checks: expect.any(Array),
    detected_content_type: 'text/plain',
    size_bytes: 4,
    checksum: 'sha256:982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1',
    engine: {
      name: expect.any(String),
      version: expect.any(String),
      signatures_version: expect.any(String),
      signatures_date: aTime,
    },
    validated_at: aTime,
  }
  const dryRun = (caller: Caller, name: string, content: Uint8Array | string) =>
    caller.upload('dry', name, content, { path: '/files/validate' })

  test('give the report of an upload, keep nothing, count nothing, and are a call that succeeded', async () => {
    const own = await world.tenant()
    await own.context('dry')
    const caller = await own.key(['upload'])
    const accepted = dataOf(await dryRun(caller, 'a.txt', 'text'))
    expect(accepted).toEqual({ ...report, engine: expect.objectContaining({ name: expect.any(String) }) })
    expect(accepted.checks.map(({ check, outcome }: { check: string; outcome: string }) => [check, outcome])).toEqual([
      ['invalid_extension', 'passed'],
      ['size_exceeded', 'passed'],
      ['blank_file', 'passed'],
      ['corrupt_file', 'passed'],
      ['virus_detected', 'passed'],
    ])
    for (const check of accepted.checks)
      expect(check).toEqual({
        check: expect.any(String),
        outcome: 'passed',
        message: expect.any(String),
        evidence: expect.any(Object),
        duration_ms: expect.any(Number),
      })
    const rejected = dataOf(await dryRun(caller, 'a.txt', ' '))
    expect(rejected).toMatchObject({ outcome: 'rejected', reason: 'blank_file', size_bytes: 1 })
    expect(rejected.checks.map(({ outcome }: { outcome: string }) => outcome)).toEqual([
      'passed',
      'passed',
      'failed',
      'skipped',
      'skipped',
    ])
    const stats = dataOf(await own.admin.get('/stats'))
    expect(stats.api_calls.by_operation.upload).toBe(2)
    expect(stats.api_calls.by_status).toEqual({ success: 2, failure: 0 })
    expect(stats.files_uploaded.total).toBe(0)
    expect(stats.security.files_blocked_total).toBe(0)
    expect(stats.storage.total_bytes).toBe(0)
    const calls = itemsOf(await own.admin.get(`/stats/logs?api_key_id=${caller.id}`))
    expect(calls).toHaveLength(2)
    expect(calls[0]).toMatchObject({
      operation: 'upload',
      status: 'success',
      file_id: null,
      context_key: 'dry',
      error_message: null,
    })
  })

  test('even one byte too many is a report, and a size that no context allows is refused', async () => {
    const own = await world.tenant()
    await own.context('dry', { max_file_size_mb: 1 })
    expect(dataOf(await dryRun(own.admin, 'a.txt', 'x'.repeat(megabyte + 1)))).toMatchObject({
      outcome: 'rejected',
      reason: 'size_exceeded',
      checksum: null,
    })
    expect(refusal(await dryRun(own.admin, 'a.txt', 'x'.repeat(7 * megabyte)))).toEqual([413, 'size_exceeded'])
    expect(dataOf(await own.admin.get('/stats')).security.files_blocked_total).toBe(0)
  })

  test('take no metadata, need a context, and read an unknown one as unknown', async () => {
    const { body, headers } = multipart([
      { name: 'file', filename: 'a.txt', content: 'text' },
      { name: 'metadata', content: '{}' },
    ])
    const answer = await key.raw('/api/v1/files/validate', { method: 'POST', headers, body })
    expect(faultyFields(answer)).toEqual(['context', 'metadata'])
    expect(refusal(await dryRun(key, 'a.txt', 'x'))).toEqual([404, 'not_found'])
  })

  test('the report that was kept with a file is the one that its upload was judged by', async () => {
    const own = await world.tenant()
    await own.context('dry')
    const { file_id } = dataOf(await own.admin.upload('dry', 'a.txt', 'text'), uploaded)
    const kept = dataOf(await own.admin.get(`/files/${file_id}/validation`))
    expect(Object.keys(kept).sort()).toEqual(Object.keys(report).sort())
    expect(kept).toMatchObject({ outcome: 'accepted', reason: null, checksum: report.checksum, size_bytes: 4 })
  })
})

describe('Idempotency-Key', () => {
  test('the same upload twice is one file, and another body under the key is a mismatch', async () => {
    const own = await world.tenant()
    await own.context('notes')
    const headers = { 'idempotency-key': 'k-1' }
    const first = dataOf(await own.admin.upload('notes', 'a.txt', 'text', { headers }), uploaded)
    expect(dataOf(await own.admin.upload('notes', 'a.txt', 'text', { headers }), uploaded)).toEqual(first)
    expect(refusal(await own.admin.upload('notes', 'a.txt', 'other', { headers }))).toEqual([409, 'idempotency_mismatch'])
    expect(refusal(await own.admin.upload('notes', 'b.txt', 'text', { headers }))).toEqual([409, 'idempotency_mismatch'])
    expect(itemsOf(await own.admin.get('/files'))).toHaveLength(1)
  })

  test('contexts are replayed; a key is not made twice, and its secret not told again', async () => {
    const own = await world.tenant()
    const headers = { 'idempotency-key': 'k-2' }
    const body = { context_key: 'once', display_name: 'Once', allowed_extensions: ['txt'], max_file_size_mb: 1 }
    const first = dataOf(await own.admin.post('/contexts', body, headers), { status: 201 })
    expect(dataOf(await own.admin.post('/contexts', body, headers), { status: 201 })).toEqual(first)
    expect(refusal(await own.admin.post('/contexts', { ...body, max_file_size_mb: 2 }, headers))[1]).toBe('idempotency_mismatch')
    const secret = { 'idempotency-key': 'k-3' }
    const made = dataOf(await own.admin.post('/api-keys', { name: 'x' }, secret), { status: 201, message: true })
    const again = await own.admin.post('/api-keys', { name: 'x' }, secret)
    expect(refusal(again)).toEqual([409, 'conflict'])
    expect(JSON.stringify(again.body)).toContain(made.api_key_id)
    expect(JSON.stringify(again.body)).not.toContain(made.api_key)
    expect(faultyFields(await own.admin.post('/api-keys', { name: 'x' }, { 'idempotency-key': 'x'.repeat(256) }))).toEqual([
      'Idempotency-Key',
    ])
  })
})
