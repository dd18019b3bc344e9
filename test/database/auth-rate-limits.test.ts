import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { toAddressGroup } from '../../src/access/address-group.js'
import { ProcessCounter, SharedCounts } from '../../src/access/counters.js'
import { createRateLimitHeaders, openRateLimits, type RateLimits, type RateLimitsOptions } from '../../src/access/rate-limits.js'
import { createSystemActor } from '../../src/platform/actor.js'
import { runInOneWindow } from '../support/clock.js'
import { createTestDatabase } from '../support/database.js'
import { findFreePort } from '../support/free-port.js'
import { waitUntil } from '../support/identity-world.js'
import { describeWith, getProgramPath } from '../support/installed-programs.js'

const actor = (id: string, tenantId = 'ten_1') => ({ ...createSystemActor(tenantId), kind: 'api_key' as const, id })
const opened: RateLimits[] = []
const openLimits = async (options: RateLimitsOptions) => {
  const limits = await openRateLimits(options)
  opened.push(limits)
  return limits
}
afterAll(async () => {
  for (const limits of opened) await limits.close()
})

const countOutcomes = async (count: number, work: () => Promise<unknown>) => {
  const observed: unknown[] = []
  for (let call = 0; call < count; call++) {
    observed.push(
      await work().then(
        (state) => (state as { error?: { code: string } } | undefined)?.error?.code ?? 'passed',
        (error: { code: string }) => error.code,
      ),
    )
  }
  return observed
}

describe('call rate limits', () => {
  test("limits one key's calls per minute and returns 429 with a wait time", () =>
    runInOneWindow(60, async () => {
      const limits = await openLimits({ perMinute: 3 })
      const first = await limits.countCall(actor('key_1'))
      expect(first).toMatchObject({ policy: 'key', limit: 3, remaining: 2 })
      expect(await countOutcomes(4, () => limits.countCall(actor('key_1')))).toEqual([
        'passed',
        'passed',
        'rate_limited',
        'rate_limited',
      ])
      expect(await limits.countCall(actor('key_1'))).toMatchObject({
        policy: 'key',
        remaining: 0,
        error: { retryAfter: expect.any(Number), details: { retry_after: expect.any(Number) } },
      })
      expect(await limits.countCall(actor('key_2'))).toMatchObject({ remaining: 2 })
    }))

  test("limits a tenant's total calls across all keys to five times the limit per key", () =>
    runInOneWindow(60, async () => {
      const limits = await openLimits({ perMinute: 2 })
      for (let key = 0; key < 5; key++)
        expect(await countOutcomes(2, () => limits.countCall(actor(`key_${key}`)))).toEqual(['passed', 'passed'])
      expect(await countOutcomes(1, () => limits.countCall(actor('key_9')))).toEqual(['rate_limited'])
      expect(await countOutcomes(1, () => limits.countCall(actor('key_9', 'ten_2')))).toEqual(['passed'])
    }))

  test("does not count calls above a key's limit towards the tenant's limit", () =>
    runInOneWindow(60, async () => {
      const limits = await openLimits({ perMinute: 2 })
      await countOutcomes(50, () => limits.countCall(actor('key_mad')))
      for (let key = 0; key < 4; key++)
        expect(await countOutcomes(2, () => limits.countCall(actor(`key_${key}`)))).toEqual(['passed', 'passed'])
    }))

  test('returns the IETF rate limit headers', () => {
    const state = { policy: 'key' as const, limit: 100, remaining: 7, resetSeconds: 31 }
    expect(createRateLimitHeaders(state)).toEqual({ 'RateLimit-Policy': '"key";q=100;w=60', RateLimit: '"key";r=7;t=31' })
  })
})

describe('rate limits for rejected credentials', () => {
  test('limits rejected credentials per IP address and counts only failures', () =>
    runInOneWindow(60, async () => {
      const limits = await openLimits({ failedCredentialsPerMinute: 2 })
      expect(await countOutcomes(3, () => limits.countRejectedCredential('198.51.100.1'))).toEqual([
        'passed',
        'passed',
        'rate_limited',
      ])
      expect(await countOutcomes(1, () => limits.countRejectedCredential('198.51.100.2'))).toEqual(['passed'])
      expect(await countOutcomes(1, () => limits.countCall(actor('key_1')))).toEqual(['passed'])
    }))
})

describe('IP address groups', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ])('counts requests from the IP address %s under the group %s', (ip, group) => {
    expect(toAddressGroup(ip)).toBe(group)
  })
})

