import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Sweeper } from '../../src/features/maintenance/sweeper.js'
import { faultPoints } from '../support/fault-points.js'
import { findFreePort, runCommand, Service } from '../support/service.js'
import { Caller, type TestTenant, World } from '../support/world.js'

// `world` is the replica that survives. The killed replicas run as separate processes.
let world: World
let tenant: TestTenant
let env: NodeJS.ProcessEnv
const acknowledged = new Map<string, Buffer>()

beforeAll(async () => {
  world = await World.open({ SCANNER_URL: 'none:' })
  tenant = await world.createTenant()
  await tenant.createContext('raw', { allowed_extensions: ['bin'], scan_for_viruses: false })
  await tenant.createContext('checked', { scan_for_viruses: false, reject_blank_files: true })
  env = {
    DATABASE_URL: world.databaseUrl,
    MASTER_KEY: world.config.masterKey!.toString('base64'),
    DATA_DIR: join(world.dataDir, 'killed'),
    STORAGE_URL: world.config.storageUrl,
    SCANNER_URL: 'none:',
  }
})
afterAll(async () => {
  for (const starting of started) await starting.then((service) => service.stop('SIGKILL')).catch(() => {})
  await world.close()
})

const upload = (caller: Caller, content: Buffer, key: string) =>
  caller.upload('raw', 'a.bin', content, { headers: { 'idempotency-key': key } })
const countFiles = async () => (await tenant.admin.get('/files')).body.data.pagination.total_items as number
const healthy = { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 }

const steps = (...groups: string[]) => faultPoints.filter((point) => groups.includes(point.split('.')[0]!))
const uploadSteps = steps('upload', 'store', 'commit')
const refusalSteps = steps('refusal')
const deleteSteps = steps('delete', 'commit')

// Sizes of uploads that are always kept in memory, kept in memory only if declared, and stored in a temporary file.
const [small, medium, large] = [10_000, 700_000, 5_000_000]
const uploadKills = uploadSteps.flatMap((point, at): [string, number][] =>
  point.startsWith('store.')
    ? [
        [point, medium],
        [point, large],
      ]
    : [[point, at % 2 ? medium : small]],
)

// Services for later cases start in this order while earlier cases are tested.
const expected: string[] = [...uploadKills.map(([point]) => point), ...refusalSteps, ...deleteSteps, 'delete.found']
const started: Promise<Service>[] = []
const ahead = 2

/** Starts a service that is killed at the kill point, and a client for it. */
async function startUntilKilled(faultPoint: string): Promise<{ service: Service; caller: Caller }> {
  const index = expected.indexOf(faultPoint)
  const next = expected.slice(0, index + 1 + ahead)
  for (const point of next.slice(started.length)) started.push(start(point))
  expected[index] = 'used'
  const service = await started[index]!
  return { service, caller: new Caller(service.url, tenant.admin.credential) }
}

async function start(faultPoint: string): Promise<Service> {
  return Service.start({ ...env, PORT: await findFreePort(), FAULT_POINT: faultPoint })
}

/** Simulates the passage of an hour, after which journal entries are due and leases of killed replicas have expired. */
async function sweepLater(): Promise<void> {
  await world.database.pool.query(`UPDATE blob_garbage SET due_at = now() - interval '1 second'`)
  await world.database.pool.query('UPDATE idempotency_keys SET leased_until = now() WHERE response IS NULL')
  await new Sweeper(world.database.pool, world.app.services.storage).sweep()
}

async function expectAgreement(): Promise<void> {
  expect(await world.app.services.storageHealth.verify({ readBlobs: true })).toEqual(healthy)
  for (const [fileId, content] of acknowledged) {
    const { download_url: url } = (await tenant.admin.get(`/files/${fileId}`)).body.data
    expect(Buffer.from(await (await fetch(url)).arrayBuffer()).equals(content)).toBe(true)
  }
}

