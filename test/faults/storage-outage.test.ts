import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { Sweeper } from '../../src/features/maintenance/sweeper.js'
import type { BucketEmulator } from '../support/bucket/bucket.js'
import { GoogleIdentityEmulator } from '../support/bucket/google-identity.js'
import { createServiceAccount } from '../support/bucket/service-account.js'
import { type BucketWorld, openBucketWorld } from '../support/bucket/world-env.js'
import { createTestDatabase } from '../support/database.js'
import { DatabaseProxy } from '../support/database-proxy.js'
import { describeWith } from '../support/installed-programs.js'
import { type RealClamd, startRealClamd } from '../support/real-clamd.js'
import { findResidue, watchUnhandledErrors } from '../support/residue.js'
import { type ApiResponse, type TestTenant, World } from '../support/world.js'

/** Checks the properties that any outage response must have. */
function expectOutage(response: ApiResponse, code: string): void {
  expect(response).toMatchObject({ status: 503, body: { status: 'ERROR', error: { code } } })
  expect(response.headers.get('retry-after')).toMatch(/^\d+$/)
}

const readiness = async (world: World) => {
  const { status, body } = await world.unauthenticated.raw('/health/ready')
  return { status, down: Object.keys(body.checks).filter((name) => body.checks[name].status === 'down') }
}

/** Polls because readiness is cached for up to five seconds. */
async function waitForReadiness(world: World, expected: Awaited<ReturnType<typeof readiness>>): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (JSON.stringify(await readiness(world)) === JSON.stringify(expected)) break
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  expect(await readiness(world)).toEqual(expected)
}

async function countBlockedAndFailed(tenant: TestTenant): Promise<[number, number]> {
  const { security, api_calls } = (await tenant.admin.get('/stats')).body.data
  return [security.files_blocked_total, api_calls.by_status.failure]
}

const content = Buffer.from('some text that is worth keeping')

// Checks for residue after each test. residue.test.ts does the same for a separate process.
let watch: ReturnType<typeof watchUnhandledErrors>
beforeEach(() => {
  watch = watchUnhandledErrors()
})
afterEach(() => watch.stop())
const expectNoResidue = async (world: World, bucket?: BucketEmulator) =>
  expect(
    await findResidue({
      spool: [join(world.dataDir, 'spool'), join(world.dataDir, 'blobs', '+tmp')],
      faults: watch.faults,
      ...(bucket && { bucket }),
    }),
  ).toEqual([])

