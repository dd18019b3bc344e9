import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createSystemActor } from '../../src/platform/actor.js'
import { runInOneWindow } from '../support/clock.js'
import { createMultipartBody } from '../support/multipart.js'
import { parseResponse, RawHttp } from '../support/raw-exchange.js'
import { getData, getGraphqlCode, getItems, toStatusAndCode } from '../support/response-assertions.js'
import { type Caller, World } from '../support/world.js'

let world: World
const others: World[] = []
beforeAll(async () => {
  world = await World.open()
})
afterAll(async () => {
  for (const other of others) await other.close()
  await world.close()
})

async function openVariant(env: Record<string, string>): Promise<World> {
  const other = await World.open(env, world)
  others.push(other)
  return other
}

const body = createMultipartBody([
  { name: 'context', content: 'inbox' },
  { name: 'file', filename: 'a.txt', content: `text ${'x'.repeat(3000)}` },
])
/** Starts an upload and waits until the service accepts its headers. */
async function startUpload(url: string, key: Caller): Promise<RawHttp> {
  const raw = await RawHttp.open(url)
  raw.write(
    `POST /api/v1/files/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.credential}\r\nContent-Type: ${body.headers['content-type']}\r\n` +
      `Content-Length: ${body.body.length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`,
  )
  return raw
}
const isAdmitted = async (raw: RawHttp) => (await raw.waitForText('\r\n\r\n')).startsWith('HTTP/1.1 100')
async function finish(raw: RawHttp): Promise<number> {
  raw.write(body.body)
  return parseResponse(await raw.readAll()).status
}

