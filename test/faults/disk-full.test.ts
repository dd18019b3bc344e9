import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { StorageHealth } from '../../src/features/maintenance/storage-health.service.js'
import { Sweeper } from '../../src/features/maintenance/sweeper.js'
import type { BlobStorage } from '../../src/platform/storage/blob-storage.js'
import { openStorage } from '../../src/platform/storage/index.js'
import { findResidue } from '../support/residue.js'
import { findFreePort, Service, type Start } from '../support/service.js'
import { canMount, createSmallDiskCommand, SmallDisk } from '../support/small-disk.js'
import { type ApiResponse, Caller, type TestTenant, World } from '../support/world.js'

const kilobyte = 1024
const megabyte = 1024 * kilobyte
const diskSize = 8 * megabyte
const healthy = { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 }
const secret = { id: 'sig_1', secret: Buffer.alloc(32, 7) }
const signingSecrets = { getCurrentKey: async () => secret, findKey: async () => secret }

let world: World
let tenant: TestTenant
let service: Service
let caller: Caller
let dataDir: string
/** Mount point of the small disk. */
let place: string
let storageUrl: string
const accepted: number[] = []
let rejections = 0

beforeEach(async () => {
  world = await World.open({ SCANNER_URL: 'none:' })
  tenant = await world.createTenant()
  await tenant.createContext('checked', { scan_for_viruses: false, reject_blank_files: true })
  await tenant.createContext('raw', { allowed_extensions: ['bin'], scan_for_viruses: false, max_file_size_mb: 20 })
  dataDir = join(world.dataDir, 'data')
  accepted.length = 0
  rejections = 0
})
afterEach(async () => {
  await service?.stop('SIGKILL')
  await world.close()
})

async function start(what: 'store' | 'data', how: Start): Promise<void> {
  place = join(world.dataDir, what)
  storageUrl = `file://${join(what === 'store' ? place : world.dataDir, 'kept')}`
  await mkdir(place, { recursive: true })
  const env = {
    DATABASE_URL: world.databaseUrl,
    MASTER_KEY: world.config.masterKey!.toString('base64'),
    DATA_DIR: dataDir,
    STORAGE_URL: storageUrl,
    SCANNER_URL: 'none:',
    PORT: await findFreePort(),
  }
  service = await Service.start(env, how)
  caller = new Caller(service.url, tenant.admin.credential)
}

async function upload(bytes: number): Promise<ApiResponse> {
  const response = await caller.upload('raw', 'a.bin', randomBytes(bytes))
  if (response.status === 201) accepted.push(bytes)
  return response
}

/** Uploads a file that is rejected because of its content, even if the disk is full. */
async function expectContentRejected(): Promise<void> {
  const blank = Buffer.alloc(megabyte + 1, ' ')
  expect(await caller.upload('checked', 'a.txt', blank)).toMatchObject({ status: 422, body: { error: { code: 'blank_file' } } })
  rejections++
}

function expectFull(response: ApiResponse): void {
  expect(response).toMatchObject({ status: 503, body: { status: 'ERROR', error: { code: 'storage_unavailable' } } })
  expect(response.body.message).toMatch(/disk is full|not enough disk space|EFBIG/)
  expect(response.headers.get('retry-after')).toMatch(/^\d+$/)
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
}

/** Checks that rows, usage, blobs and journal agree and that the disk contains no other files. */
async function expectAgreement(root = ''): Promise<void> {
  const url = `file://${root}${storageUrl.slice('file://'.length)}`
  const storage: BlobStorage = await openStorage({ storageUrl: url, publicUrl: 'http://localhost' }, signingSecrets)
  const spool = [join(root, dataDir, 'spool'), join(root, storageUrl.slice('file://'.length), '+tmp')]
  expect(await findResidue({ spool, faults: () => service.faults })).toEqual([])
  // Repeats the sweep because the periodic sweep may have claimed some paths.
  const { pool } = world.database
  while ((await pool.query(`UPDATE blob_garbage SET due_at = now() - interval '1 minute'`)).rowCount !== 0)
    await new Sweeper(pool, storage).sweep()
  const health = new StorageHealth({ ...world.app.services, storage })
  expect(await health.verify({ readBlobs: true })).toEqual(healthy)
  expect((await tenant.admin.get('/files')).body.data.pagination.total_items).toBe(accepted.length)
  const held = (await tenant.admin.get('/tenant')).body.data.storage_used_bytes
  expect(held).toBe(accepted.reduce((sum, bytes) => sum + bytes, 0))
  expect((await tenant.admin.get('/stats')).body.data.security.files_blocked_total).toBe(rejections)
}

