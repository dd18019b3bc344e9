import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { openBucketWorld } from '../support/bucket/world-env.js'
import { waitUntil } from '../support/identity-world.js'
import { getData, getGraphqlCode, getInvalidFields } from '../support/response-assertions.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let fileId: string
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('notes')
  fileId = (await tenant.admin.upload('notes', 'a.txt', 'hello')).body.data.file_id
})
afterAll(() => world.close())

const urlBy = async (by: Caller, query = '') =>
  getData(await by.get(`/files/${fileId}${query}`), { timestamp: false }).download_url as string
const status = async (url: string, init: RequestInit = {}) => {
  const response = await fetch(url, init)
  await response.text()
  return response.status
}

describe('invalid download URLs', () => {
  test.each(['disable', 'revoke'])('rejects a download URL after a `%s` operation on the key that created it', async (move) => {
    const key = await tenant.createKey(['download'])
    const [url, others] = [await urlBy(key), await urlBy(tenant.admin)]
    expect(await status(url)).toBe(200)
    await tenant.admin.post(`/api-keys/${key.id}/${move}`)
    const rejected = await fetch(url)
    expect([rejected.status, ((await rejected.json()) as { message: string }).message]).toEqual([
      403,
      expect.stringContaining('no longer active'),
    ])
    expect(await status(others)).toBe(200)
    if (move === 'revoke') return
    await tenant.admin.post(`/api-keys/${key.id}/enable`)
    expect(await status(url)).toBe(200)
  })

  test('rejects a download URL after the key that created it expires', async () => {
    const key = await tenant.createKey(['download'])
    const url = await urlBy(key)
    await world.database.pool.query("UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE api_key_id = $1", [
      key.id,
    ])
    expect(await status(url)).toBe(403)
  })

  test('rejects a download URL if its creator is disabled, but not if its key is rotated', async () => {
    const user = await tenant.createUser(['download'])
    const url = await urlBy(user)
    expect(await status(url)).toBe(200)
    const { userId } = (await user.graphql('{ me { userId } }')).body.data.me
    await tenant.admin.graphql('mutation ($userId: ID!) { disableUser(userId: $userId) { status } }', { userId })
    expect(await status(url)).toBe(403)

    const key = await tenant.createKey(['download'])
    const rotated = await urlBy(key)
    await tenant.admin.post(`/api-keys/${key.id}/rotate`, { grace_seconds: 0 })
    expect(await status(rotated)).toBe(200)
  })
})

describe('single-use download URLs', () => {
  test('serves a single-use download URL to only one of many concurrent requests', async () => {
    const url = await urlBy(tenant.admin, '?once=true')
    expect(await status(url, { method: 'HEAD' })).toBe(200)
    const all = await Promise.all(Array.from({ length: 8 }, () => status(url)))
    expect(all.sort()).toEqual([200, ...Array(7).fill(403)])
    const { message } = (await (await fetch(url)).json()) as { message: string }
    expect(message).toContain('was already used')
    expect(await status(await urlBy(tenant.admin, '?once=true'))).toBe(200)
  })

  test('creates a single-use download URL only on request', async () => {
    for (const query of ['', '?once=false']) {
      const url = await urlBy(tenant.admin, query)
      expect([await status(url), await status(url)]).toEqual([200, 200])
    }
    expect(getInvalidFields(await tenant.admin.get(`/files/${fileId}?once=yes`))).toEqual(['once'])
    const { body } = await tenant.admin.graphql(
      'mutation ($id: ID!) { createDownloadUrl(fileId: $id, once: true) { downloadUrl } }',
      { id: fileId },
    )
    const { downloadUrl } = body.data.createDownloadUrl
    expect([await status(downloadUrl), await status(downloadUrl)]).toEqual([200, 403])
  })

  test('rejects a request for a single-use download URL if the bucket serves downloads directly', async () => {
    const bucket = await openBucketWorld()
    const other = await World.open(bucket.env)
    try {
      const there = await other.createTenant()
      const { body } = await there.admin.graphql('mutation { createDownloadUrl(fileId: "file_x", once: true) { downloadUrl } }')
      expect(getGraphqlCode({ body } as never)).toBe('BAD_USER_INPUT')
      const refused = await there.admin.get('/files/file_x?once=true')
      expect([refused.status, refused.body.message]).toEqual([
        400,
        expect.stringContaining('does not support single-use download URLs'),
      ])
    } finally {
      await other.close()
      await bucket.close()
    }
  })
})

test('logs each use of a download URL with the IP address and user agent', async () => {
  const key = await tenant.createKey(['download'])
  const url = await urlBy(key)
  const requestId = (await fetch(url, { headers: { 'user-agent': 'courier/7' } })).headers.get('x-request-id')
  await waitUntil(() => world.log.lines.some((line) => line.includes(requestId!) && line.includes('with a download URL')))
  const lines = world.log.lines.filter((line) => line.includes(requestId!)).map((line) => JSON.parse(line))
  expect(lines.find(({ msg }) => msg === 'A file was downloaded with a download URL.')).toMatchObject({
    req: requestId,
    tenant_id: tenant.tenantId,
    file_id: fileId,
    url_by: key.id,
    ip: '127.0.0.1',
    user_agent: 'courier/7',
    status: 200,
    outcome: 'served',
  })
  expect(JSON.stringify(lines)).not.toContain(new URL(url).searchParams.get('signature'))
  expect((await world.unauthenticated.raw('/metrics')).body).toMatch(/assay_url_downloads_total\{outcome="served"\} [1-9]/)
  expect((await world.unauthenticated.raw('/metrics')).body).toMatch(/assay_url_downloads_total\{outcome="refused"\} [1-9]/)
})

test('counts one download for a download URL but logs every request to it', async () => {
  const own = await world.createTenant()
  await own.createContext('notes')
  const uploaded = (await own.admin.upload('notes', 'a.txt', 'hello')).body.data.file_id
  const { download_url: url } = getData(await own.admin.get(`/files/${uploaded}`), { timestamp: false })
  expect([await status(url), await status(url), await status(`${url}x`)]).toEqual([200, 200, 403])
  expect(getData(await own.admin.get('/stats')).overview.total_downloads).toBe(1)
  const fetched = () => world.log.lines.map((line) => JSON.parse(line)).filter(({ path }) => path === `/download/${uploaded}`)
  await waitUntil(async () => fetched().length === 3)
  expect(
    fetched()
      .map((line) => line.status)
      .sort(),
  ).toEqual([200, 200, 403])
  const { components } = (await world.unauthenticated.raw('/api/v1/openapi.json')).body
  expect(components.schemas.StatsOverview.properties.total_downloads.description).toMatch(
    /^Total number of download URLs ever created/,
  )
})
