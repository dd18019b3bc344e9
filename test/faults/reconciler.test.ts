import { randomBytes } from 'node:crypto'
import { appendFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Pace, Reconciler } from '../../src/features/maintenance/reconciler.js'
import { newId } from '../../src/platform/ids.js'
import { createMemoryContent } from '../../src/platform/spool/content.js'
import type { LocalStorage } from '../../src/platform/storage/local/local.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
beforeAll(async () => {
  world = await World.open()
})
afterAll(() => world.close())

const healthy = { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 }
const storage = () => world.app.services.storage as LocalStorage

/** Creates a reconciler, by default without delays. */
function createReconciler(pace: Partial<Pace> = {}): Reconciler {
  return new Reconciler({
    ...world.app.services,
    logger: world.log.logger,
    pace: { pathsPerSecond: 1_000_000, readFraction: 1, ...pace },
  })
}

async function runPass(pace: Partial<Pace> = {}): Promise<void> {
  await world.database.prisma.serviceState.deleteMany({ where: { key: 'reconcile' } })
  await createReconciler(pace).continueComparison(1)
}

async function findings(): Promise<[kind: string, fileId: string | null][]> {
  const rows = await world.database.prisma.storageFinding.findMany({ orderBy: [{ kind: 'asc' }, { fileId: 'asc' }] })
  return rows.map(({ kind, fileId }) => [kind, fileId])
}

async function storeFiles(tenant: TestTenant, count: number): Promise<{ fileId: string; path: string }[]> {
  const ids: string[] = []
  for (let at = 0; at < count; at++) {
    const { body } = await tenant.admin.upload('notes', `${at}.txt`, `text number ${at}`)
    ids.push(body.data.file_id)
  }
  const { rows } = await world.database.pool.query<{ fileId: string; path: string }>(
    'SELECT file_id AS "fileId", blob_path AS path FROM files WHERE file_id = ANY($1) ORDER BY blob_path',
    [ids],
  )
  return rows
}

async function newTenant(): Promise<TestTenant> {
  const tenant = await world.createTenant()
  await tenant.createContext('notes')
  return tenant
}

const graphqlHealth = async (tenant: TestTenant) =>
  (await tenant.admin.graphql('{ storageHealth { countersDrift filesWithoutBlob blobsWithoutFile corrupted journalDrift } }'))
    .body.data.storageHealth

describe('mismatches between database rows and blobs', () => {
  let tenant: TestTenant
  beforeEach(async () => {
    tenant = await newTenant()
  })

  test('reports mismatches between rows and blobs without changing any data', async () => {
    const otherTenant = await newTenant()
    const [lost, grown, changed, valid] = await storeFiles(tenant, 4)
    await storeFiles(otherTenant, 1)
    await storage().remove(lost!.path)
    await appendFile(storage().getFilePath(grown!.path), 'more')
    await writeFile(storage().getFilePath(changed!.path), 'TEXT number ?')
    const strayId = newId('file')
    const stray = `${tenant.tenantId}/notes/2026/01/${strayId}`
    await storage().put(stray, createMemoryContent(Buffer.from('nobody’s')), { contentType: 'text/plain' })

    await runPass()
    const expected = [
      ['blob_without_file', null],
      ...[changed!.fileId, grown!.fileId].sort().map((id) => ['corrupted', id]),
      ['file_without_blob', lost!.fileId],
    ]
    expect(await findings()).toEqual(expected)
    const health = { countersDrift: 0, filesWithoutBlob: 1, blobsWithoutFile: 1, corrupted: 2, journalDrift: 0 }
    expect(await world.app.services.storageHealth.verify({ readBlobs: true })).toEqual(health)
    // A pass without reading blobs detects a wrong size but not wrong bytes.
    expect(await graphqlHealth(tenant)).toEqual({ ...health, corrupted: 1 })
    expect(await world.app.services.storageHealth.verify({ tenantId: tenant.tenantId })).toEqual({ ...health, corrupted: 1 })
    expect(await graphqlHealth(otherTenant)).toEqual(healthy)

    expect((await world.unauthenticated.raw('/metrics')).body).toMatch(/^assay_storage_findings 4$/m)
    const ready = async () => (await world.unauthenticated.raw('/health/ready')).body.checks.storage
    for (let tries = 0; (await ready()).findings !== 4 && tries < 600; tries++) await new Promise((done) => setTimeout(done, 100))
    expect(await ready()).toMatchObject({ status: 'up', findings: 4 })
    const trail = async (id: string) =>
      (await tenant.admin.get(`/audit-logs/entity/file/${id}`)).body.data.data.filter(
        (entry: { action: string }) => entry.action === 'updated',
      )
    for (const [kind, id] of expected)
      expect(await trail(id ?? strayId)).toMatchObject([
        { performed_by_type: 'system', performed_by_id: 'system', details: { finding: kind } },
      ])
    expect(await trail(valid!.fileId)).toEqual([])

    // A known mismatch is not reported again.
    await runPass()
    expect(await trail(lost!.fileId)).toHaveLength(1)

    await storage().remove(stray)
    for (const { fileId } of [lost!, grown!, changed!]) await tenant.admin.delete(`/files/${fileId}`)
    await runPass()
    expect(await findings()).toEqual([])
    expect(await graphqlHealth(tenant)).toEqual(healthy)
    expect((await world.unauthenticated.raw('/metrics')).body).toMatch(/^assay_storage_findings 0$/m)
  })

  test("reports other programs' files whose paths are too long for an index", async () => {
    const folder = join(storage().root, tenant.tenantId)
    const names = Array.from({ length: 13 }, () => randomBytes(120).toString('hex'))
    await mkdir(join(folder, ...names), { recursive: true })
    await writeFile(join(folder, ...names, 'foreign'), 'x')
    await runPass()
    expect(await findings()).toEqual([['blob_without_file', null]])
    await rm(folder, { recursive: true })
    await runPass()
    expect(await findings()).toEqual([])
  })

  test('does not report uploads in progress or recent deletions as inconsistent', async () => {
    await storeFiles(tenant, 3)
    const work = (async () => {
      for (let at = 0; at < 30; at++) {
        const { body } = await tenant.admin.upload('notes', 'a.txt', `text ${at}`)
        if (at % 2) await tenant.admin.delete(`/files/${body.data.file_id}`)
      }
    })()
    let done = false
    void work.finally(() => {
      done = true
    })
    while (!done) {
      await runPass()
      expect(await world.app.services.storageHealth.verify({ readBlobs: true })).toEqual(healthy)
    }
    await work
    expect(await findings()).toEqual([])
  })

  test('reports incorrect counters only to the tenant that they belong to', async () => {
    await storeFiles(tenant, 1)
    const drift = (by: number) =>
      world.database.pool.query(`UPDATE tenant_heads SET bytes = bytes + $2 WHERE tenant_id = $1`, [tenant.tenantId, by])
    await drift(1)
    expect((await graphqlHealth(tenant)).countersDrift).toBeGreaterThan(0)
    expect(await graphqlHealth(await newTenant())).toEqual(healthy)
    await drift(-1)
    expect(await graphqlHealth(tenant)).toEqual(healthy)
  })
})