async function expectCleanStop(): Promise<void> {
  expect((await service.stop()).status).toBe(0)
}

/** Polls because readiness is cached for up to five seconds. */
async function waitForStoreStatus(status: 'up' | 'down'): Promise<void> {
  const getStorageStatus = async () => (await caller.raw('/health/ready')).body.checks.storage.status
  for (let tries = 0; (await getStorageStatus()) !== status && tries < 600; tries++)
    await new Promise((resolve) => setTimeout(resolve, 100))
  expect(await getStorageStatus()).toBe(status)
}

/** Limits files that the service writes to 1 MiB, which simulates a full disk on any machine (EFBIG instead of ENOSPC). */
async function testFileSizeLimit(what: 'store' | 'data'): Promise<void> {
  await start(what, { fileSizeLimit: megabyte })
  for (const size of [3, 5, 5, 3]) expectFull(await upload(size * megabyte))
  await expectContentRejected()
  expect((await upload(500 * kilobyte)).status).toBe(201)
  expect((await upload(100)).status).toBe(201)
  await expectAgreement()
  await expectCleanStop()
}

test("returns 503 for an upload that exceeds the process's file size limit", () => testFileSizeLimit('data'))

// Without permission to mount disks, these tests use the file size limit instead.
describe('full disks', () => {
  test("returns 503 without storing the file if the store's disk is full", async () => {
    await mkdir(join(world.dataDir, 'store'))
    if (!(await canMount(join(world.dataDir, 'store')))) return testFileSizeLimit('store')
    await start('store', { under: createSmallDiskCommand(join(world.dataDir, 'store'), diskSize) })
    const pid = service.child.pid!
    const disk = new SmallDisk(pid, place)
    let response = await upload(megabyte)
    for (; response.status === 201; response = await upload(megabyte)) expect(accepted.length).toBeLessThan(8)
    expectFull(response)
    expect(accepted.length).toBeGreaterThan(4)
    await expectAgreement(`/proc/${pid}/root`)

    await disk.fillExcept(200 * kilobyte)
    expectFull(await upload(megabyte))
    expect((await upload(50 * kilobyte)).status).toBe(201)
    // Concurrent uploads at the limit are stored completely or not at all.
    for (const each of await Promise.all(Array.from({ length: 8 }, () => upload(40 * kilobyte))))
      if (each.status !== 201) expectFull(each)
    await disk.fillExcept(0)
    expectFull(await upload(10 * kilobyte))
    expectFull(await upload(10))
    await expectContentRejected()
    await waitForStoreStatus('down')
    // A full disk must not prevent downloads and deletions of existing files.
    const files: { file_id: string; size_bytes: number }[] = (await caller.get('/files')).body.data.data
    const file = files.find(({ size_bytes: bytes }) => bytes === megabyte)!
    expect((await caller.get(`/files/${file.file_id}`)).status).toBe(200)
    expect((await caller.delete(`/files/${file.file_id}`)).status).toBe(200)
    accepted.splice(accepted.indexOf(file.size_bytes), 1)
    await expectAgreement(`/proc/${pid}/root`)

    await disk.freeSpace()
    expect((await upload(megabyte)).status).toBe(201)
    await waitForStoreStatus('up')
    await expectAgreement(`/proc/${pid}/root`)
    await expectCleanStop()
  })

  test('returns 503 for large uploads if the disk for temporary files is full', async () => {
    await mkdir(dataDir)
    if (!(await canMount(dataDir))) return testFileSizeLimit('data')
    await start('data', { under: createSmallDiskCommand(dataDir, diskSize) })
    const pid = service.child.pid!
    const disk = new SmallDisk(pid, place)
    expectFull(await upload(12 * megabyte))
    await expectAgreement(`/proc/${pid}/root`)
    expect((await upload(5 * megabyte)).status).toBe(201)
    await disk.fillExcept(0)
    for (let times = 0; times < 3; times++) expectFull(await upload(5 * megabyte))
    for (const size of [100 * kilobyte, megabyte, 4 * megabyte]) expect((await upload(size)).status).toBe(201)
    await disk.fillExcept(6 * megabyte)
    expect((await upload(5 * megabyte)).status).toBe(201)
    // Concurrent uploads that exceed the free space are stored completely or not at all.
    for (const each of await Promise.all(Array.from({ length: 6 }, () => upload(5 * megabyte))))
      if (each.status !== 201) expectFull(each)
    await expectAgreement(`/proc/${pid}/root`)
    await disk.freeSpace()
    expect((await upload(5 * megabyte)).status).toBe(201)
    await expectAgreement(`/proc/${pid}/root`)
    await expectCleanStop()
  })
})
