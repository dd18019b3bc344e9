import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { runInOneWindow } from '../support/clock.js'
import { createTestDatabase } from '../support/database.js'
import { waitUntil } from '../support/identity-world.js'
import { measurePropagation } from '../support/replicas.js'
import { findFreePort, Service } from '../support/service.js'
import { Caller } from '../support/world.js'

const firstKey = 'the-key-of-the-first-tenant-00000'
const email = 'admin@example.com'
const password = 'correct horse battery staple'
const scratch = mkdtempSync(join(tmpdir(), 'assay-replicas-'))
const services: Service[] = []
let database: pg.Pool
let one: Caller
let two: Caller

beforeAll(async () => {
  const { url } = await createTestDatabase()
  database = new pg.Pool({ connectionString: url, max: 2 })
  // Ignores connections that close when the database is dropped.
  database.on('error', () => {})
  const shared = {
    DATABASE_URL: url,
    DATABASE_POOL_SIZE: '5',
    MASTER_KEY: randomBytes(32).toString('base64'),
    STORAGE_URL: `file://${scratch}/blobs`,
    SCANNER_URL: 'none:',
    BOOTSTRAP_API_KEY: firstKey,
    BOOTSTRAP_ADMIN_EMAIL: email,
    BOOTSTRAP_ADMIN_PASSWORD: password,
    RECONCILE_INTERVAL_HOURS: '0',
    RATE_LIMIT_PER_MINUTE: '1000',
  }
  // Both replicas start on an empty database. One of them creates the first tenant and the keys.
  const both = await Promise.all(
    ['one', 'two'].map(async (name) => Service.start({ ...shared, PORT: await findFreePort(), DATA_DIR: join(scratch, name) })),
  )
  services.push(...both)
  ;[one, two] = both.map(({ url }) => new Caller(url, firstKey)) as [Caller, Caller]
})

afterAll(async () => {
  await Promise.all(services.map((service) => service.stop('SIGKILL')))
  await database?.end()
  rmSync(scratch, { recursive: true, force: true })
})

const on = (replica: Caller, credential: string) => new Caller(replica.url, credential)

async function createKey(): Promise<{ id: string; secret: string }> {
  const { body } = await one.post('/api-keys', { name: 'k', scopes: ['metadata'] })
  return { id: body.data.api_key_id, secret: body.data.api_key }
}

async function signIn(replica: Caller): Promise<string> {
  const { body } = await on(replica, '').graphql(
    'mutation ($e: String!, $p: String!) { signIn(email: $e, password: $p) { token } }',
    {
      e: email,
      p: password,
    },
  )
  return body.data.signIn.token
}

const statusOf = (caller: Caller) => async () => (await caller.get('/files')).status

async function measureKeyLifecycle(): Promise<number[]> {
  const { id, secret } = await createKey()
  const there = statusOf(on(two, secret))
  const took = [await measurePropagation(async () => {}, there, 200)]
  for (let time = 0; time < 2; time++) {
    took.push(await measurePropagation(() => one.post(`/api-keys/${id}/disable`), there, 401))
    took.push(await measurePropagation(() => one.post(`/api-keys/${id}/enable`), there, 200))
  }
  took.push(await measurePropagation(() => one.post(`/api-keys/${id}/revoke`), there, 401))
  return took
}

describe('two replicas in two processes with one database', () => {
  test('creates the first tenant only once even if two replicas start together', async () => {
    for (const replica of [one, two]) expect((await replica.get('/tenant')).status).toBe(200)
    const { rows } = await database.query('SELECT count(*) FROM tenants')
    expect(Number(rows[0].count)).toBe(1)
  })

  test('applies each key status change on both replicas within a second', async () => {
    for (const took of await measureKeyLifecycle()) expect(took).toBeLessThan(1000)
  })

  test('applies key status changes on other replicas even if notification connections are repeatedly closed', async () => {
    let cutting = true
    let cut = 0
    const cutter = (async () => {
      while (cutting) {
        const { rowCount } = await database.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'assay identity' AND datname = current_database()",
        )
        cut += rowCount ?? 0
        await sleep(10)
      }
    })()
    try {
      // Repeats because a key's lifecycle may end before the connections are closed again.
      do for (const took of await measureKeyLifecycle()) expect(took).toBeLessThan(1000)
      while (cut < 3)
      const token = await signIn(one)
      const there = statusOf(on(two, token))
      expect(await measurePropagation(async () => {}, there, 200)).toBeLessThan(1000)
      expect(await measurePropagation(() => on(one, token).graphql('mutation { signOut }'), there, 401)).toBeLessThan(1000)
    } finally {
      cutting = false
      await cutter
    }
    // Each replica has one connection. PostgreSQL lists a closed connection until its backend exits.
    await waitUntil(async () => {
      const { rowCount } = await database.query(
        "SELECT 1 FROM pg_stat_activity WHERE application_name = 'assay identity' AND datname = current_database()",
      )
      return rowCount === 2
    })
  })

  test('accepts a session from one replica on the other and ends it on both', async () => {
    const token = await signIn(one)
    const there = statusOf(on(two, token))
    expect(await there()).toBe(200)
    expect(await measurePropagation(() => on(one, token).graphql('mutation { signOut }'), there, 401)).toBeLessThan(1000)
  })

  test('rejects a user on one replica after the user is disabled on the other', async () => {
    const invited = await one.graphql(
      'mutation { inviteUser(input: { email: "eve@example.com", name: "Eve", scopes: [metadata], password: "a password of hers" }) { user { userId } } }',
    )
    const { userId } = invited.body.data.inviteUser.user
    const { body } = await on(two, '').graphql(
      'mutation { signIn(email: "eve@example.com", password: "a password of hers") { token } }',
    )
    const there = statusOf(on(two, body.data.signIn.token))
    expect(await there()).toBe(200)
    const change = (mutation: string) => () => one.graphql(`mutation { ${mutation} { userId } }`)
    expect(
      await measurePropagation(change(`updateUser(userId: "${userId}", input: { scopes: [upload] })`), there, 403),
    ).toBeLessThan(1000)
    expect(await measurePropagation(change(`disableUser(userId: "${userId}")`), there, 401)).toBeLessThan(1000)
  })

  test('publishes the same keys and accepts the same download URLs on both replicas', async () => {
    const [first, second] = await Promise.all([one, two].map((replica) => replica.raw('/.well-known/jwks.json')))
    expect(first!.body).toEqual(second!.body)
    const context = { context_key: 'shared', display_name: 'S', allowed_extensions: ['txt'], max_file_size_mb: 1 }
    await one.post('/contexts', { ...context, scan_for_viruses: false })
    const { body } = await one.upload('shared', 'a.txt', 'from one')
    const { data } = (await two.get(`/files/${body.data.file_id}`)).body
    const path = new URL(data.download_url)
    expect(await (await fetch(`${one.url}${path.pathname}${path.search}`)).text()).toBe('from one')
  })

  test('enforces one rate limit across two replicas', () =>
    runInOneWindow(60, async () => {
      const { secret } = await createKey()
      // Replicas that count separately would each allow 1,000 calls per minute.
      const call = async (replica: Caller) => (await on(replica, secret).get('/contexts')).status
      const spend = async (replica: Caller, times: number) => {
        for (let done = 0; done < times; done += 25) await Promise.all(Array.from({ length: 25 }, () => call(replica)))
      }
      await spend(one, 1000)
      let passed = 0
      while (passed < 600 && (await call(two)) === 200) {
        passed++
        await sleep(passed === 1 ? 0 : 20)
      }
      expect(passed).toBeLessThan(600)
      expect(await call(one)).toBe(429)
    }))
})
