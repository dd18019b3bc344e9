import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { anyTimestamp, getData, getInvalidFields, toStatusAndCode } from '../support/response-assertions.js'
import { World } from '../support/world.js'

let world: World
beforeAll(async () => {
  world = await World.open()
})
afterAll(() => world.close())

test('returns a tenant with exactly the documented fields', async () => {
  const tenant = await world.createTenant({ name: 'Acme' })
  await tenant.createContext('notes')
  await tenant.admin.upload('notes', 'a.txt', 'twelve bytes')
  expect(getData(await tenant.admin.get('/tenant'))).toEqual({
    tenant_id: tenant.tenantId,
    name: 'Acme',
    storage_quota_mb: 102_400,
    storage_used_bytes: 12,
    created_at: anyTimestamp,
    updated_at: anyTimestamp,
  })
})

test("updates a tenant's name and quota separately", async () => {
  const tenant = await world.createTenant()
  const before = getData(await tenant.admin.get('/tenant'))
  expect(getData(await tenant.admin.patch('/tenant', { name: 'Renamed' }))).toEqual({
    ...before,
    name: 'Renamed',
    updated_at: anyTimestamp,
  })
  expect(getData(await tenant.admin.patch('/tenant', { storage_quota_mb: 7 }))).toMatchObject({
    name: 'Renamed',
    storage_quota_mb: 7,
  })
  expect(getData(await tenant.admin.get('/stats')).storage_quota).toMatchObject({ quota_mb: 7, remaining_formatted: '7 MB' })
  expect(getData(await tenant.admin.patch('/tenant', {}))).toMatchObject({ name: 'Renamed', storage_quota_mb: 7 })
})

test('returns 400 for invalid tenant fields, and reports all of them together', async () => {
  const { admin } = await world.createTenant()
  expect(getInvalidFields(await admin.patch('/tenant', { name: '', storage_quota_mb: 0, tenant_id: 'ten_x' }))).toEqual([
    'name',
    'storage_quota_mb',
    'tenant_id',
  ])
  expect(getInvalidFields(await admin.patch('/tenant', { name: null, storage_quota_mb: null }))).toEqual([
    'name',
    'storage_quota_mb',
  ])
  expect(getInvalidFields(await admin.patch('/tenant', { name: 'x'.repeat(256), storage_quota_mb: 1.5 }))).toEqual([
    'name',
    'storage_quota_mb',
  ])
})

test('returns 403 for the keys and sessions of a suspended tenant, and logs the calls', async () => {
  const tenant = await world.createTenant()
  const key = await tenant.createKey(['metadata'])
  const user = await tenant.createUser(['metadata'])
  const { tenants } = world.app.services
  await tenants.suspend(tenant.tenantId)
  await expectEventually(async () => (await key.get('/files')).status === 403)
  expect(toStatusAndCode(await key.get('/files'))).toEqual([403, 'forbidden'])
  expect(toStatusAndCode(await user.get('/files'))).toEqual([403, 'forbidden'])
  await tenants.resume(tenant.tenantId)
  await expectEventually(async () => (await key.get('/files')).status === 200)
  getData(await user.get('/files'))
  const log = getData(await tenant.admin.get(`/stats/logs?api_key_id=${key.id}&status=failure`)).data
  expect(log[0]).toMatchObject({ operation: 'metadata', status: 'failure', error_message: expect.stringContaining('suspended') })
})

// Polls because other replicas receive a suspension by NOTIFY after a short delay.
async function expectEventually(holds: () => Promise<boolean>) {
  for (let attempt = 0; attempt < 2000; attempt++) {
    if (await holds()) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('The condition was not met in time.')
}

test("allows an admin to raise the quota up to the operator's limit", async () => {
  const tenant = await world.createTenant({ quotaMb: 50 })
  expect(getData(await tenant.admin.patch('/tenant', { storage_quota_mb: 10 })).storage_quota_mb).toBe(10)
  expect(getData(await tenant.admin.patch('/tenant', { storage_quota_mb: 50 })).storage_quota_mb).toBe(50)
  const rejected = await tenant.admin.patch('/tenant', { storage_quota_mb: 51 })
  expect(getInvalidFields(rejected)).toEqual(['storage_quota_mb'])
  expect(rejected.body.message).toContain('at most 50')
  await world.app.services.tenants.setQuota(tenant.tenantId, 20)
  expect(getInvalidFields(await tenant.admin.patch('/tenant', { storage_quota_mb: 21 }))).toEqual(['storage_quota_mb'])
  expect(getData(await tenant.admin.get('/tenant')).storage_quota_mb).toBe(20)
  const standard = await world.createTenant()
  expect(getInvalidFields(await standard.admin.patch('/tenant', { storage_quota_mb: 102_401 }))).toEqual(['storage_quota_mb'])
})
