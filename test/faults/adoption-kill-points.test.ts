import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createCommandEnv, readReport, writeFiles } from '../support/adoption.js'
import { runCommand } from '../support/service.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let root: string
let files = 0
beforeAll(async () => {
  world = await World.open({ SCANNER_URL: 'none:' })
  root = join(new URL(world.config.storageUrl).pathname)
  tenant = await world.createTenant()
  await tenant.createContext('notes', { scan_for_viruses: false })
})
afterAll(() => world.close())

// Number of adopted objects, which exceeds one batch.
const objects = 80
const healthy = { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 }
const countFiles = async () => (await tenant.admin.get('/files')).body.data.pagination.total_items as number

test.each([['adoption.claimed'], ['commit.begun'], ['commit.durable'], ['adoption.adopted'], ['adoption.reported']])(
  'loses no objects even if an adoption is killed at %s',
  async (point) => {
    const folder = point.replace('.', '-')
    const report = join(world.dataDir, `${folder}.csv`)
    const names = Array.from({ length: objects }, (_, index) => `document number ${String(index).padStart(3, '0')}.txt`)
    const path = (name: string) => `${tenant.tenantId}/${folder}/${name}`
    await writeFiles(root, Object.fromEntries(names.map((name) => [path(name), `content of ${name} for ${point}`])))
    const words = ['admin', 'adopt', '--context', 'notes', '--report', report, `file://${root}/${tenant.tenantId}/${folder}`]
    expect((await runCommand(words, { ...createCommandEnv(world), FAULT_POINT: point })).status).toBeNull()
    // Registered files and remaining objects must add up to the total number of objects.
    const registered = (await countFiles()) - files
    expect(await world.app.services.storageHealth.verify({ readBlobs: true })).toEqual({
      ...healthy,
      blobsWithoutFile: expect.any(Number),
    })
    await runCommand(['admin', 'sweep'], createCommandEnv(world))

    const { status, stdout, stderr } = await runCommand(words, createCommandEnv(world))
    expect({ status, result: JSON.parse(stdout), stderr }).toMatchObject({
      status: 0,
      result: { failed: 0, rejected: 0, skipped: 0 },
    })
    expect(JSON.parse(stdout).accepted + registered).toBe(objects)
    files += objects
    expect(await countFiles()).toBe(files)
    expect(await world.app.services.storageHealth.verify({ readBlobs: true })).toEqual(healthy)
    expect([...new Set((await readReport(report)).map(([reported]) => reported))].sort()).toEqual(names.map(path).sort())
    expect((await readdir(join(root, tenant.tenantId, folder))).filter((name) => name.endsWith('.txt'))).toEqual([])
  },
)
