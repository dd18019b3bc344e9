import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { anyId, anyTimestamp, getData, getInvalidFields, getItems, toStatusAndCode } from '../support/response-assertions.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open({ MAX_UPLOAD_MB: '50' })
  tenant = await world.createTenant()
})
afterAll(() => world.close())

const createMinimalContext = (contextKey: string) => ({
  context_key: contextKey,
  display_name: 'Invoices',
  allowed_extensions: ['pdf'],
  max_file_size_mb: 5,
})

test('returns a new context with the documented fields and defaults', async () => {
  const response = await tenant.admin.post('/contexts', createMinimalContext('defaults'))
  const expected = {
    context_id: anyId('ctx'),
    context_key: 'defaults',
    tenant_id: tenant.tenantId,
    display_name: 'Invoices',
    description: '',
    allowed_extensions: ['pdf'],
    max_file_size_mb: 5,
    storage_path_template: '{context_key}/{year}/{month}',
    reject_blank_files: true,
    reject_corrupt_files: true,
    scan_for_viruses: true,
    storage_quota_mb: 10_240,
    storage_used_bytes: 0,
    status: 'active',
    metadata: {},
    created_at: anyTimestamp,
    updated_at: anyTimestamp,
  }
  const created = getData(response, { status: 201 })
  expect(created).toEqual(expected)
  expect(getData(await tenant.admin.get('/contexts/defaults'))).toEqual(created)
  expect(getItems(await tenant.admin.get('/contexts?page_size=1'))[0]).toEqual(created)
  expect(getData(await tenant.admin.patch('/contexts/defaults', { description: 'd' }))).toEqual({ ...expected, description: 'd' })
  expect(getData(await tenant.admin.delete('/contexts/defaults'))).toEqual({
    context_id: created.context_id,
    context_key: 'defaults',
  })
  expect(toStatusAndCode(await tenant.admin.get('/contexts/defaults'))).toEqual([404, 'not_found'])
})

test('stores every field of a new context', async () => {
  const all = {
    ...createMinimalContext('everything'),
    display_name: 'ü'.repeat(255),
    description: 'Line one\nline two',
    storage_path_template: 'a/{year}-{month}/{context_key}',
    reject_blank_files: false,
    reject_corrupt_files: false,
    scan_for_viruses: false,
    storage_quota_mb: 1,
    max_file_size_mb: 50,
    metadata: { team: 'billing', nested: { list: [1, null, '€'] } },
  }
  expect(getData(await tenant.admin.post('/contexts', all), { status: 201 })).toMatchObject(all)
})

test("stores a context's extensions in lower case, without dots or duplicates", async () => {
  const { allowed_extensions } = getData(
    await tenant.admin.post('/contexts', {
      ...createMinimalContext('spellings'),
      allowed_extensions: ['.PDF', 'pdf', 'Docx', '.docx', '7z'],
    }),
    { status: 201 },
  )
  expect(allowed_extensions).toEqual(['pdf', 'docx', '7z'])
  expect(getData(await tenant.admin.patch('/contexts/spellings', { allowed_extensions: ['.TXT', 'txt'] }))).toMatchObject({
    allowed_extensions: ['txt'],
  })
})

test('rejects a duplicate context key only within the same tenant', async () => {
  const other = await world.createTenant()
  getData(await tenant.admin.post('/contexts', createMinimalContext('twice')), { status: 201 })
  expect(toStatusAndCode(await tenant.admin.post('/contexts', createMinimalContext('twice')))).toEqual([409, 'conflict'])
  getData(await other.admin.post('/contexts', createMinimalContext('twice')), { status: 201 })
})

test('preserves the key and the omitted fields when a context is updated', async () => {
  const before = await tenant.createContext('changing', { metadata: { a: 1 } })
  const changed = getData(
    await tenant.admin.patch('/contexts/changing', {
      display_name: 'New',
      max_file_size_mb: 7,
      reject_blank_files: false,
      metadata: { b: 2 },
      storage_quota_mb: 3,
      storage_path_template: 'x/{year}',
    }),
  )
  expect(changed).toEqual({
    ...before,
    display_name: 'New',
    max_file_size_mb: 7,
    reject_blank_files: false,
    metadata: { b: 2 },
    storage_quota_mb: 3,
    storage_path_template: 'x/{year}',
    updated_at: anyTimestamp,
  })
  expect(getInvalidFields(await tenant.admin.patch('/contexts/changing', { context_key: 'other' }))).toEqual(['context_key'])
  expect(
    getInvalidFields(
      await tenant.admin.patch('/contexts/changing', {
        display_name: null,
        max_file_size_mb: 51,
        status: 'gone',
        storage_used_bytes: 0,
      }),
    ),
  ).toEqual(['display_name', 'max_file_size_mb', 'status', 'storage_used_bytes'])
  expect(toStatusAndCode(await tenant.admin.patch('/contexts/unknown', { display_name: 'x' }))).toEqual([404, 'not_found'])
  expect(toStatusAndCode(await tenant.admin.patch('/contexts/No%20Key', { display_name: 'x' }))).toEqual([404, 'not_found'])
})

test('rejects uploads to a disabled context but keeps its stored files', async () => {
  await tenant.createContext('closing')
  const { file_id } = getData(await tenant.admin.upload('closing', 'a.txt', 'text'), {
    status: 201,
    message: true,
    timestamp: false,
  })
  expect(getData(await tenant.admin.patch('/contexts/closing', { status: 'disabled' })).status).toBe('disabled')
  const rejected = await tenant.admin.upload('closing', 'b.txt', 'text')
  expect(toStatusAndCode(rejected)).toEqual([409, 'conflict'])
  getData(await tenant.admin.get(`/files/${file_id}/metadata`))
  const disabled = getItems(await tenant.admin.get('/contexts?status=disabled'))
  expect(disabled.map((context: { context_key: string }) => context.context_key)).toEqual(['closing'])
  expect(getData(await tenant.admin.patch('/contexts/closing', { status: 'active' })).status).toBe('active')
  getData(await tenant.admin.upload('closing', 'b.txt', 'text'), { status: 201, message: true, timestamp: false })
})

test('rejects the deletion of a context that contains files', async () => {
  await tenant.createContext('held')
  const { file_id } = (await tenant.admin.upload('held', 'a.txt', 'text')).body.data
  expect(toStatusAndCode(await tenant.admin.delete('/contexts/held'))).toEqual([409, 'conflict'])
  getData(await tenant.admin.delete(`/files/${file_id}`))
  getData(await tenant.admin.delete('/contexts/held'))
  expect(toStatusAndCode(await tenant.admin.delete('/contexts/held'))).toEqual([404, 'not_found'])
  // A deleted context key can be reused without inheriting the old context's usage.
  expect(await tenant.createContext('held')).toMatchObject({ storage_used_bytes: 0 })
})
