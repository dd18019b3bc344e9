import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createMultipartBody } from '../support/multipart.js'
import { anyTimestamp, getData, getInvalidFields, getItems, toStatusAndCode } from '../support/response-assertions.js'
import { type Caller, World } from '../support/world.js'

const megabyte = 1_048_576
let world: World
beforeAll(async () => {
  world = await World.open({ MAX_UPLOAD_MB: '6' })
})
afterAll(() => world.close())

const uploaded = { status: 201, message: true, timestamp: false }

describe('dry runs', () => {
  const report = {
    outcome: 'accepted',
    reason: null,
    rules_version: 1,
    checks: expect.any(Array),
    detected_content_type: 'text/plain',
    size_bytes: 4,
    checksum: 'sha256:982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1',
    engine: {
      name: expect.any(String),
      version: expect.any(String),
      signatures_version: expect.any(String),
      signatures_date: anyTimestamp,
    },
    validated_at: anyTimestamp,
  }
  const dryRun = (caller: Caller, name: string, content: Uint8Array | string) =>
    caller.upload('dry', name, content, { path: '/files/validate' })

  test('returns the report of a dry run without storing or counting the file', async () => {
    const own = await world.createTenant()
    await own.createContext('dry')
    const caller = await own.createKey(['upload'])
    const accepted = getData(await dryRun(caller, 'a.txt', 'text'))
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
    const rejected = getData(await dryRun(caller, 'a.txt', ' '))
    expect(rejected).toMatchObject({ outcome: 'rejected', reason: 'blank_file', size_bytes: 1 })
    expect(rejected.checks.map(({ outcome }: { outcome: string }) => outcome)).toEqual([
      'passed',
      'passed',
      'failed',
      'skipped',
      'skipped',
    ])
    const stats = getData(await own.admin.get('/stats'))
    expect(stats.api_calls.by_operation.upload).toBe(2)
    expect(stats.api_calls.by_status).toEqual({ success: 2, failure: 0 })
    expect(stats.files_uploaded.total).toBe(0)
    expect(stats.security.files_blocked_total).toBe(0)
    expect(stats.storage.total_bytes).toBe(0)
    const calls = getItems(await own.admin.get(`/stats/logs?api_key_id=${caller.id}`))
    expect(calls).toHaveLength(2)
    expect(calls[0]).toMatchObject({
      operation: 'upload',
      status: 'success',
      file_id: null,
      context_key: 'dry',
      error_message: null,
    })
  })

  test('returns a dry-run report for a file that exceeds the context limit by one byte', async () => {
    const own = await world.createTenant()
    await own.createContext('dry', { max_file_size_mb: 1 })
    expect(getData(await dryRun(own.admin, 'a.txt', 'x'.repeat(megabyte + 1)))).toMatchObject({
      outcome: 'rejected',
      reason: 'size_exceeded',
      checksum: null,
    })
    expect(toStatusAndCode(await dryRun(own.admin, 'a.txt', 'x'.repeat(7 * megabyte)))).toEqual([413, 'size_exceeded'])
    expect(getData(await own.admin.get('/stats')).security.files_blocked_total).toBe(0)
  })

  test('rejects a dry run with metadata, without a context or with an unknown context', async () => {
    const key = await (await world.createTenant()).createKey(['upload', 'metadata'])
    const { body, headers } = createMultipartBody([
      { name: 'file', filename: 'a.txt', content: 'text' },
      { name: 'metadata', content: '{}' },
    ])
    const response = await key.raw('/api/v1/files/validate', { method: 'POST', headers, body })
    expect(getInvalidFields(response)).toEqual(['context', 'metadata'])
    expect(toStatusAndCode(await dryRun(key, 'a.txt', 'x'))).toEqual([404, 'not_found'])
  })

  test('returns the same report for a dry run as for an upload', async () => {
    const own = await world.createTenant()
    await own.createContext('dry')
    const { file_id } = getData(await own.admin.upload('dry', 'a.txt', 'text'), uploaded)
    const stored = getData(await own.admin.get(`/files/${file_id}/validation`))
    expect(Object.keys(stored).sort()).toEqual(Object.keys(report).sort())
    expect(stored).toMatchObject({ outcome: 'accepted', reason: null, checksum: report.checksum, size_bytes: 4 })
  })
})
