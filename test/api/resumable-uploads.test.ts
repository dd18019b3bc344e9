import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Sweeper } from '../../src/features/maintenance/sweeper.js'
import { encodeUploadMetadata, Tus } from '../support/tus.js'
import { type ApiResponse, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let tus: Tus
beforeAll(async () => {
  world = await World.open({ MAX_UPLOAD_MB: '64' })
  tenant = await createTenant()
  tus = new Tus(tenant.admin)
})
afterAll(() => world.close())

async function createTenant(): Promise<TestTenant> {
  const created = await world.createTenant()
  await created.createContext('notes')
  await created.createContext('raw', { allowed_extensions: ['bin'], max_file_size_mb: 40, reject_blank_files: false })
  return created
}

const getFileId = (response: ApiResponse) => response.headers.get('assay-file-id')
const getUploadId = (path: string) => path.split('/').at(-1)!
const calls = async (of: TestTenant) => (await of.admin.get('/stats/logs?operation=upload')).body.data
const healthy = { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 }

async function downloadBytes(id: string, of = tenant): Promise<Buffer> {
  const { download_url: url } = (await of.admin.get(`/files/${id}`)).body.data
  return Buffer.from(await (await fetch(url)).arrayBuffer())
}

async function countBlobs(of: TestTenant): Promise<number> {
  let count = 0
  for await (const { path } of world.app.services.storage.list(`${of.tenantId}/`)) {
    if (!path.startsWith(`${of.tenantId}/`)) break
    count++
  }
  return count
}

const sweep = async () => {
  await world.app.services.resumableUploads.removeExpiredUploads()
  await new Sweeper(world.database.pool, world.app.services.storage).sweep()
}

describe('resumable uploads', () => {
  test('creates the same file and call for a resumable upload as for a single-request upload', async () => {
    const own = await createTenant()
    const by = new Tus(own.admin)
    const content = Buffer.from('a line of text\n'.repeat(1000))
    const metadata = encodeUploadMetadata({ filename: 'a.txt', context: 'notes', metadata: '{"year":2026}', more: 'given back' })
    const path = await by.begin('notes', 'a.txt', content.length, { 'upload-metadata': metadata })
    expect(path).toMatch(/^\/api\/v1\/uploads\/upl_[0-9a-z]{26}$/)

    const first = await by.patch(path, 0, content.subarray(0, 5000))
    expect([first.status, first.headers.get('upload-offset'), getFileId(first)]).toEqual([204, '5000', null])
    const between = await by.head(path)
    expect(between.status).toBe(200)
    expect(Object.fromEntries(between.headers)).toMatchObject({
      'tus-resumable': '1.0.0',
      'upload-offset': '5000',
      'upload-length': String(content.length),
      'upload-metadata': metadata,
      'cache-control': 'no-store',
    })
    expect((await calls(own)).pagination.total_items).toBe(0)

    const last = await by.patch(path, 5000, content.subarray(5000))
    expect([last.status, last.headers.get('upload-offset')]).toEqual([204, String(content.length)])
    expect(await downloadBytes(getFileId(last)!, own)).toEqual(content)
    expect((await own.admin.get(`/files/${getFileId(last)}/metadata`)).body.data).toMatchObject({
      original_filename: 'a.txt',
      metadata: { year: 2026 },
      checksum: `sha256:${createHash('sha256').update(content).digest('hex')}`,
    })
    const { data, pagination } = await calls(own)
    expect(pagination.total_items).toBe(1)
    expect(data[0]).toMatchObject({ operation: 'upload', status: 'success', file_id: getFileId(last), context_key: 'notes' })
    expect((await own.admin.get('/stats')).body.data.files_uploaded.total).toBe(1)

    const after = await by.head(path)
    expect([after.status, after.headers.get('upload-offset'), getFileId(after)]).toEqual([
      200,
      String(content.length),
      getFileId(last),
    ])
    const again = await by.patch(path, 5000, content.subarray(5000))
    expect([again.status, getFileId(again), again.headers.get('upload-offset')]).toEqual([
      204,
      getFileId(last),
      String(content.length),
    ])
    expect((await calls(own)).pagination.total_items).toBe(1)
    await sweep()
    expect(await countBlobs(own)).toBe(1)
    expect(await world.app.services.storageHealth.verify({ tenantId: own.tenantId, readBlobs: true })).toEqual(healthy)
  })

  test('validates and logs an empty resumable upload only once', async () => {
    const own = await createTenant()
    const by = new Tus(own.admin)
    const excess = await by.create('raw', 'empty.bin', 0, {}, Buffer.from('x'))
    expect(excess.status).toBe(400)
    const response = await by.create('raw', 'empty.bin', 0, {}, Buffer.alloc(0))
    expect([response.status, response.headers.get('upload-offset')]).toEqual([201, '0'])
    expect(await downloadBytes(getFileId(response)!, own)).toEqual(Buffer.alloc(0))
    const { data } = await calls(own)
    expect(data.map(({ status }: { status: string }) => status)).toEqual(['success', 'failure'])
    expect((await own.admin.get('/stats')).body.data.files_uploaded.total).toBe(1)
  })

  test('returns 201 and the file if the request that creates a resumable upload contains all of its bytes', async () => {
    const content = Buffer.from('all at once')
    const response = await tus.create('notes', 'once.txt', content.length, {}, content)
    expect(response.status).toBe(201)
    expect(response.headers.get('upload-offset')).toBe(String(content.length))
    expect(await downloadBytes(getFileId(response)!)).toEqual(content)
    expect(getFileId(await tus.head(response.headers.get('location')!))).toBe(getFileId(response))
  })

  test('accepts the first bytes in the request that creates a resumable upload', async () => {
    const response = await tus.create('notes', 'b.txt', 10, {}, Buffer.from('01234'))
    expect([response.status, response.headers.get('upload-offset'), getFileId(response)]).toEqual([201, '5', null])
    const remaining = Date.parse(response.headers.get('upload-expires')!) - Date.now()
    expect(Math.round(remaining / 3_600_000)).toBe(24)
    expect(getFileId(await tus.patch(response.headers.get('location')!, 5, '56789'))).toMatch(/^file_/)
  })

  test('accepts the deferred length of a resumable upload only once', async () => {
    const path = await tus.begin('notes', 'later.txt', null)
    const started = await tus.patch(path, 0, 'one ')
    expect(started.status).toBe(204)
    expect((await tus.head(path)).headers.get('upload-defer-length')).toBe('1')
    expect((await tus.patch(path, 4, 'two ', { 'upload-length': '11' })).status).toBe(204)
    expect((await tus.patch(path, 8, '', { 'upload-length': '12' })).status).toBe(400)
    expect((await tus.head(path)).headers.get('upload-length')).toBe('11')
    expect(await downloadBytes(getFileId(await tus.patch(path, 8, 'end'))!)).toEqual(Buffer.from('one two end'))
    const known = await tus.begin('notes', 'known.txt', null)
    await tus.patch(known, 0, 'whole')
    expect(getFileId(await tus.patch(known, 5, '', { 'upload-length': '5' }))).toMatch(/^file_/)
  })

  test('stores only a few parts for a resumable upload that consists of many small requests', async () => {
    const path = await tus.begin('notes', 'drops.txt', 40)
    for (let at = 0; at < 39; at++) expect((await tus.patch(path, at, 'x')).status).toBe(204)
    const { rows } = await world.database.pool.query('SELECT 1 FROM upload_parts WHERE upload_id = $1', [getUploadId(path)])
    expect(rows.length).toBe(1)
    expect(await downloadBytes(getFileId(await tus.patch(path, 39, 'y'))!)).toEqual(Buffer.from(`${'x'.repeat(39)}y`))
  })

  test('stores a resumable upload of many megabytes unchanged', async () => {
    const content = randomBytes(30 * 1_048_576)
    const path = await tus.begin('raw', 'large.bin', content.length)
    expect((await tus.patch(path, 0, content.subarray(0, 20_000_003))).status).toBe(204)
    const last = await tus.patch(path, 20_000_003, content.subarray(20_000_003))
    expect((await downloadBytes(getFileId(last)!)).equals(content)).toBe(true)
  })

  test('returns the size and progress of a resumable upload, and later its file', async () => {
    const path = await tus.begin('notes', 'seen.txt', 4)
    expect((await tus.get(path)).body.data).toMatchObject({ size_bytes: 4, received_bytes: 0, file: null, error: null })
    const last = await tus.patch(path, 0, 'seen')
    expect((await tus.get(path)).body.data).toMatchObject({
      upload_id: getUploadId(path),
      file: {
        file_id: getFileId(last),
        original_filename: 'seen.txt',
        size_bytes: 4,
        context_key: 'notes',
        content_type: 'text/plain',
      },
      error: null,
    })
  })
})
