import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { Sweeper } from '../../src/features/maintenance/sweeper.js'
import { now, setClock, synchronizeClock } from '../../src/platform/clock.js'
import { createMultipartBody, RawClient } from '../support/raw-client.js'
import { findResidue, watchUnhandledErrors } from '../support/residue.js'
import { findFreePort, Service } from '../support/service.js'
import { Caller, type TestTenant, World } from '../support/world.js'

let world: World
beforeAll(async () => {
  world = await World.open({ SCANNER_URL: 'none:' })
})
afterAll(() => world.close())

const megabyte = 1024 * 1024
const valid = Buffer.alloc(megabyte, 'some text\n')
const blank = Buffer.alloc(megabyte, ' ')
const rules = { scan_for_viruses: false, reject_blank_files: true }
const healthy = { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 }

const newTenant = async () => {
  const tenant = await world.createTenant()
  await tenant.createContext('notes', rules)
  return tenant
}
const send = (tenant: TestTenant, content = valid, headers: Record<string, string> = {}) =>
  tenant.admin.upload('notes', 'a.txt', content, { headers })
const query = (text: string, values: unknown[]) => world.database.pool.query(text, values)

async function listBlobs({ tenantId }: TestTenant): Promise<string[]> {
  const paths: string[] = []
  for await (const { path } of world.app.services.storage.list()) if (path.startsWith(`${tenantId}/`)) paths.push(path)
  return paths
}

const expectWhole = async (tenant: TestTenant, files: number) => {
  expect(await listBlobs(tenant)).toHaveLength(files)
  expect((await tenant.admin.get('/files')).body.data.pagination.total_items).toBe(files)
  expect(await world.app.services.storageHealth.verify({ readBlobs: true })).toMatchObject(healthy)
}

describe('blobs of rejected uploads', () => {
  test('deletes rejected files from the store before responding', async () => {
    const tenant = await newTenant()
    expect((await send(tenant)).status).toBe(201)
    for (let times = 0; times < 12; times++) expect(await send(tenant, blank)).toMatchObject({ status: 422 })
    await expectWhole(tenant, 1)
    expect((await tenant.admin.get('/stats')).body.data.security.files_blocked_total).toBe(12)
    const { rowCount } = await query('SELECT 1 FROM blob_garbage WHERE tenant_id = $1', [tenant.tenantId])
    expect(rowCount).toBeLessThan(8)
  })

  test('accepts valid files while other files are rejected', async () => {
    const tenant = await newTenant()
    const responses = await Promise.all(Array.from({ length: 16 }, (_, at) => send(tenant, at % 2 ? blank : valid)))
    expect(responses.map(({ status }) => status)).toEqual(responses.map((_, at) => (at % 2 ? 422 : 201)))
    await expectWhole(tenant, 8)
  })

  test('leaves no blob behind if an upload exceeds a quota', async () => {
    const tenant = await newTenant()
    await tenant.admin.patch('/contexts/notes', { storage_quota_mb: 1 })
    const responses = await Promise.all([send(tenant), send(tenant), send(tenant)])
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 422, 422])
    await expectWhole(tenant, 1)
  })
})

test('leaves no blob behind if an upload fails during a scanner outage', async () => {
  const tenant = await newTenant()
  await tenant.createContext('scanned', { scan_for_viruses: true })
  for (let times = 0; times < 12; times++)
    expect(await tenant.admin.upload('scanned', 'a.txt', valid)).toMatchObject({ status: 503 })
  await expectWhole(tenant, 0)
})

test('stores only one blob for an upload that crosses a month boundary', async () => {
  const tenant = await newTenant()
  expect((await send(tenant)).status).toBe(201)
  const { storage } = world.app.services
  const { put } = storage
  let puts = 0
  storage.put = async (path, content, options) => {
    if (puts++ === 0) setClock(now() + 32 * 86_400_000)
    await put.call(storage, path, content, options)
  }
  try {
    expect((await send(tenant)).status).toBe(201)
  } finally {
    storage.put = put
    await synchronizeClock(world.database.pool)
  }
  await expectWhole(tenant, 2)
})

test('stores only one blob for two requests with the same Idempotency-Key', async () => {
  const tenant = await newTenant()
  const headers = { 'idempotency-key': 'once' }
  const responses = await Promise.all([send(tenant, valid, headers), send(tenant, valid, headers)])
  expect(responses.map(({ status }) => status)).toEqual([201, 201])
  await expectWhole(tenant, 1)
})

