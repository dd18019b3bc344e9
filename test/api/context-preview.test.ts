import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { encrypted7z } from '../../packages/formats/test/support/samples/archive.js'
import { docx, packed } from '../../packages/formats/test/support/samples/office.js'
import { getData, getGraphqlCode, getInvalidFields } from '../support/response-assertions.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open({ SCANNER_URL: 'yara:' })
  tenant = await world.createTenant()
})
afterAll(() => world.close())

const created = { status: 201, message: true, timestamp: false }
const none = {
  invalid_extension: 0,
  size_exceeded: 0,
  blank_file: 0,
  encrypted_file: 0,
  active_content: 0,
  virus_detected: 0,
  scan_incomplete: 0,
}
const preview = async (contextKey: string, body: object) =>
  getData(await tenant.admin.post(`/contexts/${contextKey}/preview`, body))
const uploadFile = async (contextKey: string, name: string, content: Uint8Array | string): Promise<string> =>
  getData(await tenant.admin.upload(contextKey, name, content), created).file_id

test('previews the effect of a policy on stored files by extension and size', async () => {
  await tenant.createContext('plain')
  const csv = await uploadFile('plain', 'table.CSV', 'a,b\n1,2\n')
  await uploadFile('plain', 'exact.txt', 'x'.repeat(1_048_576))
  const large = await uploadFile('plain', 'large.txt', 'x'.repeat(1_048_577))
  const before = getData(await tenant.admin.get('/contexts/plain'))
  expect(await preview('plain', { allowed_extensions: ['txt', '.PDF'], max_file_size_mb: 1 })).toEqual({
    files: 3,
    would_be_rejected: 2,
    undecided: 0,
    by_reason: { ...none, invalid_extension: 1, size_exceeded: 1 },
    sample: [
      {
        file_id: large,
        original_filename: 'large.txt',
        reason: 'size_exceeded',
        message: expect.stringContaining('1048577 bytes'),
      },
      {
        file_id: csv,
        original_filename: 'table.CSV',
        reason: 'invalid_extension',
        message: expect.stringContaining('Allowed extensions: txt, pdf'),
      },
    ],
  })
  expect(await preview('plain', {})).toEqual({ files: 3, would_be_rejected: 0, undecided: 0, by_reason: none, sample: [] })
  expect(getData(await tenant.admin.get('/contexts/plain'))).toEqual(before)
  expect(getData(await tenant.admin.get('/contexts/plain/versions')).pagination.total_items).toBe(1)
})

test('previews the effect of a policy on encrypted files, active content and incompletely scanned files', async () => {
  await tenant.createContext('open', { allowed_extensions: ['7z', 'docm', 'docx'] })
  getData(await tenant.admin.patch('/contexts/open/policy', { accept_unscanned: true }))
  const locked = await uploadFile('open', 'locked.7z', encrypted7z)
  const active = await uploadFile('open', 'macros.docm', packed({ ...docx(), 'word/vbaProject.bin': 'x' }))
  await uploadFile('open', 'sound.docx', packed(docx()))
  const policy = { reject_encrypted_files: true, reject_active_content: true }
  const response = await preview('open', { policy })
  expect(response).toMatchObject({
    files: 3,
    would_be_rejected: 2,
    undecided: 0,
    by_reason: { ...none, encrypted_file: 1, active_content: 1 },
  })
  expect(response.sample.map((file: { file_id: string; reason: string }) => [file.file_id, file.reason])).toEqual([
    [active, 'active_content'],
    [locked, 'encrypted_file'],
  ])
  expect(await preview('open', { policy: { accept_unscanned: false } })).toMatchObject({
    would_be_rejected: 1,
    by_reason: { ...none, scan_incomplete: 1 },
  })
})

