import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { getData, getInvalidFields } from '../support/response-assertions.js'
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

describe('invalid context fields', () => {
  const invalidValues: [string, unknown][] = [
    ['context_key', undefined],
    ['context_key', null],
    ['context_key', ''],
    ['context_key', 'Upper'],
    ['context_key', '1st'],
    ['context_key', 'with-dash'],
    ['context_key', 'a'.repeat(64)],
    ['context_key', 'a\n'],
    ['context_key', 7],
    ['display_name', undefined],
    ['display_name', ''],
    ['display_name', 'x'.repeat(256)],
    ['display_name', 'a\0b'],
    ['display_name', '\ud800'],
    ['allowed_extensions', undefined],
    ['allowed_extensions', []],
    ['allowed_extensions', 'pdf'],
    ['allowed_extensions', [7]],
    ['allowed_extensions', [null]],
    ['allowed_extensions', ['']],
    ['allowed_extensions', ['tar.gz']],
    ['allowed_extensions', ['..pdf']],
    ['allowed_extensions', ['x'.repeat(17)]],
    ['allowed_extensions', Array.from({ length: 101 }, (_, index) => `e${index}`)],
    ['max_file_size_mb', undefined],
    ['max_file_size_mb', 0],
    ['max_file_size_mb', 51],
    ['max_file_size_mb', 1.5],
    ['max_file_size_mb', '5'],
    ['max_file_size_mb', 1e12],
    ['description', 7],
    ['storage_path_template', ''],
    ['storage_path_template', '/absolute'],
    ['storage_path_template', 'a/../b'],
    ['storage_path_template', '{tenant_id}'],
    ['storage_path_template', '{year'],
    ['storage_path_template', 'a\u0007b'],
    ['reject_blank_files', 'yes'],
    ['reject_corrupt_files', 1],
    ['scan_for_viruses', 'true'],
    ['storage_quota_mb', 0],
    ['storage_quota_mb', -1],
    ['metadata', []],
    ['metadata', 'text'],
    ['metadata', { big: 'x'.repeat(16 * 1024) }],
    ['metadata', { nul: '\0' }],
    ['status', 'active'],
    ['unheard_of', 1],
    ['__proto__', {}],
  ]
  test.each(invalidValues)('returns 400 for a context with an invalid %s: %j', async (field, value) => {
    const body = Object.entries({ ...createMinimalContext('faulty') }).filter(([name]) => name !== field)
    const text = [...body, ...(value === undefined ? [] : [[field, value]])]
      .map(([name, member]) => `${JSON.stringify(name)}:${JSON.stringify(member)}`)
      .join(',')
    const response = await tenant.admin.post('/contexts', `{${text}}`, { 'content-type': 'application/json' })
    expect(getInvalidFields(response)).toEqual([field])
  })

  test('reports all invalid context fields in one response', async () => {
    const response = await tenant.admin.post('/contexts', {
      context_key: 'No',
      allowed_extensions: [],
      max_file_size_mb: 51,
      storage_quota_mb: 'x',
      colour: 'red',
    })
    expect(getInvalidFields(response)).toEqual([
      'allowed_extensions',
      'colour',
      'context_key',
      'display_name',
      'max_file_size_mb',
      'storage_quota_mb',
    ])
  })

  test('stores metadata of exactly 16 KiB but rejects deeply nested metadata', async () => {
    const metadata = { big: 'x'.repeat(16 * 1024 - '{"big":""}'.length) }
    expect(
      getData(await tenant.admin.post('/contexts', { ...createMinimalContext('big'), metadata }), { status: 201 }).metadata,
    ).toEqual(metadata)
    const deep = `{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`
    const deeper = `{"a":${'['.repeat(400_000)}${']'.repeat(400_000)}}`
    // The second request body exceeds the maximum number of JSON values.
    for (const [fault, nested] of Object.entries({ metadata: deep, body: deeper })) {
      const body = JSON.stringify(createMinimalContext('deep')).replace(/}$/, `,"metadata":${nested}}`)
      const response = await tenant.admin.post('/contexts', body, { 'content-type': 'application/json' })
      expect(getInvalidFields(response)).toEqual([fault])
    }
  })
})

describe('context list pages', () => {
  let own: TestTenant
  beforeAll(async () => {
    own = await world.createTenant()
    for (let index = 0; index < 5; index++) await own.createContext(`c${index}`)
  })
  const page = async (query: string) => {
    const { data, pagination } = getData(await own.admin.get(`/contexts${query}`))
    return { keys: data.map((context: { context_key: string }) => context.context_key), ...pagination }
  }

  test('lists contexts newest first in pages of 20', async () => {
    expect(await page('')).toEqual({
      keys: ['c4', 'c3', 'c2', 'c1', 'c0'],
      page: 1,
      page_size: 20,
      total_items: 5,
      total_pages: 1,
      has_next: false,
      has_previous: false,
    })
    expect(await page('?page=2&page_size=2')).toEqual({
      keys: ['c2', 'c1'],
      page: 2,
      page_size: 2,
      total_items: 5,
      total_pages: 3,
      has_next: true,
      has_previous: true,
    })
  })

  test('returns an empty list of contexts for any page after the last one', async () => {
    expect(await page('?page=4&page_size=2')).toMatchObject({ keys: [], total_items: 5, has_next: false, has_previous: true })
    expect(await page('?page=2147483647&page_size=100')).toMatchObject({ keys: [], page: 2_147_483_647, has_next: false })
  })

  const invalidCases: [string, string[]][] = [
    ['page=0', ['page']],
    ['page=00000000001', ['page']],
    ['page=-1', ['page']],
    ['page=%2B1', ['page']],
    ['page=1.0', ['page']],
    ['page=', ['page']],
    ['page=1e3', ['page']],
    ['page=%201', ['page']],
    ['page=2147483648', ['page']],
    ['page=99999999999999999999', ['page']],
    ['page_size=0', ['page_size']],
    ['page_size=101', ['page_size']],
    ['page_size=', ['page_size']],
    ['page_size=ten', ['page_size']],
    ['page=0&page_size=101&status=gone', ['page', 'page_size', 'status']],
    ['page=1&page=2', ['page']],
    ['status=', ['status']],
    ['status=ACTIVE', ['status']],
  ]
  test.each(invalidCases)('returns 400 for the context list query ?%s', async (query, fields) => {
    expect(getInvalidFields(await own.admin.get(`/contexts?${query}`))).toEqual(fields)
  })

  test('lists up to 100 contexts per page', async () => {
    expect(await page('?page=0000000001&page_size=100')).toMatchObject({ page: 1, page_size: 100, total_items: 5 })
  })
})
