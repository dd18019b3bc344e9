import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { ReplicatedDatabase } from '../support/replicated-database.js'
import { type ApiResponse, Caller, type TestTenant, World } from '../support/world.js'

let databases: ReplicatedDatabase
let world: World
/** Another service replica that uses the same databases. */
let other: World
let tenant: TestTenant

beforeAll(async () => {
  databases = await ReplicatedDatabase.start()
  const env = { DATABASE_URL: databases.primary.url, DATABASE_READ_URL: databases.replica.url }
  world = await World.open(env)
  other = await World.open(env, world)
  tenant = await world.createTenant()
  await tenant.createContext('notes')
}, 120_000)
afterEach(() => databases.resume().catch(() => {}))
afterAll(async () => {
  await other.close()
  await world.close()
  await databases.stop()
})

const elsewhere = (caller: Caller) => new Caller(other.url, caller.credential)
const namesIn = ({ body }: ApiResponse) => body.data.data.map((file: { original_filename: string }) => file.original_filename)
const age = ({ headers }: ApiResponse) => headers.get('age')
const replicaCheck = async (of = world) => (await new Caller(of.url, undefined).raw('/health/ready')).body.checks.replica

/** Stops a database server with all its processes, the main process first so that it starts no new ones. */
async function freeze(pid: number): Promise<() => void> {
  process.kill(pid, 'SIGSTOP')
  await until(async () => /^State:\tT/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')))
  const children = (readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').match(/\d+/g) ?? []).map(Number)
  for (const each of children) process.kill(each, 'SIGSTOP')
  return () => [...children, pid].forEach((each) => void process.kill(each, 'SIGCONT'))
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(20)
}

/** Reads from the read replica, which may lag behind earlier calls. */
async function getFromReplica(path: string, caller = tenant.admin): Promise<ApiResponse> {
  for (;;) {
    const response = await caller.get(path)
    expect(response.status).toBe(200)
    if (age(response) !== null) return response
    await sleep(50)
  }
}

describe('reads from a replica', () => {
  test.each([
    '/files?page_size=5',
    '/files?page=2&page_size=1',
    '/files?name_prefix=note',
    '/stats/logs',
    '/stats/logs?page=2&page_size=1',
    '/stats',
    '/stats/charts/api-calls',
    '/audit-logs',
    '/stats/logs/export',
    '/audit-logs/export?format=csv',
  ])('serves %s from an up-to-date read replica and reports an age of 0', async (path) => {
    await tenant.admin.upload('notes', 'note.txt', 'text')
    expect(age(await getFromReplica(path))).toBe('0')
  })

  test('serves a GraphQL query from the read replica', async () => {
    const request = () => tenant.admin.graphql('{ files(pageSize: 1) { pagination { totalItems } } }')
    await until(async () => age(await request()) === '0')
  })

  test('counts reads per database server in the metrics', async () => {
    await getFromReplica('/files')
    const counted = await tenant.admin.raw('/metrics')
    expect(counted.body).toMatch(/^assay_replica_reads_total\{server="replica"\} [1-9]/m)
  })

  test('does not use the read replica for authentication, authorization or changes', async () => {
    const { body } = await tenant.admin.upload('notes', 'one.txt', 'text')
    for (const path of ['/contexts', '/api-keys', `/files/${body.data.file_id}/metadata`, `/files/${body.data.file_id}`])
      expect(age(await tenant.admin.get(path))).toBeNull()
    expect(age(await tenant.admin.upload('notes', 'two.txt', 'text'))).toBeNull()
  })
})

describe('reads after writes', () => {
  test("returns a client's own writes from any service replica", async () => {
    let served = 0
    // A lagging replica is not used for a second, so more rounds may be needed.
    for (let count = 0; count < 30 || served === 0; count++) {
      await tenant.admin.upload('notes', `back-${count}.txt`, 'text')
      const response = await elsewhere(tenant.admin).get('/files?page_size=1')
      expect(namesIn(response)).toEqual([`back-${count}.txt`])
      if (age(response) !== null) served++
    }
  })

  test('reads from the primary while the read replica receives no changes', async () => {
    await databases.pause()
    await tenant.admin.upload('notes', 'paused.txt', 'text')
    for (const caller of [tenant.admin, elsewhere(tenant.admin)]) {
      const response = await caller.get('/files?page_size=1')
      expect(namesIn(response)).toEqual(['paused.txt'])
      expect(age(response)).toBeNull()
    }
    const exported = await tenant.admin.get('/audit-logs/export')
    expect(exported.body).toContain('paused.txt')
    expect(age(exported)).toBeNull()
  })

  test('applies a created or disabled key immediately even if the read replica lags', async () => {
    await databases.pause()
    const key = await tenant.createKey(['metadata'])
    expect((await elsewhere(key).get('/files')).status).toBe(200)
    await tenant.admin.post(`/api-keys/${key.id}/disable`)
    expect((await key.get('/files')).status).toBe(401)
  })
})

describe('stale reads', () => {
  test('serves a stale response with its age if Cache-Control allows it', async () => {
    await tenant.admin.upload('notes', 'before.txt', 'text')
    await until(async () => (await world.database.replica!.getLagMs()) === 0)
    await databases.pause()
    await tenant.admin.upload('notes', 'after.txt', 'text')
    const written = performance.now()
    // The write must be more than a second old.
    await until(async () => performance.now() - written > 1100)
    const old = await tenant.admin.get('/files?page_size=1', { 'cache-control': 'max-age=60' })
    expect(namesIn(old)).toEqual(['before.txt'])
    const seconds = Number(age(old))
    expect(seconds).toBeGreaterThanOrEqual(2)
    expect(seconds).toBeLessThanOrEqual(60)
    for (const header of ['max-age=0', 'max-age=1', 'no-cache, max-age=60']) {
      const fresh = await tenant.admin.get('/files?page_size=1', { 'cache-control': header })
      expect(namesIn(fresh)).toEqual(['after.txt'])
      expect(age(fresh)).toBeNull()
    }
  })
})

describe('unresponsive read replica', () => {
  test('reads from the primary while the read replica does not respond', async () => {
    await until(async () => (await replicaCheck()).status === 'up')
    await databases.replica.stop()
    const response = await tenant.admin.get('/files?page_size=1')
    expect([response.status, age(response)]).toEqual([200, null])
    await until(async () => (await replicaCheck()).status === 'degraded')
    const ready = await tenant.admin.raw('/health/ready')
    expect([ready.status, ready.body.status]).toEqual([200, 'ready'])
    expect(ready.body.checks.replica.reason).not.toContain('/')
    await databases.startReplicaAgain()
    await getFromReplica('/files')
    await until(async () => (await replicaCheck()).status === 'up')
  })

  test('delays requests only briefly if the read replica is frozen', async () => {
    await getFromReplica('/files')
    const thaw = await freeze(databases.replica.pid)
    try {
      const responses = await Promise.all(Array.from({ length: 8 }, () => tenant.admin.get('/files?page_size=1')))
      for (const response of responses) expect([response.status, age(response)]).toEqual([200, null])
      expect((await replicaCheck(other)).status).toBe('degraded')
    } finally {
      thaw()
    }
    await getFromReplica('/files')
  })

  test.each([
    ['the primary itself', () => databases.primary.url],
    ['another database', () => databases.replica.url.replace('/assay?', '/postgres?')],
    ['no server', () => 'postgresql://nobody@127.0.0.1:1/assay'],
  ])('reads from the primary if DATABASE_READ_URL points to %s', async (_what, url) => {
    const wrong = await World.open({ DATABASE_URL: databases.primary.url, DATABASE_READ_URL: url() }, world)
    try {
      const response = await new Caller(wrong.url, tenant.admin.credential).get('/files?page_size=1')
      expect([response.status, age(response)]).toEqual([200, null])
      expect((await replicaCheck(wrong)).status).toBe('degraded')
    } finally {
      await wrong.close()
    }
  })
})