test('reports a file as undecided in a policy preview if its content would have to be read', async () => {
  await tenant.createContext('lax', { reject_blank_files: false, reject_corrupt_files: false, scan_for_viruses: false })
  await uploadFile('lax', 'empty.txt', '')
  await uploadFile('lax', 'text.txt', 'text')
  expect(await preview('lax', {})).toMatchObject({ files: 2, would_be_rejected: 0, undecided: 0 })
  expect(await preview('lax', { reject_blank_files: true })).toMatchObject({
    would_be_rejected: 1,
    undecided: 1,
    by_reason: { ...none, blank_file: 1 },
  })
  expect(await preview('lax', { scan_for_viruses: true })).toMatchObject({ would_be_rejected: 0, undecided: 2 })
  expect(await preview('lax', { reject_corrupt_files: true })).toMatchObject({ would_be_rejected: 0, undecided: 2 })
})

test('uses the newest report in a policy preview, and reports missing checks as undecided', async () => {
  await tenant.createContext('renewed')
  const file = await uploadFile('renewed', 'text.txt', 'text')
  const { pool } = world.database
  const check = (name: string, outcome: string) => ({ check: name, outcome, message: 'x', evidence: {}, durationMs: 1 })
  const report = (virus: string) => ({
    rulesVersion: 1,
    checks: [check('blank_file', 'passed'), check('corrupt_file', 'passed'), check('virus_detected', virus)],
  })
  const add = async (value: object) => {
    const values = [tenant.tenantId, file, JSON.stringify(value)]
    await pool.query('INSERT INTO validation_reports VALUES ($1, $2, clock_timestamp(), $3)', values)
    await pool.query('UPDATE files SET traits = report_traits($3) WHERE tenant_id = $1 AND file_id = $2', values)
  }
  await add(report('failed'))
  expect(await preview('renewed', {})).toMatchObject({ would_be_rejected: 1, by_reason: { ...none, virus_detected: 1 } })
  await add(report('passed'))
  expect(await preview('renewed', {})).toMatchObject({ would_be_rejected: 0, undecided: 0 })
  await pool.query(`UPDATE validation_reports SET report = report - 'rulesVersion' WHERE file_id = $1`, [file])
  // Files stored by earlier versions have no traits.
  await pool.query('UPDATE files SET traits = NULL WHERE file_id = $1', [file])
  expect(await preview('renewed', {})).toMatchObject({ undecided: 0 })
  expect(await preview('renewed', { policy: { reject_encrypted_files: true } })).toMatchObject({
    would_be_rejected: 0,
    undecided: 1,
  })
})

test('returns the same errors for a policy preview as for a policy update', async () => {
  await tenant.createContext('faulty')
  const response = await tenant.admin.post('/contexts/faulty/preview', {
    max_file_size_mb: 0,
    extensions: [],
    policy: { trash_days: 400, retention_days: 1.5, reject_all: true },
  })
  expect(getInvalidFields(response)).toEqual(['extensions', 'max_file_size_mb', 'policy.reject_all', 'policy.retention_days'])
  expect(getInvalidFields(await tenant.admin.post('/contexts/faulty/preview', { policy: { trash_days: 400 } }))).toEqual([
    'policy.trash_days',
  ])
  expect(getInvalidFields(await tenant.admin.post('/contexts/faulty/preview', { policy: [] }))).toEqual(['policy'])
  expect(await preview('faulty', { policy: { retention_days: null } })).toMatchObject({ files: 0 })
})

test('returns the same policy preview over GraphQL as over REST', async () => {
  await tenant.createContext('queried')
  await uploadFile('queried', 'text.txt', 'text')
  const request = (input: string) =>
    tenant.admin.graphql(
      `{ previewContext(contextKey: "queried", input: ${input}) { files wouldBeRejected undecided byReason { invalidExtension } sample { originalFilename reason } } }`,
    )
  expect((await request('{ allowedExtensions: ["pdf"], policy: { trashDays: 3 } }')).body.data.previewContext).toEqual({
    files: 1,
    wouldBeRejected: 1,
    undecided: 0,
    byReason: { invalidExtension: 1 },
    sample: [{ originalFilename: 'text.txt', reason: 'invalid_extension' }],
  })
  expect(getGraphqlCode(await request('{ policy: { trashDays: 400 } }'))).toBe('BAD_USER_INPUT')
})