test('uses the new storage path template if the template changes during the upload', async () => {
  const tenant = await newTenant()
  expect((await send(tenant)).status).toBe(201)
  const other = new pg.Client({ connectionString: world.databaseUrl })
  await other.connect()
  await other.query('BEGIN')
  await other.query('SELECT 1 FROM tenant_heads WHERE tenant_id = $1 FOR UPDATE', [tenant.tenantId])
  const response = send(tenant)
  const waits = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
  while ((await query(waits, [])).rowCount === 0);
  await other.query(
    "UPDATE file_contexts SET storage_path_template = 'elsewhere/{context_key}', rules_version = rules_version + 1, updated_at = now() WHERE tenant_id = $1",
    [tenant.tenantId],
  )
  await other.query('COMMIT')
  await other.end()
  expect(await response).toMatchObject({ status: 201 })
  const blobs = await listBlobs(tenant)
  expect(blobs.filter((path) => path.includes('elsewhere'))).toHaveLength(1)
  await expectWhole(tenant, 2)
})

/** Runs a sweep as if an hour had passed, and expects no garbage. */
async function sweepLater(): Promise<void> {
  await query(`UPDATE blob_garbage SET due_at = now() - interval '1 second'`, [])
  await new Sweeper(world.database.pool, world.app.services.storage).sweep()
}

describe('clients that disconnect while a file is being stored', () => {
  /** Sends a complete file over GraphQL in an incomplete request body. */
  async function sendUnended(tenant: TestTenant): Promise<RawClient> {
    const client = await RawClient.connect(world.url)
    const { type, body } = createMultipartBody([
      {
        name: 'operations',
        content: JSON.stringify({
          query: 'mutation ($file: Upload!) { uploadFile(file: $file, context: "notes") { fileId } }',
          variables: { file: null },
        }),
      },
      { name: 'map', content: '{"0":["variables.file"]}' },
      { name: '0', filename: 'a.txt', content: valid },
    ])
    await client.head('POST', '/graphql', {
      Authorization: `Bearer ${tenant.admin.credential}`,
      'Apollo-Require-Preflight': 'true',
      'Content-Type': type,
      'Content-Length': body.length,
    })
    await client.send(body.subarray(0, -2))
    return client
  }

  test.each(['before', 'after'])('leaves a complete file or no file if a client disconnects %s the write', async (when) => {
    const tenant = await newTenant()
    const watch = watchUnhandledErrors()
    const { storage } = world.app.services
    const { put } = storage
    let client: RawClient
    const goes = async (signal: AbortSignal | undefined) => {
      client.destroy()
      await new Promise((resolve) => signal!.addEventListener('abort', resolve))
    }
    const written = new Promise<boolean>((resolve) => {
      storage.put = async (path, content, options) => {
        try {
          if (when === 'before') await goes(options.signal)
          await put.call(storage, path, content, options)
          if (when === 'after') await goes(options.signal)
          resolve(true)
        } catch (error) {
          resolve(false)
          throw error
        }
      }
    })
    try {
      client = await sendUnended(tenant)
      expect(await written).toBe(when === 'after')
    } finally {
      storage.put = put
    }
    const call = async () => (await tenant.admin.get('/stats/logs?operation=upload')).body.data.data[0]
    while (!(await call()));
    await sweepLater()
    await expectWhole(tenant, (await call()).status === 'success' ? 1 : 0)
    expect(await findResidue({ spool: [join(world.dataDir, 'spool')], faults: watch.faults })).toEqual([])
    watch.stop()
  })
})

describe('SIGTERM while a file is being stored', () => {
  /** Starts an upload to a service that receives SIGTERM and whose disk blocks until SIGUSR2. */
  async function startTerminatedUpload(tenant: TestTenant, graceSeconds: string) {
    const service = await Service.start({
      DATABASE_URL: world.databaseUrl,
      MASTER_KEY: world.config.masterKey!.toString('base64'),
      DATA_DIR: join(world.dataDir, `told-${graceSeconds}`),
      STORAGE_URL: world.config.storageUrl,
      SCANNER_URL: 'none:',
      SHUTDOWN_GRACE_SECONDS: graceSeconds,
      PORT: await findFreePort(),
      NODE_OPTIONS: `--import ${new URL('../support/delayed-blobs.mjs', import.meta.url).href}`,
      HELD_STORE: join(world.dataDir, 'blobs', tenant.tenantId),
    })
    const response = new Caller(service.url, tenant.admin.credential).upload('notes', 'a.txt', valid)
    await service.waitForOutput('A blob waits')
    service.child.kill('SIGTERM')
    await service.waitForOutput('SIGTERM: finishing')
    return { service, response }
  }

  test('after SIGTERM, completes an upload that is being stored', async () => {
    const tenant = await newTenant()
    const { service, response } = await startTerminatedUpload(tenant, '30')
    service.child.kill('SIGUSR2')
    expect((await response).status).toBe(201)
    expect(await service.ended).toMatchObject({ status: 0, stderr: '' })
    await expectWhole(tenant, 1)
  })

  test('leaves no data behind from an upload that exceeds the grace period after SIGTERM', async () => {
    const tenant = await newTenant()
    const { service, response } = await startTerminatedUpload(tenant, '1')
    await expect(response).rejects.toThrow()
    expect((await service.ended).status).toBe(0)
    await sweepLater()
    await expectWhole(tenant, 0)
  })
})