describe('unavailable bucket', () => {
  let bucketWorld: BucketWorld
  let bucket: BucketEmulator
  let world: World
  let tenant: TestTenant
  beforeAll(async () => {
    bucketWorld = await openBucketWorld()
    bucket = bucketWorld.bucket
    world = await World.open({ ...bucketWorld.env, STORAGE_DEADLINE_SECONDS: '3' })
    tenant = await world.createTenant()
    await tenant.createContext('notes')
  })
  afterEach(() => expectNoResidue(world, bucket))
  afterAll(async () => {
    await world.close()
    await bucketWorld.close()
  })

  test('rejects and logs uploads while the bucket is unavailable', async () => {
    const uploaded = await tenant.admin.upload('notes', 'a.txt', content)
    expect(uploaded.status).toBe(201)
    const { file_id: fileId } = uploaded.body.data
    const download = async () => {
      const { download_url: url } = (await tenant.admin.get(`/files/${fileId}`)).body.data
      return fetch(url).then(
        async (response) => [response.status, Buffer.from(await response.arrayBuffer()).equals(content)],
        () => 'unreachable',
      )
    }
    expect(await download()).toEqual([200, true])
    const [blocked, failed] = await countBlockedAndFailed(tenant)

    await bucket.stop()
    expectOutage(await tenant.admin.upload('notes', 'b.txt', content), 'storage_unavailable')
    expect(await countBlockedAndFailed(tenant)).toEqual([blocked, failed + 1])
    expect(await download()).toBe('unreachable')
    expect((await tenant.admin.get('/files')).body.data.pagination.total_items).toBe(1)
    // A dry run does not use the bucket.
    expect((await tenant.admin.upload('notes', 'b.txt', content, { path: '/files/validate' })).status).toBe(200)
    await waitForReadiness(world, { status: 503, down: ['storage'] })

    await bucket.start()
    expect((await tenant.admin.upload('notes', 'b.txt', content)).status).toBe(201)
    expect(await download()).toEqual([200, true])
    await waitForReadiness(world, { status: 200, down: [] })
    expect(
      (await tenant.admin.graphql('{ storageHealth { countersDrift filesWithoutBlob blobsWithoutFile corrupted journalDrift } }'))
        .body,
    ).toEqual({
      data: { storageHealth: { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 } },
    })
  })

  test('stores only one object if an upload is retried after a lost response', async () => {
    bucket.faults.plan('upload', { kind: 'lost' })
    expect((await tenant.admin.upload('notes', 'lost.txt', content)).status).toBe(201)
    // The bucket has stored the blob, but its response is lost. The journal lists the blob as garbage.
    bucket.faults.plan('upload', { kind: 'lost' }, 50)
    const response = await tenant.admin.upload('notes', 'lost.txt', content)
    bucket.faults.clear()
    expect([201, 503]).toContain(response.status)
    const health = await world.app.services.storageHealth.verify({ readBlobs: true })
    expect(health).toEqual({ countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 })
  })

  test('deletes a file while the bucket is unavailable, and deletes its blob afterwards', async () => {
    const { file_id: fileId } = (await tenant.admin.upload('notes', 'c.txt', content)).body.data
    const path = (await world.database.pool.query('SELECT blob_path FROM files WHERE file_id = $1', [fileId])).rows[0].blob_path
    await bucket.stop()
    expect((await tenant.admin.delete(`/files/${fileId}`)).status).toBe(200)
    expect((await tenant.admin.get(`/files/${fileId}`)).status).toBe(404)
    const sweeper = new Sweeper(world.database.pool, world.app.services.storage)
    const makeDue = () => world.database.pool.query(`UPDATE blob_garbage SET due_at = now() - interval '1 minute'`)
    await makeDue()
    expect((await sweeper.sweep()).failed).toBeGreaterThan(0)
    await bucket.start()
    await makeDue()
    await sweeper.sweep()
    expect(await world.app.services.storage.getSize(path)).toBeNull()
  })
})

describe('unavailable IAM service without a local signing key', () => {
  test('reports that a download URL cannot be signed while IAM is unavailable', async () => {
    const bucketWorld = await openBucketWorld()
    const identity = await GoogleIdentityEmulator.start(createServiceAccount())
    // Replaces the key with credentials that sign through IAM, whose host name cannot resolve (RFC 2606).
    const source = { url: `http://${identity.host}/subject` }
    await writeFile(
      bucketWorld.env.GOOGLE_APPLICATION_CREDENTIALS,
      JSON.stringify(identity.createFederationConfig(source, { universe: 'invalid' })),
    )
    const world = await World.open({ ...bucketWorld.env, STORAGE_DEADLINE_SECONDS: '5' })
    try {
      const tenant = await world.createTenant()
      await tenant.createContext('notes')
      const { file_id: fileId } = (await tenant.admin.upload('notes', 'a.txt', content)).body.data
      const response = await tenant.admin.get(`/files/${fileId}`)
      expectOutage(response, 'storage_unavailable')
      expect(JSON.stringify(response.body)).not.toContain('iamcredentials')
      const lines = world.log.lines.filter((line) => line.includes('iamcredentials.invalid'))
      expect(lines).toHaveLength(1)
      expect(JSON.parse(lines[0]!)).toMatchObject({ level: 40, req: response.body.request_id })
      expect(world.log.text).not.toMatch(/token-\d/)
      expect((await tenant.admin.upload('notes', 'b.txt', content)).status).toBe(201)
      await expectNoResidue(world, bucketWorld.bucket)
    } finally {
      await world.close()
      await identity.stop()
      await bucketWorld.close()
    }
  })
})

