import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { Sweeper } from '../../src/features/maintenance/sweeper.js'
import { overloaded } from '../../src/platform/errors/errors.js'
import { toStatusAndCode } from '../support/response-assertions.js'
import { Tus } from '../support/tus.js'
import { type TestTenant, World } from '../support/world.js'

const megabyte = 1_048_576
const healthy = { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 }

let world: World
beforeAll(async () => {
  world = await World.open({ MAX_UPLOAD_MB: '64', DATABASE_POOL_SIZE: '16' })
})
afterAll(() => world.close())

async function createTenant(quotaMb: number, context: Record<string, unknown> = {}): Promise<{ tenant: TestTenant; tus: Tus }> {
  const tenant = await world.createTenant({ quotaMb })
  await tenant.createContext('raw', {
    allowed_extensions: ['bin'],
    max_file_size_mb: 40,
    reject_blank_files: false,
    scan_for_viruses: false,
    ...context,
  })
  return { tenant, tus: new Tus(tenant.admin) }
}

const createBytes = (size: number) => Buffer.alloc(size, 'bytes')
const countUnfinishedUploads = async ({ tenantId }: TestTenant): Promise<number> =>
  (
    await world.database.pool.query(
      'SELECT coalesce(sum(offset_bytes), 0)::bigint AS bytes FROM resumable_uploads WHERE tenant_id = $1 AND decided_at IS NULL',
      [tenantId],
    )
  ).rows[0].bytes

async function storedBytes({ tenantId }: TestTenant): Promise<number> {
  let stored = 0
  for await (const { path, size } of world.app.services.storage.list(`${tenantId}/`)) {
    if (!path.startsWith(`${tenantId}/`)) break
    stored += size
  }
  return stored
}

