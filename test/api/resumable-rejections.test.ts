import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { Sweeper } from '../../src/features/maintenance/sweeper.js'
import { maxUnfinished } from '../../src/features/uploads/upload-limits.js'
import { eicar } from '../support/eicar.js'
import { toStatusAndCode } from '../support/response-assertions.js'
import { encodeUploadMetadata, Tus } from '../support/tus.js'
import { type ApiResponse, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let tus: Tus
beforeAll(async () => {
  world = await World.open({ MAX_UPLOAD_MB: '5' })
})
afterAll(() => world.close())
beforeEach(async () => {
  tenant = await world.createTenant()
  await tenant.createContext('notes', { max_file_size_mb: 1 })
  await tenant.createContext('lax', { reject_blank_files: false, allowed_extensions: ['txt', 'png'] })
  tus = new Tus(tenant.admin)
})

const uploadCalls = async () => (await tenant.admin.get('/stats/logs?operation=upload')).body.data
const countBlocked = async () => (await tenant.admin.get('/stats')).body.data.security.by_reason
const toComparable = ({ status, body }: ApiResponse) => [status, body.error.code, body.message, body.error.details]
const listBlobs = async () => {
  let count = 0
  for await (const { path } of world.app.services.storage.list(`${tenant.tenantId}/`)) {
    if (!path.startsWith(`${tenant.tenantId}/`)) break
    count++
  }
  return count
}
const sweep = async () => {
  await world.app.services.resumableUploads.removeExpiredUploads()
  await new Sweeper(world.database.pool, world.app.services.storage).sweep()
}

describe('resumable upload validation', () => {
  const byItsBytes: [reason: string, name: string, content: Buffer | string][] = [
    ['invalid_extension', 'picture.txt', Buffer.from('GIF89a\u0001\u0000\u0001\u0000\u0000\u0000\u0000;', 'latin1')],
    ['blank_file', 'blank.txt', ' \n\t '],
    ['corrupt_file', 'broken.png', Buffer.from('\x89PNG\r\n\x1a\nand no more', 'latin1')],
    ['virus_detected', 'virus.txt', eicar],
  ]
  test.each(byItsBytes)('rejects a resumable upload with %s after receiving the last byte', async (reason, name, content) => {
    const bytes = Buffer.from(content as string)
    const other = await world.createTenant()
    await other.createContext('notes', { max_file_size_mb: 1 })
    const complete = await other.admin.upload('notes', name, bytes)
    const path = await tus.begin('notes', name, bytes.length)
    expect((await tus.patch(path, 0, bytes.subarray(0, 2))).status).toBe(204)
    const last = await tus.patch(path, 2, bytes.subarray(2))
    expect(toComparable(last)).toEqual(toComparable(complete))
    expect(last.body.error.code).toBe(reason)

    const { data, pagination } = await uploadCalls()
    expect(pagination.total_items).toBe(1)
    expect(data[0]).toMatchObject({ status: 'failure', error_message: last.body.message, context_key: 'notes', file_id: null })
    expect(await countBlocked()).toMatchObject({ [reason]: 1 })
    expect((await tus.head(path)).status).toBe(410)
    expect(toComparable(await tus.patch(path, 2, bytes.subarray(2)))).toEqual(toComparable(last))
    expect((await tus.get(path)).body.data).toMatchObject({ file: null, error: { code: reason, message: last.body.message } })
    expect((await uploadCalls()).pagination.total_items).toBe(1)
    await sweep()
    expect(await listBlobs()).toBe(0)
  })

  test('rejects a resumable upload at creation if its extension, size or context is invalid or a quota is exceeded', async () => {
    const other = await world.createTenant({ quotaMb: 3 })
    await other.createContext('notes', { max_file_size_mb: 1 })
    const extension = await tus.create('notes', 'program.exe', 10)
    expect(toComparable(extension)).toEqual(toComparable(await other.admin.upload('notes', 'program.exe', '0123456789')))
    const size = await tus.create('notes', 'large.txt', 1_048_577)
    expect(toStatusAndCode(size)).toEqual([413, 'size_exceeded'])
    expect(size.body.message).toBe("The file size is 1048577 bytes. The limit of context 'notes' is 1 MB (1048576 bytes).")
    expect(toStatusAndCode(await tus.create('nowhere', 'a.txt', 10))).toEqual([404, 'not_found'])
    expect(await countBlocked()).toMatchObject({ invalid_extension: 1, size_exceeded: 1 })
    const { data } = await uploadCalls()
    expect(data.map(({ error_message: message, context_key: key }: Record<string, string>) => [key, message])).toEqual([
      [null, "Context 'nowhere' was not found."],
      ['notes', size.body.message],
      ['notes', extension.body.message],
    ])
    await other.createContext('wide', { max_file_size_mb: 4, storage_quota_mb: 2 })
    await other.createContext('wider', { max_file_size_mb: 4 })
    const byOther = new Tus(other.admin)
    expect(toComparable(await byOther.create('wide', 'a.txt', 2_097_153))).toEqual([
      422,
      'quota_exceeded',
      "Context 'wide' has 2097152 bytes left of its 2 MB quota. The file is 2097153 bytes. Delete files or increase the quota.",
      { quota_mb: 2, used_bytes: 0, remaining_bytes: 2_097_152, size_bytes: 2_097_153 },
    ])
    expect((await byOther.create('wider', 'a.txt', 4_000_000)).body.message).toMatch(/^The tenant has 3145728 bytes left of its/)
    await other.admin.patch('/contexts/wide', { status: 'disabled' })
    expect(toStatusAndCode(await byOther.create('wide', 'a.txt', 1))).toEqual([409, 'conflict'])
  })

  test('rejects a resumable upload with size_exceeded if its deferred length is too large', async () => {
    const path = await tus.begin('notes', 'long.txt', null)
    const response = await tus.patch(path, 0, 'x'.repeat(1_048_577))
    expect(toStatusAndCode(response)).toEqual([413, 'size_exceeded'])
    expect((await tus.head(path)).status).toBe(410)
    const declared = await tus.begin('notes', 'long.txt', null)
    expect(toStatusAndCode(await tus.patch(declared, 0, 'x', { 'upload-length': '1048577' }))).toEqual([413, 'size_exceeded'])
    expect((await tus.head(declared)).status).toBe(410)
    expect(await countBlocked()).toMatchObject({ size_exceeded: 2 })
    expect((await uploadCalls()).pagination.total_items).toBe(2)
  })

  test('rejects an empty resumable upload unless the context accepts blank files', async () => {
    expect(toStatusAndCode(await tus.create('notes', 'empty.txt', 0))).toEqual([422, 'blank_file'])
    const complete = await tenant.admin.upload('lax', 'empty.txt', '')
    const empty = await tus.create('lax', 'empty.txt', 0)
    expect(empty.status).toBe(complete.status)
    expect(empty.headers.get('assay-file-id')).toMatch(/^file_/)
  })

  test('rejects a resumable upload if the quota is used up after the upload is created', async () => {
    await tenant.createContext('tight', { storage_quota_mb: 1 })
    const bytes = Buffer.alloc(700_000, 'a line\n')
    const path = await tus.begin('tight', 'late.txt', bytes.length)
    await tenant.admin.upload('tight', 'first.txt', bytes)
    expect(toStatusAndCode(await tus.patch(path, 0, bytes))).toEqual([422, 'quota_exceeded'])
    expect((await tus.head(path)).status).toBe(410)
  })
})

test('returns all errors in a request to create a resumable upload together', async () => {
  const response = await tus.create('', '', 10, {
    'upload-metadata': encodeUploadMetadata({ filename: '..', context: '', metadata: '[1]' }),
    'upload-length': '-1',
    'upload-checksum': 'md5 x',
    'content-type': 'application/offset+octet-stream',
    'upload-concat': 'partial',
  })
  expect(toStatusAndCode(response)).toEqual([400, 'bad_user_input'])
  expect(response.body.error.details.fields.map(({ field }: { field: string }) => field)).toEqual([
    'Upload-Length',
    'Upload-Concat',
    'Upload-Checksum',
    'filename',
    'metadata',
    'context',
  ])
  expect((await uploadCalls()).data[0]).toMatchObject({ status: 'failure', context_key: null })
})

describe('resumable upload credentials', () => {
  test("returns 404 for a resumable upload unless the request uses its creator's credential", async () => {
    const maker = new Tus(await tenant.createKey(['upload']))
    const path = await maker.begin('notes', 'mine.txt', 4)
    const others = [
      tenant.admin,
      await tenant.createKey(['upload']),
      await tenant.createUser(['admin']),
      (await world.createTenant()).admin,
    ]
    for (const other of others.map((caller) => new Tus(caller))) {
      expect((await other.head(path)).status).toBe(404)
      for (const response of [await other.patch(path, 0, 'text'), await other.delete(path), await other.get(path)])
        expect(toComparable(response)).toEqual(
          toComparable(await maker.get('/api/v1/uploads/upl_x')).map((fact) => swapped(fact, 'upl_x', path)),
        )
    }
    expect((await uploadCalls()).pagination.total_items).toBe(0)
    expect((await maker.patch(path, 0, 'text')).headers.get('assay-file-id')).toMatch(/^file_/)
  })

  const swapped = (fact: unknown, from: string, path: string) =>
    JSON.parse(JSON.stringify(fact).replaceAll(from, path.split('/').at(-1)!))

  test('requires a credential for every method of the resumable upload endpoint except OPTIONS', async () => {
    const path = await tus.begin('notes', 'a.txt', 4)
    const anonymous = new Tus(world.unauthenticated)
    expect((await anonymous.head(path)).status).toBe(401)
    for (const response of [
      await anonymous.create('notes', 'a.txt', 4),
      await anonymous.patch(path, 0, 'text'),
      await anonymous.get(path),
    ])
      expect(toStatusAndCode(response)).toEqual([401, 'unauthenticated'])
    const { status, headers } = await anonymous.options()
    expect(status).toBe(204)
    expect(Object.fromEntries(headers)).toMatchObject({
      'tus-resumable': '1.0.0',
      'tus-version': '1.0.0',
      'tus-extension': 'creation,creation-with-upload,creation-defer-length,checksum,expiration,termination',
      'tus-checksum-algorithm': 'sha256,sha1',
      'tus-max-size': '5242880',
    })
  })
})

describe('terminated, expired and deleted resumable uploads', () => {
  test('deletes the received bytes of a resumable upload after a DELETE request', async () => {
    const path = await tus.begin('notes', 'gone.txt', 8)
    await tus.patch(path, 0, 'text')
    expect(await listBlobs()).toBe(1)
    expect((await tus.delete(path)).status).toBe(204)
    expect((await tus.head(path)).status).toBe(404)
    expect(toStatusAndCode(await tus.patch(path, 4, 'text'))).toEqual([404, 'not_found'])
    expect(toStatusAndCode(await tus.delete(path))).toEqual([404, 'not_found'])
    await sweep()
    expect(await listBlobs()).toBe(0)
    expect((await uploadCalls()).pagination.total_items).toBe(0)
  })

  test('deletes the received bytes of a resumable upload when the upload expires', async () => {
    const path = await tus.begin('notes', 'old.txt', 8)
    await tus.patch(path, 0, 'text')
    await sweep()
    expect(await listBlobs()).toBe(1)
    const { tenantId } = tenant
    expect(await world.app.services.storageHealth.verify({ tenantId, readBlobs: true })).toEqual({
      countersDrift: 0,
      filesWithoutBlob: 0,
      blobsWithoutFile: 0,
      corrupted: 0,
      journalDrift: 0,
    })
    await world.database.pool.query(
      `UPDATE resumable_uploads SET expires_at = now() - interval '1 second' WHERE tenant_id = $1`,
      [tenantId],
    )
    expect((await tus.head(path)).status).toBe(404)
    expect(toStatusAndCode(await tus.patch(path, 4, 'text'))).toEqual([404, 'not_found'])
    await sweep()
    expect(await listBlobs()).toBe(0)
    const { rows } = await world.database.pool.query('SELECT 1 FROM upload_parts WHERE tenant_id = $1', [tenantId])
    expect(rows).toEqual([])
  })

  test('deletes the received bytes of unfinished uploads when their tenant is deleted', async () => {
    const path = await tus.begin('notes', 'orphan.txt', 8)
    await tus.patch(path, 0, 'text')
    await world.app.services.tenants.delete(tenant.tenantId, tenant.name)
    await sweep()
    expect(await listBlobs()).toBe(0)
  })
})

describe('resumable upload checksums', () => {
  const digest = (algorithm: string, text: string) => `${algorithm} ${createHash(algorithm).update(text).digest('base64')}`

  test('returns 460 for an upload body that does not match its checksum', async () => {
    const path = await tus.begin('notes', 'sums.txt', 8)
    expect((await tus.patch(path, 0, 'text', { 'upload-checksum': digest('sha256', 'other') })).status).toBe(460)
    expect(await tus.getOffset(path)).toBe(0)
    expect((await tus.patch(path, 0, 'text', { 'upload-checksum': digest('sha256', 'text') })).status).toBe(204)
    const last = await tus.patch(path, 4, 'more', { 'upload-checksum': digest('sha1', 'more') })
    expect(last.headers.get('assay-file-id')).toMatch(/^file_/)
    const atOnce = await tus.create('notes', 'b.txt', 4, { 'upload-checksum': digest('sha1', 'else') }, Buffer.from('text'))
    expect(atOnce.status).toBe(460)
  })

  test('returns 400 for an unknown checksum algorithm or a malformed checksum', async () => {
    const path = await tus.begin('notes', 'sums.txt', 8)
    for (const checksum of [digest('md5', 'text'), 'sha256', 'sha256 !', digest('sha256', 'text').slice(0, -1)])
      expect(toStatusAndCode(await tus.patch(path, 0, 'text', { 'upload-checksum': checksum }))).toEqual([400, 'bad_user_input'])
    expect(await tus.getOffset(path)).toBe(0)
  })
})

test('creates only one file for two resumable uploads with the same Idempotency-Key', async () => {
  const key = { 'idempotency-key': 'one' }
  const first = await tus.create('notes', 'a.txt', 4, key, Buffer.from('text'))
  const second = await tus.create('notes', 'a.txt', 4, key, Buffer.from('text'))
  const complete = await tenant.admin.upload('notes', 'a.txt', 'text', { headers: key })
  const id = first.headers.get('assay-file-id')
  expect([second.headers.get('assay-file-id'), complete.body.data.file_id]).toEqual([id, id])
  expect(toStatusAndCode(await tus.create('notes', 'a.txt', 5, key, Buffer.from('other')))).toEqual([409, 'idempotency_mismatch'])
})

test('rejects a new resumable upload if the unfinished uploads exceed the count or size limit', async () => {
  const { actorId, row } = { actorId: tenant.admin.id, row: 'SELECT $1, $2 || n, $3, $4, $5, $6, $7, now(), now() + interval' }
  const fill = (count: number, actor: string, bytes: number) =>
    world.database.pool.query(
      `INSERT INTO resumable_uploads (tenant_id, upload_id, actor_id, context_key, filename, upload_metadata, most_bytes, created_at, expires_at)
       ${row} '1 day' FROM generate_series(1, $8) n`,
      [tenant.tenantId, `upl_${actor}`, actor, 'notes', 'a.txt', '', bytes, count],
    )
  await fill(maxUnfinished.uploads / 2, actorId, 1)
  const response = await tus.create('notes', 'a.txt', 4)
  expect(toStatusAndCode(response)).toEqual([429, 'rate_limited'])
  expect(response.body.message).toContain(
    `this credential has ${maxUnfinished.uploads / 2} unfinished uploads, which is the maximum`,
  )
  expect((await uploadCalls()).pagination.total_items).toBe(1)
  const other = new Tus(await tenant.createKey(['upload']))
  const path = await other.begin('notes', 'a.txt', 4)
  await fill(maxUnfinished.uploads / 2 - 1, 'key_others', 1)
  expect((await other.create('notes', 'a.txt', 4)).body.message).toContain('this tenant has')
  expect((await other.delete(path)).status).toBe(204)
  expect((await other.create('notes', 'a.txt', 4)).status).toBe(201)
  await world.database.pool.query('DELETE FROM resumable_uploads WHERE tenant_id = $1', [tenant.tenantId])
  await fill(1, actorId, (maxUnfinished.largestFiles / 2) * 5 * 1_048_576 - 3)
  expect((await tus.create('notes', 'a.txt', 4)).body.message).toContain('this credential has 167772157 bytes')
  expect((await tus.create('notes', 'a.txt', 3)).status).toBe(201)
})