describe('rate limits on several replicas', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let pool: pg.Pool
  beforeAll(async () => {
    database = await createTestDatabase()
    pool = new pg.Pool({ connectionString: database.url })
    // Ignores connections that close when the database is dropped.
    pool.on('error', () => {})
  })
  afterAll(async () => {
    await pool.end()
    await database.drop()
  })

  const replica = () => {
    const shared = new SharedCounts(pool, (error) => {
      throw error
    })
    return { shared, counter: new ProcessCounter('test', 3600, shared) }
  }

  test('adds the rate limit counts of all replicas to one shared row', () =>
    runInOneWindow(3600, async () => {
      const [one, two] = [replica(), replica()]
      for (let call = 0; call < 30; call++) await one.counter.add('k')
      for (let call = 0; call < 12; call++) await two.counter.add('k')
      await one.shared.exchange()
      await two.shared.exchange()
      expect(await two.counter.add('k')).toMatchObject({ count: 43 })
      expect(await one.counter.add('k')).toMatchObject({ count: 31 })
      await Promise.all([one.shared.exchange(), two.shared.exchange()])
      await one.counter.add('k')
      await one.shared.exchange()
      expect(await one.counter.add('k')).toMatchObject({ count: 46 })
      const { rows } = await pool.query("select key, points from rate_limits where key = 'test:k'")
      expect(rows).toEqual([{ key: 'test:k', points: '45' }])
    }))

  test('keeps rate limit counts that cannot be written, and writes them later', () =>
    runInOneWindow(3600, async () => {
      const { shared, counter } = replica()
      await counter.add('later')
      const down = new pg.Pool({ host: '127.0.0.1', port: 1 })
      const faults: Error[] = []
      const cut = new SharedCounts(down, (error) => faults.push(error))
      const disconnected = new ProcessCounter('test', 3600, cut)
      for (let call = 0; call < 5; call++) await disconnected.add('later')
      await cut.exchange()
      expect(faults).toHaveLength(1)
      expect(await disconnected.add('later')).toMatchObject({ count: 6 })
      await shared.exchange()
      await down.end()
    }))

  test('writes many rate limit counts from several replicas without lock waits', () =>
    runInOneWindow(3600, async () => {
      const [one, two] = [replica(), replica()]
      const keys = Array.from({ length: 3000 }, (_, at) => `many ${at}`)
      for (const key of keys) await one.counter.add(key)
      for (const key of keys.toReversed()) await two.counter.add(key)
      await Promise.all([one.shared.exchange(), two.shared.exchange()])
      const { rows } = await pool.query(
        "select count(*)::int as keys, sum(points)::int as points from rate_limits where key like 'test:many %'",
      )
      expect(rows).toEqual([{ keys: 3000, points: 6000 }])
    }))

  test('enforces one rate limit across several replicas', () =>
    runInOneWindow(60, async () => {
      const one = await openLimits({ perMinute: 10, pool })
      const two = await openLimits({ perMinute: 10, pool })
      const ends = Math.ceil(Date.now() / 60_000) * 60_000
      // A repetition must not see the counts of an attempt during which the window ended.
      const key = `key_${randomUUID()}`
      await countOutcomes(8, () => one.countCall(actor(key, key)))
      let calls = 0
      for (let remaining = 10; remaining > 0; ) {
        remaining = (await two.countCall(actor(key, key))).remaining
        // Replicas that count separately would allow more than ten calls.
        expect(++calls).toBeLessThan(9)
        const isReported = async () =>
          (await pool.query('select 1 from rate_limits where key = $1 and points = $2', [`key:${key}`, 8 + calls])).rowCount === 1
        if (remaining > 0) await waitUntil(async () => (await isReported()) || Date.now() > ends)
        expect(Date.now()).toBeLessThanOrEqual(ends)
      }
    }))

  test('deletes expired rate limit windows', async () => {
    await pool.query("insert into rate_limits values ('old', now() - interval '1 day', 5, now() - interval '1 hour')")
    const { shared } = replica()
    await shared.exchange()
    expect((await pool.query("select 1 from rate_limits where key = 'old'")).rowCount).toBe(0)
  })
})

describeWith('redis-server')('rate limits in Redis', () => {
  let server: ReturnType<typeof spawn>
  let url: string
  beforeAll(async () => {
    const port = await findFreePort()
    server = spawn(getProgramPath('redis-server'), ['--port', port, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    for await (const line of server.stdout!) if (/Ready to accept/.test(String(line))) break
    url = `redis://127.0.0.1:${port}`
  })
  afterAll(async () => {
    if (server.exitCode !== null) return
    server.kill()
    await once(server, 'exit')
  })

  test('uses Redis to count the requests of all replicas', async () => {
    const faults: Error[] = []
    const onError = (error: Error) => void faults.push(error)
    const [one, two] = [
      await openLimits({ perMinute: 5, redisUrl: url, onError }),
      await openLimits({ perMinute: 5, redisUrl: url, onError }),
    ]
    const ready = async (limits: RateLimits, key: string) => {
      await waitUntil(
        async () =>
          (await limits.countCall(actor(key, key))) && (await limits.countCall(actor(key, key)).catch(() => null)) !== null,
      )
    }
    await ready(one, 'warm_1')
    await ready(two, 'warm_2')
    await waitUntil(async () => {
      const key = `key_${Math.random()}`
      await one.countCall(actor(key, key))
      return (await two.countCall(actor(key, key))).remaining === 3
    })
    expect(await countOutcomes(3, () => one.countCall(actor('key_r')))).toEqual(['passed', 'passed', 'passed'])
    expect(await countOutcomes(3, () => two.countCall(actor('key_r')))).toEqual(['passed', 'passed', 'rate_limited'])
    server.kill()
    await once(server, 'exit')
    expect(await countOutcomes(1, () => one.countCall(actor('key_alone')))).toEqual(['passed'])
    expect(await countOutcomes(6, () => one.countCall(actor('key_away')))).toContain('rate_limited')
  })
})