test.each(uploadKills)(
  'stores an upload completely or not at all if the process is killed at %s (%i bytes)',
  async (point, size) => {
    const content = randomBytes(size)
    const key = `upload-${point}-${size}`
    const before = await countFiles()
    const { service, caller } = await startUntilKilled(point)
    await expect(upload(caller, content, key)).rejects.toThrow()
    expect((await service.ended).status).toBeNull()
    await sweepLater()
    await expectAgreement()
    expect([before, before + 1]).toContain(await countFiles())

    const again = await upload(tenant.admin, content, key)
    expect(again).toMatchObject({ status: 201 })
    acknowledged.set(again.body.data.file_id, content)
    expect(await countFiles()).toBe(before + 1)
    await expectAgreement()
  },
)

test.each(refusalSteps.map((point) => [point]))(
  'leaves no data of a rejected file behind if the service is killed at %s',
  async (point) => {
    const blank = Buffer.alloc(medium, ' ')
    const refuse = (caller: Caller) =>
      caller.upload('checked', 'a.txt', blank, { headers: { 'idempotency-key': `refused-${point}` } })
    const before = await countFiles()
    const { service, caller } = await startUntilKilled(point)
    await expect(refuse(caller)).rejects.toThrow()
    await service.ended
    await sweepLater()
    await expectAgreement()
    expect(await refuse(tenant.admin)).toMatchObject({ status: 422, body: { error: { code: 'blank_file' } } })
    expect(await countFiles()).toBe(before)
    await sweepLater()
    await expectAgreement()
  },
)

test.each(deleteSteps.map((point) => [point]))(
  'completes a deletion fully or not at all if the service is killed at %s',
  async (point) => {
    const { body } = await upload(tenant.admin, randomBytes(10_000), `delete-${point}`)
    const { file_id: fileId } = body.data
    const { service, caller } = await startUntilKilled(point)
    await expect(caller.delete(`/files/${fileId}`)).rejects.toThrow()
    await service.ended
    await sweepLater()
    await expectAgreement()
    expect([200, 404]).toContain((await tenant.admin.delete(`/files/${fileId}`)).status)
    expect((await tenant.admin.get(`/files/${fileId}`)).status).toBe(404)
    await sweepLater()
    await expectAgreement()
  },
)

test.each(steps('sweep').map((point) => [point]))('the next sweep completes a sweep that was killed at %s', async (point) => {
  const ids = await Promise.all(
    [1, 2, 3].map(async (at) => (await upload(tenant.admin, randomBytes(1000), `sweep-${point}-${at}`)).body.data.file_id),
  )
  for (const id of ids) await tenant.admin.delete(`/files/${id}`)
  expect(await runCommand(['admin', 'sweep'], { ...env, FAULT_POINT: point })).toMatchObject({ status: null, stdout: '' })
  await sweepLater()
  await expectAgreement()
  expect((await world.database.pool.query('SELECT 1 FROM blob_garbage')).rowCount).toBe(0)
})

test('keeps an acknowledged upload intact even if the service is killed later', async () => {
  const { service, caller } = await startUntilKilled('delete.found')
  const content = randomBytes(large)
  const { body, status } = await upload(caller, content, 'acknowledged')
  expect(status).toBe(201)
  await service.stop('SIGKILL')
  acknowledged.set(body.data.file_id, content)
  await sweepLater()
  await expectAgreement()

  // A new service is needed because those started in advance predate the kill.
  const next = start('delete.found')
  started.push(next)
  await next
  const spool = join(env.DATA_DIR!, 'spool')
  expect(readdirSync(spool).flatMap((folder) => readdirSync(join(spool, folder)))).toEqual([])
  expect((await runCommand(['admin', 'verify', '--deep'], env)).status).toBe(0)
})

test('tests every kill point in the service', () => {
  // Other test files in this folder cover the kill points in these groups.
  const life = ['restore', 'purge', 'expiry', 'rescan', 'quarantine', 'adoption']
  expect(steps('upload', 'store', 'commit', 'refusal', 'part', 'delete', 'sweep', 'bucket', ...life)).toEqual([...faultPoints])
})
