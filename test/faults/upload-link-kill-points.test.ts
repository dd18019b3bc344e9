import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Sweeper } from '../../src/features/maintenance/sweeper.js'
import { LinkClient } from '../support/link-client.js'
import { findFreePort, Service } from '../support/service.js'
import { type TestTenant, World } from '../support/world.js'

// `world` is the replica that survives. The killed replicas run as separate processes.
let world: World
let tenant: TestTenant
let env: NodeJS.ProcessEnv
beforeAll(async () => {
  world = await World.open({ SCANNER_URL: 'none:' })
  tenant = await world.createTenant()
  await tenant.createContext('notes', { scan_for_viruses: false })
  env = {
    DATABASE_URL: world.databaseUrl,
    MASTER_KEY: world.config.masterKey!.toString('base64'),
    DATA_DIR: join(world.dataDir, 'killed'),
    STORAGE_URL: world.config.storageUrl,
    SCANNER_URL: 'none:',
  }
})
afterAll(() => world.close())

const healthy = { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 }
const countFiles = async () => (await tenant.admin.get('/files')).body.data.pagination.total_items as number

/** Simulates the passage of an hour, after which journal entries are due and leases of killed replicas have expired. */
async function sweepLater(): Promise<void> {
  await world.database.pool.query(`UPDATE blob_garbage SET due_at = now() - interval '1 second'`)
  await world.database.pool.query('UPDATE idempotency_keys SET leased_until = now() WHERE response IS NULL')
  await new Sweeper(world.database.pool, world.app.services.storage).sweep()
}

test.each([['upload.spooled'], ['upload.stored'], ['commit.begun'], ['commit.durable'], ['upload.committed']])(
  'after a kill at %s, counts an upload through a link only if its file is stored',
  async (point) => {
    const link = await LinkClient.create(tenant.admin, 'notes')
    const before = await countFiles()
    const key = { 'idempotency-key': point }
    const killed = await Service.start({ ...env, PORT: await findFreePort(), FAULT_POINT: point })
    await expect(link.at(killed.url).put('a.txt', `hello ${point}`, key)).rejects.toThrow()
    expect((await killed.ended).status).toBeNull()
    await sweepLater()
    const { accepted_files: accepted } = (await tenant.admin.get(`/upload-links/${link.id}`)).body.data
    expect(await countFiles()).toBe(before + accepted)
    expect(await world.app.services.storageHealth.verify({ readBlobs: true })).toEqual(healthy)

    expect((await link.put('a.txt', `hello ${point}`, key)).status).toBe(201)
    expect(await countFiles()).toBe(before + 1)
    expect((await link.put('b.txt', 'another', { 'idempotency-key': `${point} 2`.replace(' ', '-') })).status).toBe(404)
    expect(await world.app.services.storageHealth.verify({ readBlobs: true })).toEqual(healthy)
  },
)
