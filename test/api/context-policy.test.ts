import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { encrypted7z } from '../../packages/formats/test/support/samples/archive.js'
import { docx, packed } from '../../packages/formats/test/support/samples/office.js'
import { getData, getGraphqlCode, getInvalidFields, getItems, toStatusAndCode } from '../support/response-assertions.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open({ SCANNER_URL: 'yara:' })
  tenant = await world.createTenant()
})
afterAll(() => world.close())

const asItBegins = {
  retention_days: null,
  trash_days: 0,
  reject_encrypted_files: false,
  reject_active_content: false,
  accept_unscanned: false,
  rescan: true,
}
const anyDocument = { allowed_extensions: ['7z', 'docm', 'docx', 'txt'] }
const withMacros = packed({ ...docx(), 'word/vbaProject.bin': 'x' })
const getPolicyPath = (contextKey: string) => `/contexts/${contextKey}/policy`
const getSecurityStats = async () => getData(await tenant.admin.get('/stats')).security

test('preserves the policy fields that a partial update omits', async () => {
  await tenant.createContext('changing')
  expect(getData(await tenant.admin.get(getPolicyPath('changing')))).toEqual(asItBegins)
  const changed = { ...asItBegins, reject_active_content: true, accept_unscanned: true }
  const input = { reject_active_content: true, accept_unscanned: true }
  expect(getData(await tenant.admin.patch(getPolicyPath('changing'), input))).toEqual(changed)
  // A context returned by the API is also a valid request body.
  expect(getData(await tenant.admin.patch(getPolicyPath('changing'), changed))).toEqual(changed)
  expect(getData(await tenant.admin.patch(getPolicyPath('changing'), {}))).toEqual(changed)
  expect(getData(await tenant.admin.get(getPolicyPath('changing')))).toEqual(changed)
  expect(getData(await tenant.admin.get('/contexts/changing'))).not.toHaveProperty('reject_active_content')
})

test('reports all invalid policy fields together and suggests the nearest name for an unknown field', async () => {
  await tenant.createContext('faulty')
  const response = await tenant.admin.patch(getPolicyPath('faulty'), {
    retention_days: 0,
    trash_days: 366,
    rescan: null,
    accept_unscanned: 'yes',
    reject_encrypted_files: null,
    reject_active_contents: true,
  })
  expect(getInvalidFields(response)).toEqual([
    'accept_unscanned',
    'reject_active_contents',
    'reject_encrypted_files',
    'rescan',
    'retention_days',
    'trash_days',
  ])
  expect(response.body.message).toContain("Did you mean 'reject_active_content'?")
  expect(response.body.message).toContain('`retention_days` must be null or between 1 and 36500')
  expect(getData(await tenant.admin.get(getPolicyPath('faulty')))).toEqual(asItBegins)
  expect(toStatusAndCode(await tenant.admin.patch(getPolicyPath('unknown'), { accept_unscanned: true }))).toEqual([
    404,
    'not_found',
  ])
})

test('sets and clears the retention period and the trash period', async () => {
  await tenant.createContext('aging')
  const set = { retention_days: 36_500, trash_days: 365, rescan: false }
  expect(getData(await tenant.admin.patch(getPolicyPath('aging'), set))).toEqual({ ...asItBegins, ...set })
  expect(getData(await tenant.admin.patch(getPolicyPath('aging'), { trash_days: 0 }))).toMatchObject({ retention_days: 36_500 })
  expect(getData(await tenant.admin.patch(getPolicyPath('aging'), { retention_days: null, rescan: true }))).toEqual(asItBegins)
})

test('audits a policy change, but not an update that changes nothing', async () => {
  const { context_id } = await tenant.createContext('audited')
  getData(await tenant.admin.patch(getPolicyPath('audited'), { reject_encrypted_files: true }))
  getData(await tenant.admin.patch(getPolicyPath('audited'), { reject_encrypted_files: true }))
  const entries = getItems(await tenant.admin.get(`/audit-logs/entity/context/${context_id}`))
  expect(entries.map(({ action, details }: { action: string; details: unknown }) => [action, details])).toEqual([
    ['updated', { change: 'policy', changed: { reject_encrypted_files: { previous: false, new: true } } }],
    ['created', expect.any(Object)],
  ])
})

