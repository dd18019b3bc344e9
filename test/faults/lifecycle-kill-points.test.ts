import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Sweeper } from '../../src/features/maintenance/sweeper.js'
import { faultPoints } from '../support/fault-points.js'
import { healthyStorage, moveDeletionBack, moveUploadBack, runExpiry } from '../support/file-lifecycle.js'
import { findFreePort, runCommand, Service } from '../support/service.js'
import { Caller, type TestTenant, World } from '../support/world.js'

// `world` is the replica that survives. The killed replicas run as separate processes.
let world: World
let tenant: TestTenant
let env: NodeJS.ProcessEnv
beforeAll(async () => {
  world = await World.open({ SCANNER_URL: 'none:' })
  tenant = await world.createTenant()
  await tenant.createContext('mortal', { scan_for_viruses: false })
  await tenant.admin.patch('/contexts/mortal/policy', { retention_days: 30, trash_days: 7 })
  env = {
    DATABASE_URL: world.databaseUrl,
    MASTER_KEY: world.config.masterKey!.toString('base64'),
    DATA_DIR: join(world.dataDir, 'killed'),
    STORAGE_URL: world.config.storageUrl,
    SCANNER_URL: 'none:',
  }
})
afterAll(() => world.close())

const steps = (room: string) => faultPoints.filter((point) => point.startsWith(`${room}.`)).map((point) => [point])
const upload = async (): Promise<string> => (await tenant.admin.upload('mortal', 'a.txt', 'ten bytes.')).body.data.file_id

/** Checks that each file has one state and one event per step, and that all counters agree. */
async function expectAgreement(): Promise<void> {
  await new Sweeper(world.database.pool, world.app.services.storage).sweep()
  expect(await world.app.services.storageHealth.verify({ readBlobs: true })).toEqual(healthyStorage)
}
const eventsOf = async (fileId: string) =>
  (await world.database.pool.query('SELECT type FROM journal WHERE subject = $1 ORDER BY sequence', [fileId])).rows.map(
    ({ type }) => type,
  )

test.each(steps('expiry'))('resumes a retention run that was killed at %s, and processes each file only once', async (point) => {
  const [old, trashed] = [await moveUploadBack(world, await upload(), 31), await upload()]
  await tenant.admin.delete(`/files/${trashed}`)
  await moveDeletionBack(world, trashed, 7)
  expect(await runCommand(['admin', 'expire'], { ...env, FAULT_POINT: point })).toMatchObject({ status: null, stdout: '' })
  await expectAgreement()
  await runExpiry(world)
  expect(await eventsOf(old)).toEqual(['file.deleted'])
  expect(await eventsOf(trashed)).toEqual(['file.accepted', 'file.deleted', 'file.purged'])
  await expectAgreement()
})

test.each([...steps('restore'), ...steps('purge')])(
  'completes a restore or purge fully or not at all if the service is killed at %s',
  async (point) => {
    const id = await upload()
    await tenant.admin.delete(`/files/${id}`)
    const service = await Service.start({ ...env, PORT: await findFreePort(), FAULT_POINT: point })
    const killed = new Caller(service.url, tenant.admin.credential)
    const isRestore = point.startsWith('restore')
    const request = (caller: Caller) => (isRestore ? caller.post(`/trash/${id}/restore`) : caller.delete(`/trash/${id}`))
    await expect(request(killed)).rejects.toThrow()
    await service.ended
    await expectAgreement()
    const isDone = point.endsWith('.committed')
    expect((await request(tenant.admin)).status).toBe(isDone ? 404 : 200)
    expect(await eventsOf(id)).toEqual(['file.accepted', 'file.deleted', isRestore ? 'file.restored' : 'file.purged'])
    await expectAgreement()
  },
)
