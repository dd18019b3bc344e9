import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { getInvalidFields, getItems } from '../support/response-assertions.js'
import { type ApiResponse, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let contexts = 0
beforeAll(async () => {
  world = await World.open()
})
afterAll(() => world.close())

const addKey = () => tenant.admin.post('/api-keys', { name: 'one more' })

/** Each list has a function that adds an item and, if possible, one that removes an item. */
const lists: Record<string, { path: string; id: string; add(): Promise<unknown>; remove?(id: string): Promise<unknown> }> = {
  files: {
    path: '/files?context=notes',
    id: 'file_id',
    add: () => tenant.admin.upload('notes', 'a.txt', 'hello'),
    remove: (id) => tenant.admin.delete(`/files/${id}`),
  },
  'the call log': { path: '/stats/logs?operation=metadata', id: 'call_id', add: () => tenant.admin.get('/files') },
  'audit logs': { path: '/audit-logs?audit_type=api_key', id: 'audit_id', add: addKey },
  'API keys': {
    path: '/api-keys?status=active',
    id: 'api_key_id',
    add: addKey,
    remove: (id) => tenant.admin.post(`/api-keys/${id}/disable`),
  },
  contexts: {
    path: '/contexts?status=active',
    id: 'context_id',
    add: () => tenant.createContext(`more_${++contexts}`),
  },
}

const getNextLink = (response: ApiResponse): string | undefined =>
  /^<\/api\/v1(.*)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1]

describe.each(Object.keys(lists))('next-page links for %s', (name) => {
  const { path, id, add, remove } = lists[name]!

  test('returns each item exactly once through next-page links while items are added and deleted', async () => {
    tenant = await world.createTenant()
    await tenant.createContext('notes')
    for (let index = 0; index < 8; index++) await add()
    const idsOn = (response: ApiResponse) => getItems(response).map((item: Record<string, string>) => item[id]!)
    const before = idsOn(await tenant.admin.get(`${path}&page_size=100`))
    const observed: string[] = []
    for (let next: string | undefined = `${path}&page_size=3`; next !== undefined; ) {
      const response: ApiResponse = await tenant.admin.get(next)
      observed.push(...idsOn(response))
      expect(response.body.data.pagination.has_next).toBe(getNextLink(response) !== undefined)
      next = getNextLink(response)
      await add()
      if (remove && next !== undefined) await remove(idsOn(response)[0]!)
    }
    // Items added after the first page precede it and must not appear on later pages.
    expect(observed.filter((item) => before.includes(item))).toEqual(before)
    expect(new Set(observed).size).toBe(observed.length)
  })
})

test('omits the next-page link from the last page and from an empty list', async () => {
  tenant = await world.createTenant()
  expect((await tenant.admin.get('/files')).headers.get('link')).toBeNull()
  expect((await tenant.admin.get('/api-keys?page_size=100')).headers.get('link')).toBeNull()
})

test('preserves the filters of a list in its next-page links', async () => {
  tenant = await world.createTenant()
  await addKey()
  const response = await tenant.admin.get('/api-keys?status=active&page_size=1')
  expect(getNextLink(response)).toMatch(/^\/api-keys\?status=active&page_size=1&page=2&after=[\w-]+$/)
  expect((await tenant.admin.get(getNextLink(response)!)).body.data.pagination).toMatchObject({
    page: 2,
    page_size: 1,
    has_previous: true,
  })
})

test('returns 400 for an invalid cursor and for a cursor from another list', async () => {
  tenant = await world.createTenant()
  const cursor = Buffer.from(tenant.admin.id).toString('base64url')
  for (const after of ['nonsense', '', cursor])
    expect(getInvalidFields(await tenant.admin.get(`/files?after=${after}`))).toEqual(['after'])
  expect((await tenant.admin.get(`/api-keys?after=${cursor}`)).status).toBe(200)
})
