import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { Upload } from 'tus-js-client'
import { Sweeper } from '../../src/features/maintenance/sweeper.js'
import { BreakingProxy } from '../support/breaking-proxy.js'
import { type BucketWorld, openBucketWorld } from '../support/bucket/world-env.js'
import { faultPoints } from '../support/fault-points.js'
import { findFreePort, Service } from '../support/service.js'
import { Tus } from '../support/tus.js'
import { Caller, type TestTenant, World } from '../support/world.js'

const megabyte = 1_048_576
const healthy = { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 }
const seed = Number(process.env.SEED ?? 20_261_122)

/** Yields reproducible cut positions from a seed. */
function* generateCuts(from: number): Generator<number> {
  for (let state = from; ; ) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    yield 1 + (state % (2 * megabyte))
  }
}

describe.each(['a directory', 'a bucket'])('resumable uploads stored in %s', (kind) => {
  // `world` is the replica that survives. The killed replicas run as separate processes.
  let world: World
  let bucket: BucketWorld | undefined
  let tenant: TestTenant
  let tus: Tus
  let env: NodeJS.ProcessEnv
  const running: Service[] = []

  beforeAll(async () => {
    bucket = kind === 'a bucket' ? await openBucketWorld() : undefined
    world = await World.open({ SCANNER_URL: 'none:', ...bucket?.env })
    tenant = await world.createTenant()
    await tenant.createContext('raw', { allowed_extensions: ['bin'], scan_for_viruses: false, max_file_size_mb: 40 })
    tus = new Tus(tenant.admin)
    env = {
      DATABASE_URL: world.databaseUrl,
      MASTER_KEY: world.config.masterKey!.toString('base64'),
      DATA_DIR: join(world.dataDir, 'killed'),
      STORAGE_URL: world.config.storageUrl,
      SCANNER_URL: 'none:',
      ...bucket?.env,
    }
  })
  afterEach(async () => {
    for (const service of running.splice(0)) await service.stop('SIGKILL')
  })
  afterAll(async () => {
    await world.close()
    await bucket?.close()
  })

  async function start(more: NodeJS.ProcessEnv = {}): Promise<{ service: Service; tus: Tus }> {
    const service = await Service.start({ ...env, PORT: await findFreePort(), ...more })
    running.push(service)
    return { service, tus: new Tus(new Caller(service.url, tenant.admin.credential)) }
  }

  const countFiles = async () => (await tenant.admin.get('/files')).body.data.pagination.total_items as number

  async function expectBytes(fileId: string, content: Buffer): Promise<void> {
    const { download_url: url } = (await tenant.admin.get(`/files/${fileId}`)).body.data
    const response = await fetch(url, { headers: { connection: 'close' } })
    expect(Buffer.from(await response.arrayBuffer()).equals(content)).toBe(true)
  }

  async function expectAgreement(): Promise<void> {
    await world.database.pool.query(
      `UPDATE blob_garbage SET due_at = now() WHERE blob_path NOT IN (SELECT blob_path FROM upload_parts)`,
    )
    await world.database.pool.query('UPDATE idempotency_keys SET leased_until = now() WHERE response IS NULL')
    await new Sweeper(world.database.pool, world.app.services.storage).sweep()
    expect(await world.app.services.storageHealth.verify({ readBlobs: true })).toEqual(healthy)
  }

  test('uploads a file with tus-js-client over connections that break at random', async () => {
    const proxy = await BreakingProxy.open(world.url)
    const content = randomBytes(9 * megabyte)
    const random = generateCuts(seed)
    const breaks = Array.from({ length: 6 }, () => random.next().value as number)
    proxy.breakAfter(...breaks)
    const before = await countFiles()
    const url = await new Promise<string>((resolve, reject) => {
      const upload = new Upload(content, {
        endpoint: `${proxy.url}/api/v1/uploads`,
        headers: { Authorization: `Bearer ${tenant.admin.credential}` },
        metadata: { filename: 'cut.bin', context: 'raw' },
        retryDelays: [0, 100, 200, 400, 800, 1600],
        onError: (error) => reject(new Error(`With SEED=${seed}, cut after ${breaks}: ${error.message}`)),
        onSuccess: () => resolve(upload.url!),
      })
      upload.start()
    })
    proxy.close()
    expect(proxy.broken).toBe(6)
    const response = await tus.head(new URL(url).pathname)
    await expectBytes(response.headers.get('assay-file-id')!, content)
    expect(await countFiles()).toBe(before + 1)
    await expectAgreement()
  })

  test('keeps bytes received before kill -9 available to other replicas and after a restart', async () => {
    const { service, tus: killed } = await start()
    const content = randomBytes(20 * megabyte)
    const path = await tus.begin('raw', 'killed.bin', content.length)
    const proxy = await BreakingProxy.open(service.url)
    // The upload body stalls in the middle until the service is killed.
    proxy.stallAfter(14 * megabyte)
    const sending = new Tus(new Caller(proxy.url, killed.caller.credential)).patch(path, 0, content).catch(() => 'cut')
    for (let received = 0; received < 8 * megabyte; await sleep(20)) received = (await tus.get(path)).body.data.received_bytes
    await service.stop('SIGKILL')
    expect(await sending).toBe('cut')
    proxy.close()

    const offset = await tus.getOffset(path)
    expect(offset).toBeGreaterThanOrEqual(8 * megabyte)
    const anew = await start()
    const middle = offset + 1_000_003
    expect((await anew.tus.patch(path, offset, content.subarray(offset, middle))).status).toBe(204)
    const last = await tus.patch(path, middle, content.subarray(middle))
    await expectBytes(last.headers.get('assay-file-id')!, content)
    expect((await anew.tus.head(path)).headers.get('assay-file-id')).toBe(last.headers.get('assay-file-id'))
    await expectAgreement()
  })

  const ofParts = faultPoints.filter((point) => point.startsWith('part.'))
  // Between verdict and response, only the storage step depends on the kind of store.
  const ofAnyStore: string[] = kind === 'a directory' ? ['upload.judged', 'commit.durable', 'upload.committed'] : []
  const steps: string[] = [...ofParts, 'upload.stored', ...ofAnyStore]
  test.each(steps)('continues an upload on another replica if the first replica is killed at %s', async (point) => {
    const { service, tus: killed } = await start({ FAULT_POINT: point })
    const content = randomBytes(300_000)
    const before = await countFiles()
    const path = await tus.begin('raw', 'one.bin', content.length)
    await tus.patch(path, 0, content.subarray(0, 100_000))
    await expect(killed.patch(path, 100_000, content.subarray(100_000))).rejects.toThrow()
    await service.ended
    // The killed process's lease on its Idempotency-Key must expire first.
    await world.database.pool.query('UPDATE idempotency_keys SET leased_until = now() WHERE response IS NULL')
    const offset = await tus.getOffset(path)
    if (offset < content.length) {
      expect(offset).toBe(100_000)
      await tus.patch(path, offset, content.subarray(offset))
    }
    const found = await tus.head(path)
    await expectBytes(found.headers.get('assay-file-id')!, content)
    expect(await countFiles()).toBe(before + 1)
    await expectAgreement()
  })
})