describe('quota for unfinished uploads', () => {
  test('counts the bytes of unfinished uploads towards the tenant quota', async () => {
    const { tenant, tus } = await createTenant(4)
    const first = await tus.begin('raw', 'a.bin', 4 * megabyte)
    expect((await tus.patch(first, 0, createBytes(3 * megabyte))).status).toBe(204)
    const second = await tus.begin('raw', 'b.bin', 2 * megabyte)
    const answer = await tus.patch(second, 0, createBytes(2 * megabyte))
    expect(toStatusAndCode(answer)).toEqual([422, 'quota_exceeded'])
    expect(answer.body.message).toContain('The tenant has 1048576 bytes left of its 4 MB quota')
    expect(answer.body.error.details).toEqual({
      quota_mb: 4,
      used_bytes: 0,
      unfinished_bytes: 3 * megabyte,
      remaining_bytes: megabyte,
      size_bytes: 2 * megabyte,
    })
    expect([(await tus.head(second)).status, await tus.getOffset(second)]).toEqual([200, 0])
    expect((await tus.patch(second, 0, createBytes(megabyte))).status).toBe(204)
    expect(toStatusAndCode(await tus.patch(first, 3 * megabyte, createBytes(1)))).toEqual([422, 'quota_exceeded'])

    const { body } = await tenant.admin.get('/stats')
    expect([body.data.storage.total_bytes, body.data.storage_quota.used_bytes]).toEqual([0, 0])
    expect((await tenant.admin.get('/tenant')).body.data.storage_used_bytes).toBe(0)
    expect((await tenant.admin.get('/contexts/raw')).body.data.storage_used_bytes).toBe(0)
    expect((await tenant.admin.get('/stats/logs?operation=upload')).body.data.pagination.total_items).toBe(0)
    // No bytes are reserved, so a single-request upload succeeds.
    expect((await tenant.admin.upload('raw', 'c.bin', createBytes(megabyte))).status).toBe(201)
    expect(await world.app.services.storageHealth.verify({ tenantId: tenant.tenantId, readBlobs: true })).toEqual(healthy)
  })

  test('counts the bytes of unfinished uploads towards the context quota', async () => {
    const { tenant, tus } = await createTenant(100, { storage_quota_mb: 2 })
    await tenant.createContext('other', { allowed_extensions: ['bin'], scan_for_viruses: false, reject_blank_files: false })
    const first = await tus.begin('raw', 'a.bin', 2 * megabyte)
    expect((await tus.patch(first, 0, createBytes(1.5 * megabyte))).status).toBe(204)
    const second = await tus.begin('raw', 'b.bin', 2 * megabyte)
    const answer = await tus.patch(second, 0, createBytes(megabyte))
    expect(toStatusAndCode(answer)).toEqual([422, 'quota_exceeded'])
    expect(answer.body.message).toContain("Context 'raw' has 524288 bytes left of its 2 MB quota")
    const elsewhere = await tus.begin('other', 'c.bin', 2 * megabyte)
    expect((await tus.patch(elsewhere, 0, createBytes(2 * megabyte))).headers.get('assay-file-id')).toMatch(/^file_/)
  })

  test("hides the tenant's usage from a restricted key in quota errors", async () => {
    const { tenant, tus } = await createTenant(4)
    const first = await tus.begin('raw', 'a.bin', 4 * megabyte)
    await tus.patch(first, 0, createBytes(3 * megabyte))
    const restricted = new Tus(await tenant.createKey(['upload'], { contexts: ['raw'] }))
    const response = await restricted.patch(await restricted.begin('raw', 'b.bin', 2 * megabyte), 0, createBytes(2 * megabyte))
    expect([response.status, response.body.error.details]).toEqual([422, { size_bytes: 2 * megabyte }])
    expect(response.body.message).not.toContain(String(megabyte))
  })

  test('applies the quota to bytes sent at creation, to deferred lengths and to chunked bodies', async () => {
    const { tus } = await createTenant(4)
    const first = await tus.begin('raw', 'a.bin', 4 * megabyte)
    await tus.patch(first, 0, createBytes(3.5 * megabyte))
    expect(toStatusAndCode(await tus.create('raw', 'b.bin', 2 * megabyte, {}, createBytes(megabyte)))).toEqual([
      422,
      'quota_exceeded',
    ])
    const deferred = await tus.begin('raw', 'c.bin', null)
    expect(toStatusAndCode(await tus.patch(deferred, 0, createBytes(megabyte)))).toEqual([422, 'quota_exceeded'])
    const chunked = await tus.caller.raw(deferred, {
      method: 'PATCH',
      headers: { 'tus-resumable': '1.0.0', 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' },
      body: new Blob([createBytes(megabyte)]).stream(),
      duplex: 'half',
    } as RequestInit)
    expect(toStatusAndCode(chunked)).toEqual([422, 'quota_exceeded'])
    expect(await tus.getOffset(deferred)).toBe(0)
  })

  const ends: [string, (of: { tenant: TestTenant; tus: Tus; path: string }) => Promise<void>][] = [
    ['its termination', async ({ tus, path }) => expect((await tus.delete(path)).status).toBe(204)],
    [
      'its expiry',
      async ({ tenant }) => {
        await world.database.pool.query(
          `UPDATE resumable_uploads SET expires_at = now() WHERE tenant_id = $1 AND offset_bytes > 0`,
          [tenant.tenantId],
        )
      },
    ],
    [
      'its rejection',
      async ({ tenant, tus, path }) => {
        await tenant.admin.patch('/contexts/raw', { reject_blank_files: true })
        expect(toStatusAndCode(await tus.patch(path, 3 * megabyte, Buffer.alloc(megabyte)))).toEqual([422, 'blank_file'])
      },
    ],
    [
      'the deletion of its finished file',
      async ({ tenant, tus, path }) => {
        const last = await tus.patch(path, 3 * megabyte, Buffer.alloc(megabyte))
        expect((await tenant.admin.delete(`/files/${last.headers.get('assay-file-id')}`)).status).toBe(200)
      },
    ],
  ]
  test.each(ends)('releases the reserved bytes of a resumable upload after %s', async (_what, end) => {
    const { tenant, tus } = await createTenant(4)
    const path = await tus.begin('raw', 'a.bin', 4 * megabyte)
    const other = await tus.begin('raw', 'b.bin', 4 * megabyte)
    await tus.patch(path, 0, Buffer.alloc(3 * megabyte))
    expect(toStatusAndCode(await tus.patch(other, 0, createBytes(2 * megabyte)))).toEqual([422, 'quota_exceeded'])
    await end({ tenant, tus, path })
    expect((await tus.patch(other, 0, createBytes(2 * megabyte))).status).toBe(204)
  })

  test('releases bytes reserved by a killed process when its upload receives the next request', async () => {
    const { tenant, tus } = await createTenant(4)
    const path = await tus.begin('raw', 'a.bin', 4 * megabyte)
    const other = await tus.begin('raw', 'b.bin', 4 * megabyte)
    await world.database.pool.query('UPDATE resumable_uploads SET incoming_bytes = $2 WHERE tenant_id = $1 AND upload_id = $3', [
      tenant.tenantId,
      3 * megabyte,
      path.split('/').at(-1),
    ])
    expect(toStatusAndCode(await tus.patch(other, 0, createBytes(2 * megabyte)))).toEqual([422, 'quota_exceeded'])
    expect(await tus.getOffset(path)).toBe(0)
    expect((await tus.patch(other, 0, createBytes(2 * megabyte))).status).toBe(204)
  })
})

test('deletes a stored part if the database cannot insert its row', async () => {
  const { tenant, tus } = await createTenant(4)
  const path = await tus.begin('raw', 'a.bin', 2 * megabyte)
  jest
    .spyOn(world.app.services.resumableUploads, 'addPart')
    .mockRejectedValueOnce(overloaded('Too many reads of this tenant are under way.'))
  expect(toStatusAndCode(await tus.patch(path, 0, createBytes(megabyte)))).toEqual([503, 'overloaded'])
  expect([await storedBytes(tenant), await tus.getOffset(path)]).toEqual([0, 0])
  expect((await tus.patch(path, 0, createBytes(2 * megabyte))).headers.get('assay-file-id')).toMatch(/^file_/)
})

test('never exceeds the quota during 64 parallel uploads on two replicas', async () => {
  const { tenant, tus } = await createTenant(4)
  const replica = await World.open({ MAX_UPLOAD_MB: '64', DATABASE_POOL_SIZE: '16' }, world)
  try {
    const other = new Tus(replica.createCaller(tenant.admin.credential))
    const paths: string[] = []
    while (paths.length < 64) paths.push(await tus.begin('raw', 'a.bin', 400_000))
    const part = createBytes(180_000)
    const send = async (path: string, n: number): Promise<number> => {
      const { status } = await (n % 2 ? tus : other).patch(path, 0, part)
      // A 503 response stores nothing, so the request is retried on an overloaded machine.
      return status === 503 ? send(path, n) : status
    }
    const statuses = await Promise.all(paths.map(send))
    expect([...new Set(statuses)].sort()).toEqual([204, 422])
    // The accepted parts use the quota completely without exceeding it.
    expect(statuses.filter((status) => status === 204).length).toBe(Math.floor((4 * megabyte) / part.length))
    expect(await countUnfinishedUploads(tenant)).toBeLessThanOrEqual(4 * megabyte)
    expect(await storedBytes(tenant)).toBeLessThanOrEqual(4 * megabyte)
    for (const path of paths) expect((await tus.delete(path)).status).toBe(204)
    await new Sweeper(world.database.pool, world.app.services.storage).sweep()
    expect(await storedBytes(tenant)).toBe(0)
    expect(await world.app.services.storageHealth.verify({ tenantId: tenant.tenantId, readBlobs: true })).toEqual(healthy)
  } finally {
    await replica.close()
  }
})