describeWith('clamd')('unavailable scanner', () => {
  let clamd: RealClamd
  let world: World
  let tenant: TestTenant
  beforeAll(async () => {
    clamd = await startRealClamd()
    world = await World.open({ SCANNER_URL: clamd.unixUrl })
    tenant = await world.createTenant()
    await tenant.createContext('notes')
    await tenant.createContext('unscanned', { scan_for_viruses: false })
  })
  afterAll(async () => {
    await world.close()
    await clamd.close()
  })
  afterEach(() => expectNoResidue(world))

  test('rejects only uploads that require a scan while the scanner is unavailable', async () => {
    expect((await tenant.admin.upload('notes', 'a.txt', content)).status).toBe(201)
    const [blocked, failed] = await countBlockedAndFailed(tenant)
    await clamd.kill('SIGKILL')
    expectOutage(await tenant.admin.upload('notes', 'b.txt', content), 'scanner_unavailable')
    expectOutage(await tenant.admin.upload('notes', 'b.txt', content, { path: '/files/validate' }), 'scanner_unavailable')
    expect(await countBlockedAndFailed(tenant)).toEqual([blocked, failed + 2])
    expect((await tenant.admin.upload('unscanned', 'b.txt', content)).status).toBe(201)
    // Checks before the scan reject a file without the scanner.
    expect((await tenant.admin.upload('notes', 'b.exe', content)).status).toBe(422)
    await waitForReadiness(world, { status: 503, down: ['scanner'] })
  })
})

describe('unavailable database', () => {
  let proxy: DatabaseProxy
  let world: World
  let tenant: TestTenant
  beforeAll(async () => {
    proxy = await DatabaseProxy.start((await createTestDatabase()).url)
    world = await World.open({ DATABASE_URL: proxy.url })
    tenant = await world.createTenant()
    await tenant.createContext('notes')
  })
  afterAll(async () => {
    await world.close()
    await proxy.down()
  })
  afterEach(() => expectNoResidue(world))

  const upload = (key: string) => tenant.admin.upload('notes', 'a.txt', content, { headers: { 'idempotency-key': key } })
  const held = async () => (await tenant.admin.get('/files')).body.data.pagination.total_items as number

  test('fails at most one call if PostgreSQL closes every connection', async () => {
    await world.database.pool.query(
      'SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    )
    const first = await tenant.admin.get('/files')
    if (first.status !== 200) expectOutage(first, 'database_unavailable')
    expect((await tenant.admin.upload('notes', 'a.txt', content)).status).toBe(201)
  })

  test('reports an unavailable database over REST and GraphQL, and recovers afterwards', async () => {
    const { file_id: fileId } = (await tenant.admin.upload('notes', 'a.txt', content)).body.data
    await proxy.down()
    for (const call of [
      () => tenant.admin.get('/files'),
      () => tenant.admin.get(`/files/${fileId}`),
      () => tenant.admin.upload('notes', 'b.txt', content),
      () => tenant.admin.delete(`/files/${fileId}`),
      () => tenant.admin.post('/api-keys', { name: 'x' }),
      () => world.createCaller('assay_never-seen-before').get('/files'),
    ])
      expectOutage(await call(), 'database_unavailable')
    const { body } = await tenant.admin.graphql('{ files { data { fileId } } }')
    expect(body.errors[0].extensions.code).toBe('DATABASE_UNAVAILABLE')
    await waitForReadiness(world, { status: 503, down: ['database'] })

    await proxy.up()
    expect((await tenant.admin.get(`/files/${fileId}/metadata`)).status).toBe(200)
    expect((await tenant.admin.upload('notes', 'b.txt', content)).status).toBe(201)
    await waitForReadiness(world, { status: 200, down: [] })
  })

  test.each([
    ['before', 0],
    ['after', 1],
  ] as const)(
    'stores only one file for a retried upload if the connection is lost just %s the COMMIT',
    async (when, storedFiles) => {
      const before = await held()
      proxy.cutAtMove = when
      const lost = await upload(`commit-${when}`)
      expectOutage(lost, 'database_unavailable')
      expect(lost.body.error.details).toEqual({ outcome: 'unknown' })
      expect(proxy.cutAtMove).toBeUndefined()
      expect(await held()).toBe(before + storedFiles)
      // Simulates the time for which an upload with an unknown outcome keeps its key.
      await world.database.pool.query('UPDATE idempotency_keys SET leased_until = now() WHERE response IS NULL')
      expect((await upload(`commit-${when}`)).status).toBe(201)
      expect(await held()).toBe(before + 1)
      expect(await world.app.services.storageHealth.verify({ readBlobs: true })).toEqual({
        countersDrift: 0,
        filesWithoutBlob: 0,
        blobsWithoutFile: 0,
        corrupted: 0,
        journalDrift: 0,
      })
    },
  )
})