test('returns and updates a policy over GraphQL', async () => {
  await tenant.createContext('queried')
  const fields = '{ retentionDays trashDays rejectEncryptedFiles rejectActiveContent acceptUnscanned rescan }'
  const changed = await tenant.admin.graphql(
    `mutation { updateContextPolicy(contextKey: "queried", input: { acceptUnscanned: true }) ${fields} }`,
  )
  const read = await tenant.admin.graphql(`{ context(contextKey: "queried") { policy ${fields} } }`)
  expect(read.body.data.context.policy).toEqual(changed.body.data.updateContextPolicy)
  expect(read.body.data.context.policy).toEqual({
    retentionDays: null,
    trashDays: 0,
    rejectEncryptedFiles: false,
    rejectActiveContent: false,
    acceptUnscanned: true,
    rescan: true,
  })
  const lister = await tenant.createKey(['metadata'])
  const rejected = await lister.graphql('{ contexts { data { contextKey policy { rescan } } } }')
  expect(getGraphqlCode(rejected)).toBe('FORBIDDEN')
  expect(rejected.body.data.contexts.data[0].policy).toBeNull()
})

test('rejects a file with active content, and counts it as a corrupt file', async () => {
  await tenant.createContext('plain', anyDocument)
  getData(await tenant.admin.upload('plain', 'kept.docm', withMacros), { status: 201, message: true, timestamp: false })
  getData(await tenant.admin.patch(getPolicyPath('plain'), { reject_active_content: true }))
  const before = await getSecurityStats()
  const key = await tenant.createKey(['upload'])
  const response = await key.upload('plain', 'refused.docm', withMacros)
  expect(toStatusAndCode(response)).toEqual([422, 'active_content'])
  expect(response.body.error.details).toEqual({ active_content: ['VBA macros'] })
  getData(await tenant.admin.upload('plain', 'sound.docx', packed(docx())), { status: 201, message: true, timestamp: false })
  const { by_reason, ...after } = await getSecurityStats()
  expect(after.files_blocked_total).toBe(before.files_blocked_total + 1)
  expect(by_reason).toEqual({ ...before.by_reason, corrupt_file: before.by_reason.corrupt_file + 1 })
  const calls = await tenant.admin.graphql(`{ callLogs(apiKeyId: "${key.id}") { data { status errorCode } } }`)
  expect(calls.body.data.callLogs.data).toEqual([{ status: 'failure', errorCode: 'active_content' }])
})

test('rejects an encrypted file even if scanning is disabled', async () => {
  await tenant.createContext('open', { ...anyDocument, scan_for_viruses: false, reject_corrupt_files: false })
  getData(await tenant.admin.upload('open', 'kept.7z', encrypted7z), { status: 201, message: true, timestamp: false })
  getData(await tenant.admin.patch(getPolicyPath('open'), { reject_encrypted_files: true }))
  const response = await tenant.admin.upload('open', 'refused.7z', encrypted7z)
  expect(toStatusAndCode(response)).toEqual([422, 'encrypted_file'])
  expect(response.body.error.details).toEqual({ encrypted: true })
})

test('accepts an incompletely scanned file if the policy allows it', async () => {
  await tenant.createContext('trusting', anyDocument)
  expect(toStatusAndCode(await tenant.admin.upload('trusting', 'a.7z', encrypted7z))).toEqual([422, 'scan_incomplete'])
  getData(await tenant.admin.patch(getPolicyPath('trusting'), { accept_unscanned: true }))
  const { file_id } = getData(await tenant.admin.upload('trusting', 'a.7z', encrypted7z), {
    status: 201,
    message: true,
    timestamp: false,
  })
  const report = getData(await tenant.admin.get(`/files/${file_id}/validation`))
  expect(report).toMatchObject({ outcome: 'accepted', reason: null })
  expect(report.checks.at(-1)).toMatchObject({ check: 'virus_detected', outcome: 'incomplete' })
})
