import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { LinkClient, toComparable } from '../support/link-client.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open({ DASHBOARD: 'off' })
  tenant = await world.createTenant()
  await tenant.createContext('notes')
})
afterAll(() => world.close())

const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

describe('web component at /uploader.js', () => {
  test('serves the upload web component to pages on any origin', async () => {
    const { status, headers, body } = await world.unauthenticated.raw('/uploader.js')
    expect(status).toBe(200)
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=3600, stale-while-revalidate=86400',
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
      'content-encoding': expect.stringMatching(/^(br|gzip)$/),
    })
    expect(body).toContain('assay-uploader')
    // A raw request is used because fetch would add `Cache-Control: no-cache`.
    const known = { 'if-none-match': headers.get('etag')!, 'cache-control': 'max-age=0' }
    const again = await world.unauthenticated.raw('/uploader.js', { headers: known })
    expect([again.status, again.body]).toEqual([304, ''])
    expect((await world.unauthenticated.raw('/uploader.js', { method: 'POST' })).status).toBe(405)
  })
})

describe('upload page at /upload/{token}', () => {
  const link = () => LinkClient.create(tenant.admin, 'notes')

  test('keeps the upload link token out of the upload page', async () => {
    const used = await link()
    const page = await used.rules(browser)
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(page.headers.get('referrer-policy')).toBe('no-referrer')
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.headers.get('vary')).toContain('Accept')
    expect(page.body).not.toContain(used.token)
    expect(page.body).not.toMatch(/https?:\/\//)
    expect((await used.rules({ accept: 'application/json' })).body.data.max_files).toBe(1)
    expect((await used.rules({ accept: '*/*' })).body.data.max_files).toBe(1)
  })

  test('returns an identical 404 page for all invalid upload link tokens', async () => {
    const [used, revoked] = [await link(), await link()]
    await used.put('a.txt', 'hello')
    await tenant.admin.delete(`/upload-links/${revoked.id}`)
    const unknown = new LinkClient(`${world.url}/upload/nothing`, {})
    const pages = await Promise.all([used, revoked, unknown].map(async (client) => toComparable(await client.rules(browser))))
    expect(pages[0]).toMatchObject({ status: 404 })
    for (const page of pages) expect(page).toEqual(pages[0])
  })
})