describe('reconciler passes', () => {
  const state = async () =>
    (await world.database.prisma.serviceState.findUnique({ where: { key: 'reconcile' } }))?.value as {
      after: string
      finishedAt: string | null
    }

  test('resumes a reconciler pass at its last position on any replica', async () => {
    const tenant = await newTenant()
    const files = await storeFiles(tenant, 5)
    for (const { path } of files) await storage().remove(path)
    await world.database.prisma.serviceState.deleteMany({ where: { key: 'reconcile' } })
    const found: number[] = []
    for (let turns = 0; (await state())?.finishedAt == null && turns < 500; turns++) {
      // With a time limit of zero, a reconciler checks one path per turn.
      await createReconciler().continueComparison(1, -1)
      found.push((await findings()).length)
    }
    expect((await findings()).map(([, id]) => id)).toEqual(files.map(({ fileId }) => fileId).sort())
    for (let at = 1; at < found.length; at++) expect(found[at]! - found[at - 1]!).toBeLessThanOrEqual(1)
    expect(found.length).toBeGreaterThan(files.length)
    for (const { fileId } of files) await tenant.admin.delete(`/files/${fileId}`)
  })

  test('starts a reconciler pass only after its interval and on one replica at a time', async () => {
    const tenant = await newTenant()
    await runPass()
    const [file] = await storeFiles(tenant, 1)
    await storage().remove(file!.path)
    await createReconciler().continueComparison(1)
    expect(await findings()).toEqual([])

    const other = await world.database.connectDedicated('another replica')
    await other.query('SELECT pg_advisory_lock(4207003)')
    await runPass()
    expect(await findings()).toEqual([])
    await other.end()
    await runPass()
    expect(await findings()).toHaveLength(1)
    await tenant.admin.delete(`/files/${file!.fileId}`)
    await runPass()
  })

  test('reads the configured percentage of blobs at the configured rate', async () => {
    const tenant = await newTenant()
    const [file] = await storeFiles(tenant, 3)
    await writeFile(storage().getFilePath(file!.path), 'TEXT number 0')
    await runPass({ readFraction: 0 })
    expect(await findings()).toEqual([])
    const began = performance.now()
    await runPass({ readFraction: 1, pathsPerSecond: 25 })
    expect(performance.now() - began).toBeGreaterThan(900)
    expect(await findings()).toEqual([['corrupted', file!.fileId]])
  })
})
