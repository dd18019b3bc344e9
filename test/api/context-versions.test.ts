import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { anyTimestamp, getData, getInvalidFields, getItems } from '../support/response-assertions.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open({ SCANNER_URL: 'yara:' })
  tenant = await world.createTenant()
})
afterAll(() => world.close())

const versionsOf = async (contextKey: string, query = '') =>
  getItems(await tenant.admin.get(`/contexts/${contextKey}/versions${query}`))
const created = { status: 201, message: true, timestamp: false }

test('creates a new context version for each change to the rules or policy', async () => {
  await tenant.createContext('changing')
  getData(await tenant.admin.patch('/contexts/changing', { allowed_extensions: ['pdf'], scan_for_viruses: false }))
  getData(await tenant.admin.patch('/contexts/changing/policy', { trash_days: 7 }))
  const [third, second, first, ...others] = await versionsOf('changing')
  expect(others).toEqual([])
  expect(first).toEqual({
    version: 1,
    changed_by: tenant.admin.id,
    changed_at: anyTimestamp,
    rules: {
      allowed_extensions: ['txt', 'csv', 'json', 'png', 'pdf'],
      max_file_size_mb: 5,
      reject_blank_files: true,
      reject_corrupt_files: true,
      scan_for_viruses: true,
      policy: {
        retention_days: null,
        trash_days: 0,
        reject_encrypted_files: false,
        reject_active_content: false,
        accept_unscanned: false,
        rescan: true,
      },
    },
  })
  expect(second.version).toBe(2)
  expect(second.rules).toEqual({ ...first.rules, allowed_extensions: ['pdf'], scan_for_viruses: false })
  expect(third.version).toBe(3)
  expect(third.rules).toEqual({ ...second.rules, policy: { ...second.rules.policy, trash_days: 7 } })
})

test('does not create a context version for an update that changes no versioned fields', async () => {
  await tenant.createContext('steady')
  const same = { max_file_size_mb: 5, allowed_extensions: ['.TXT', 'csv', 'json', 'png', 'pdf'], reject_blank_files: true }
  const more = {
    display_name: 'Other',
    description: 'Other',
    metadata: { a: 1 },
    storage_quota_mb: 7,
    storage_path_template: 'other',
    status: 'disabled',
  }
  getData(await tenant.admin.patch('/contexts/steady', { ...same, ...more }))
  getData(await tenant.admin.patch('/contexts/steady/policy', { rescan: true, retention_days: null }))
  expect(await versionsOf('steady')).toHaveLength(1)
})

test('does not create a context version if a PATCH only reorders allowed_extensions', async () => {
  await tenant.createContext('reordered', { allowed_extensions: ['txt', 'pdf', 'png'] })
  const order = ['png', 'pdf', 'txt']
  const changed = await tenant.admin.patch('/contexts/reordered', { allowed_extensions: order })
  expect(getData(changed).allowed_extensions).toEqual(order)
  expect(await versionsOf('reordered')).toHaveLength(1)
  getData(await tenant.admin.patch('/contexts/reordered', { allowed_extensions: [...order, 'csv'] }))
  expect(await versionsOf('reordered')).toHaveLength(2)
})

test('includes the context version in the report of each validated file', async () => {
  await tenant.createContext('judged')
  const before = getData(await tenant.admin.upload('judged', 'a.txt', 'one'), created)
  getData(await tenant.admin.patch('/contexts/judged', { max_file_size_mb: 1 }))
  const after = getData(await tenant.admin.upload('judged', 'b.txt', 'two'), created)
  expect(getData(await tenant.admin.get(`/files/${before.file_id}/validation`)).rules_version).toBe(1)
  expect(getData(await tenant.admin.get(`/files/${after.file_id}/validation`)).rules_version).toBe(2)
  const dry = await tenant.admin.upload('judged', 'c.txt', 'three', { path: '/files/validate' })
  expect(getData(dry).rules_version).toBe(2)
  const key = await tenant.createKey(['upload'])
  await key.upload('judged', 'd.exe', 'four')
  const calls = await tenant.admin.graphql(`{ callLogs(apiKeyId: "${key.id}") { data { validation { outcome rulesVersion } } } }`)
  expect(calls.body.data.callLogs.data).toEqual([{ validation: { outcome: 'rejected', rulesVersion: 2 } }])
})

test('lists context versions newest first over REST and GraphQL', async () => {
  await tenant.createContext('paged')
  for (const size of [1, 2, 3, 4]) getData(await tenant.admin.patch('/contexts/paged', { max_file_size_mb: size }))
  const first = await tenant.admin.get('/contexts/paged/versions?page_size=2')
  expect(getItems(first).map(({ version }: { version: number }) => version)).toEqual([5, 4])
  const [, next] = /<\/api\/v1([^>]+)>/.exec(first.headers.get('link')!)!
  expect(getItems(await tenant.admin.get(next!)).map(({ version }: { version: number }) => version)).toEqual([3, 2])
  expect((await versionsOf('paged', '?page_size=2&page=3'))[0].version).toBe(1)
  expect(getInvalidFields(await tenant.admin.get('/contexts/paged/versions?after=nonsense'))).toEqual(['after'])
  const { body } = await tenant.admin.graphql(
    '{ contextVersions(contextKey: "paged", pageSize: 1) { data { version rules { maxFileSizeMb policy { rescan } } } pagination { totalItems } } }',
  )
  expect(body.data.contextVersions).toEqual({
    data: [{ version: 5, rules: { maxFileSizeMb: 4, policy: { rescan: true } } }],
    pagination: { totalItems: 5 },
  })
})

test('creates consecutive context versions for concurrent changes', async () => {
  await tenant.createContext('raced')
  const sizes = [1, 2, 3, 4, 6, 7, 8, 9]
  await Promise.all(sizes.map((size) => tenant.admin.patch('/contexts/raced', { max_file_size_mb: size })))
  const versions = await versionsOf('raced')
  expect(versions.map(({ version }: { version: number }) => version)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1])
  const current = getData(await tenant.admin.get('/contexts/raced')).max_file_size_mb
  expect(versions[0].rules.max_file_size_mb).toBe(current)
})