describe('rate limits per minute', () => {
  let limited: World
  beforeAll(async () => {
    limited = await openVariant({ RATE_LIMIT_PER_MINUTE: '5' })
  })
  const at = (caller: Caller) => limited.createCaller(caller.credential)

  test('returns 429 with Retry-After and the IETF headers for a rate-limited key', () =>
    runInOneWindow(60, async () => {
      const tenant = await world.createTenant()
      const [key, otherKey] = [await tenant.createKey(['metadata']), await tenant.createKey(['metadata'])]
      for (let remaining = 4; remaining >= 0; remaining--) {
        const response = await at(key).get('/files')
        expect(response.status).toBe(200)
        expect(response.headers.get('ratelimit-policy')).toBe('"key";q=5;w=60')
        expect(response.headers.get('ratelimit')).toMatch(new RegExp(`^"key";r=${remaining};t=\\d+$`))
      }
      const rejected = await at(key).get('/files')
      expect(toStatusAndCode(rejected)).toEqual([429, 'rate_limited'])
      expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(Number(rejected.headers.get('retry-after'))).toBeLessThanOrEqual(60)
      expect(rejected.headers.get('ratelimit-policy')).toBe('"key";q=5;w=60')
      expect(rejected.headers.get('ratelimit')).toMatch(/^"key";r=0;t=\d+$/)
      expect((await at(otherKey).get('/files')).status).toBe(200)
      const logged = getItems(await tenant.admin.get(`/stats/logs?api_key_id=${key.id}`))
      expect(logged.map((call: Record<string, string>) => call.status)).toEqual(['failure', ...Array(5).fill('success')])
      expect(logged[0].error_message).toMatch(/^Too many calls by this credential\. The limit is 5 per minute\./)
    }))

  test('counts 403 and 404 responses and GraphQL root fields towards the rate limit', () =>
    runInOneWindow(60, async () => {
      const tenant = await world.createTenant()
      const [key, other] = [await tenant.createKey(['upload']), await tenant.createKey(['metadata'])]
      for (let time = 0; time < 5; time++) expect((await at(key).get('/files')).status).toBe(403)
      expect(toStatusAndCode(await at(key).get('/files'))).toEqual([429, 'rate_limited'])
      const many = await at(other).graphql(
        `{ ${[1, 2, 3, 4, 5, 6, 7].map((alias) => `a${alias}: files { pagination { page } }`).join(' ')} }`,
      )
      expect(Object.values(many.body.data).filter((page) => page === null)).toHaveLength(2)
      expect(many.body.errors.map(({ extensions }: { extensions: { code: string } }) => extensions.code)).toEqual(
        Array(2).fill('RATE_LIMITED'),
      )
      expect(Number(many.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(many.headers.get('ratelimit')).toMatch(/r=0/)
    }))

  test('rejects a request above the rate limit before reading its body', () =>
    runInOneWindow(60, async () => {
      const tenant = await world.createTenant()
      await tenant.createContext('inbox')
      const key = await tenant.createKey(['upload'])
      for (let time = 0; time < 5; time++) expect((await at(key).upload('inbox', 'a.txt', 'a')).status).toBe(201)
      const raw = await startUpload(limited.url, key)
      const { status, headers } = parseResponse(await raw.waitForText('}'))
      raw.close()
      expect([status, headers['retry-after']]).toEqual([429, expect.stringMatching(/^\d+$/)])
      expect(getItems(await tenant.admin.get(`/stats/logs?api_key_id=${key.id}`))[0]).toMatchObject({
        operation: 'upload',
        status: 'failure',
      })
    }))

  test("limits a tenant's requests to five times the limit per user or key", () =>
    runInOneWindow(60, async () => {
      const tenant = await world.createTenant()
      const user = await tenant.createUser(['metadata'])
      for (let time = 0; time < 5; time++) expect((await at(user).get('/files')).status).toBe(200)
      expect(toStatusAndCode(await at(user).get('/files'))).toEqual([429, 'rate_limited'])
      // Keys are created without HTTP because calls would count towards the tenant's rate limit.
      const { apiKeys } = world.app.services
      const make = () => apiKeys.create(createSystemActor(tenant.tenantId), { name: 'Key', scopes: ['metadata'] })
      const keys = (await Promise.all(Array.from({ length: 5 }, make))).map(({ apiKey }) => world.createCaller(apiKey))
      const statuses: number[] = []
      for (const key of keys) for (let time = 0; time < 5; time++) statuses.push((await at(key).get('/files')).status)
      expect(statuses.filter((status) => status === 200)).toHaveLength(20)
      const last = await at(keys[4]!).get('/files')
      expect(last.body.message).toMatch(/limit is 25 per minute|limit is 5 per minute/)
      expect((await at(await (await world.createTenant()).createKey(['metadata'])).get('/files')).status).toBe(200)
    }))
})

test('limits invalid credentials per IP address without rejecting valid credentials', () =>
  runInOneWindow(60, async () => {
    const tenant = await world.createTenant()
    const { limits } = world.app.services
    const unauthenticated = world.createCaller(`assay_${'x'.repeat(43)}`)
    expect(toStatusAndCode(await unauthenticated.get('/contexts'))).toEqual([401, 'unauthenticated'])
    for (let time = 0; time < 1000; time++) await limits.countRejectedCredential('127.0.0.1').catch(() => {})
    expect(toStatusAndCode(await unauthenticated.get('/contexts'))).toEqual([429, 'rate_limited'])
    expect(getGraphqlCode(await unauthenticated.graphql('{ me { id } }'))).toBe('RATE_LIMITED')
    expect((await tenant.admin.get('/contexts')).status).toBe(200)
    expect((await world.unauthenticated.raw('/health/live')).status).toBe(200)
  }))

function countStatements({ database: { pool } }: Pick<World, 'database'>, name: string): () => number {
  const query = pool.query.bind(pool) as (...args: unknown[]) => unknown
  let count = 0
  const counted = (...args: unknown[]) => {
    if ((args[0] as { name?: string }).name === name) count++
    return query(...args)
  }
  Object.assign(pool, { query: counted })
  return () => count
}

test('checks many guessed keys with few database statements', async () => {
  const tenant = await world.createTenant()
  const fresh = await tenant.createKey(['metadata'])
  const flooded = await openVariant({})
  const statements = countStatements(flooded, 'api-keys-by-hash')
  const guesses = 800
  let remaining = guesses
  const guess = async () => {
    while (remaining-- > 0) {
      const { status } = await flooded.createCaller(`assay_${String(remaining).padStart(43, 'x')}`).get('/contexts')
      expect([401, 429]).toContain(status)
    }
  }
  const began = performance.now()
  const flood = Promise.all(Array.from({ length: 64 }, guess))
  expect((await flooded.createCaller(fresh.credential).get('/files')).status).toBe(200)
  await flood
  // A flood takes longer on a slow machine, so 20 statements per second are allowed.
  const seconds = (performance.now() - began) / 1000
  expect(statements()).toBeLessThan(guesses / 4 + 25 * seconds)
  const late = await tenant.createKey(['metadata'])
  expect((await flooded.createCaller(late.credential).get('/files')).status).toBe(200)
})

test('checks guessed log tokens with at most one database statement per second', () =>
  runInOneWindow(60, async () => {
    const tenant = await world.createTenant()
    const token: string = getData(await tenant.admin.post('/log/share', {}), { status: 201, message: true }).token
    const flooded = await openVariant({})
    const statements = countStatements(flooded, 'log-shares-presented')
    const { limits } = flooded.app.services
    for (let time = 0; time < 1000; time++) await limits.countRejectedCredential('127.0.0.1').catch(() => {})
    const began = performance.now()
    const guess = async (_: unknown, nth: number) => {
      const guessed = token.slice(0, -12) + String(nth).padStart(12, 'x')
      expect(toStatusAndCode(await flooded.createCaller(guessed).get('/log/checkpoint'))).toEqual([429, 'rate_limited'])
    }
    const flood = Promise.all(Array.from({ length: 200 }, guess))
    expect((await flooded.createCaller(token).get('/log/checkpoint')).status).toBe(200)
    await flood
    expect(statements()).toBeLessThanOrEqual(1 + (performance.now() - began) / 1000)
  }))

describe('concurrent upload limits', () => {
  test('limits concurrent uploads per credential, per tenant and in total', async () => {
    const small = await openVariant({ MAX_UPLOADS_AT_ONCE: '8' })
    const tenants = await Promise.all(Array.from({ length: 4 }, () => world.createTenant()))
    for (const tenant of tenants) await tenant.createContext('inbox')
    const [one, two, three, four] = tenants.map(({ admin }) => admin) as [Caller, Caller, Caller, Caller]
    const take = async (key: Caller, count: number) => {
      const startedUploads = await Promise.all(Array.from({ length: count }, () => startUpload(small.url, key)))
      expect(await Promise.all(startedUploads.map(isAdmitted))).toEqual(Array(count).fill(true))
      return startedUploads
    }
    const expectRefused = async (key: Caller) => {
      const over = await startUpload(small.url, key)
      const { status, headers } = parseResponse(await over.waitForText('}'))
      over.close()
      expect([status, headers['retry-after']]).toEqual([429, '1'])
    }
    const other = await tenants[0]!.createKey(['upload'])
    const held = await take(one, 2)
    await expectRefused(one)
    held.push(...(await take(other, 2)))
    await expectRefused(other)
    held.push(...(await take(two, 2)))
    await expectRefused(two)
    held.push(...(await take(three, 2)))
    await expectRefused(four)
    // Upload limits do not affect other requests.
    expect((await small.createCaller(one.credential).get('/files')).status).toBe(200)
    expect(await finish(held[0]!)).toBe(201)
    expect((await small.createCaller(four.credential).upload('inbox', 'a.txt', 'a')).status).toBe(201)
    held[1]!.close()
    // Polls because a slot is freed shortly after the response.
    const getPosition = async (key: Caller) => {
      for (;;) {
        const raw = await startUpload(small.url, key)
        if (await isAdmitted(raw)) return raw
        raw.close()
        await sleep(10)
      }
    }
    held.push(await getPosition(four), await getPosition(four))
    expect(await Promise.all(held.slice(2).map(finish))).toEqual(Array(8).fill(201))
  })

  test('accepts 64 concurrent uploads with one key by default', async () => {
    const tenant = await world.createTenant()
    await tenant.createContext('inbox')
    const held = await Promise.all(Array.from({ length: 64 }, () => startUpload(world.url, tenant.admin)))
    expect(await Promise.all(held.map(isAdmitted))).toEqual(Array(64).fill(true))
    expect(await Promise.all(held.map(finish))).toEqual(Array(64).fill(201))
  })
})
