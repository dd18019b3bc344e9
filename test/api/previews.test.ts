import { readdir, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import sharp from 'sharp'
import { png, zip } from '../../packages/formats/test/support/samples/basic.js'
import { pdf } from '../../packages/formats/test/support/samples/pdf.js'
import type { LocalStorage } from '../../src/platform/storage/local/local.js'
import { createQuarantinedFile } from '../support/quarantined-file.js'
import { type Caller, type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let reader: Caller
beforeAll(async () => {
  world = await World.open()
  tenant = await world.createTenant()
  await tenant.createContext('notes', { allowed_extensions: ['txt', 'csv', 'svg', 'html', 'png', 'jpg', 'tiff', 'pdf', 'zip'] })
  await tenant.createContext('unchecked', { reject_corrupt_files: false })
  reader = await tenant.createKey(['download'])
})
afterAll(() => world.close())

const upload = async (name: string, content: Buffer | string, context = 'notes'): Promise<string> => {
  const { status, body } = await tenant.admin.upload(context, name, content)
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body.data.file_id
}

const preview = async (fileId: string, query = '', headers: Record<string, string> = {}) => {
  const response = await fetch(`${world.url}/api/v1/files/${fileId}/preview${query}`, {
    headers: { authorization: `Bearer ${reader.credential}`, ...headers },
  })
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
}

const stored = async (fileId: string): Promise<string> => {
  const { rows } = await world.database.pool.query('SELECT blob_path FROM files WHERE file_id = $1', [fileId])
  return (world.app.services.storage as LocalStorage).getFilePath(rows[0].blob_path)
}

test('renders upright WebP previews of an image in both sizes, without metadata', async () => {
  const photo = sharp({ create: { width: 2000, height: 1000, channels: 3, background: 'red' } })
  // EXIF orientation 6 means that the camera was rotated by 90 degrees.
  const jpeg = await photo
    .withExif({ IFD0: { Copyright: 'Secret place' } })
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer()
  const fileId = await upload('photo.jpg', jpeg)
  const large = await preview(fileId)
  expect([large.status, large.headers.get('content-type')]).toEqual([200, 'image/webp'])
  expect(await sharp(large.bytes).metadata()).toMatchObject({ format: 'webp', width: 640, height: 1280 })
  expect(large.bytes.includes('Secret')).toBe(false)
  const thumbnail = await preview(fileId, '?size=thumbnail')
  expect(await sharp(thumbnail.bytes).metadata()).toMatchObject({ format: 'webp', width: 48, height: 96 })
  const { data, info } = await sharp(thumbnail.bytes).raw().toBuffer({ resolveWithObject: true })
  expect(data[(info.width * 48 + 24) * info.channels]).toBeGreaterThan(240)
})

test('does not enlarge a small image in its preview', async () => {
  const { bytes } = await preview(await upload('small.png', png(40, 20)))
  expect(await sharp(bytes).metadata()).toMatchObject({ width: 40, height: 20 })
})

test('renders each page of a PDF, and returns 404 for a nonexistent page', async () => {
  const fileId = await upload('paper.pdf', pdf())
  const first = await preview(fileId, '?page=1')
  expect([first.status, first.headers.get('preview-pages')]).toEqual([200, '1'])
  const { width, height } = await sharp(first.bytes).metadata()
  expect(Math.max(width, height)).toBe(1280)
  const second = await preview(fileId, '?page=2')
  expect(second.status).toBe(404)
  expect(second.bytes.toString()).toContain('the PDF has only 1 page')
})

test('returns the first 64 KiB of a text file as plain text, regardless of its type', async () => {
  const long = await preview(await upload('long.txt', 'ä'.repeat(50_000)))
  expect(long.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  expect(long.headers.get('preview-truncated')).toBe('true')
  expect(long.bytes.toString()).toBe('ä'.repeat(32 * 1024))
  const page = await preview(await upload('page.html', '<!doctype html><html><body><script>alert(1)</script></body></html>'))
  expect([page.headers.get('content-type'), page.headers.get('x-content-type-options')]).toEqual([
    'text/plain; charset=utf-8',
    'nosniff',
  ])
  expect(page.headers.get('content-security-policy')).toBe("sandbox; default-src 'none'")
  expect(page.headers.get('preview-truncated')).toBe('false')
  const latin = await preview(await upload('old.txt', Buffer.from('caf\xe9 au lait', 'latin1')))
  expect(latin.bytes.toString()).toBe('café au lait')
})

test('returns the same preview over GraphQL as over REST', async () => {
  const query = `query ($id: ID!) { filePreview(fileId: $id, size: thumbnail) { contentType image text width height pageCount isTruncated } }`
  const image = await upload('graph.png', png(200, 100))
  const { body } = await reader.graphql(query, { id: image })
  expect(body.data.filePreview).toEqual({
    contentType: 'image/webp',
    image: (await preview(image, '?size=thumbnail')).bytes.toString('base64'),
    text: null,
    width: 96,
    height: 48,
    pageCount: 1,
    isTruncated: false,
  })
  const text = await upload('graph.txt', 'hello')
  expect((await reader.graphql(query, { id: text })).body.data.filePreview).toMatchObject({ image: null, text: 'hello' })
})

test('responds to a conditional preview request with 304 and to HEAD without a body', async () => {
  const fileId = await upload('again.png', png(200, 200))
  const first = await preview(fileId)
  const again = await preview(fileId, '', { 'if-none-match': first.headers.get('etag')! })
  expect([again.status, again.bytes.length]).toEqual([304, 0])
  expect(first.headers.get('cache-control')).toBe('private, no-cache')
  const head = await reader.raw(`/api/v1/files/${fileId}/preview`, { method: 'HEAD' })
  expect([head.status, head.body, head.headers.get('content-type')]).toEqual([200, '', 'image/webp'])
})

test('returns 404 for a preview of an unsupported file type, and names the type', async () => {
  const { status, bytes } = await preview(await upload('all.zip', zip({ 'a.txt': 'text' })))
  expect(status).toBe(404)
  expect(JSON.parse(bytes.toString())).toMatchObject({
    message: expect.stringContaining('application/zip'),
    error: { code: 'not_found' },
  })
})

test("requires the download scope and access to the file's context for a preview", async () => {
  const fileId = await upload('mine.png', png())
  const status = async (caller: Caller) => (await caller.get(`/files/${fileId}/preview`)).status
  expect(await status(world.unauthenticated)).toBe(401)
  expect(await status(await tenant.createKey(['metadata', 'upload', 'delete']))).toBe(403)
  expect(await status(await tenant.createKey(['download'], { contexts: ['unchecked'] }))).toBe(404)
  expect(await status((await world.createTenant()).admin)).toBe(404)
  expect(await status(reader)).toBe(200)
})

test('rejects a preview of a quarantined file even if the preview is cached', async () => {
  const fileId = await upload('cached.png', png(300, 300))
  expect((await preview(fileId, '?size=thumbnail')).status).toBe(200)
  await world.database.pool.query('UPDATE files SET quarantined_at = now() WHERE file_id = $1', [fileId])
  for (const query of ['?size=thumbnail', '']) {
    const { status, bytes } = await preview(fileId, query)
    expect([status, JSON.parse(bytes.toString()).error.code]).toEqual([403, 'quarantined'])
  }
  expect((await preview(await createQuarantinedFile(world, tenant, 'notes'))).status).toBe(403)
})

test('logs a preview as a call but does not count it as a download', async () => {
  const fileId = await upload('counted.png', png(64, 64))
  await preview(fileId)
  const { body } = await tenant.admin.get(`/files/${fileId}/metadata`)
  expect(body.data.download_count).toBe(0)
  const [call] = (await tenant.admin.get(`/stats/logs?api_key_id=${reader.id}&page_size=1`)).body.data.data
  expect(call).toMatchObject({ operation: 'download', status: 'success', file_id: fileId })
})

test('rejects invalid preview parameters and names them', async () => {
  const fileId = await upload('valid.png', png())
  for (const [query, field] of [
    ['?size=huge', 'size'],
    ['?page=0', 'page'],
    ['?page=1e9', 'page'],
    ['?width=5000', 'width'],
  ]) {
    const { status, bytes } = await preview(fileId, query)
    expect([status, JSON.parse(bytes.toString()).error.details.fields[0].field]).toEqual([400, field])
  }
})

test('does not render a preview if the stored bytes exceed the limits or are not an image or PDF', async () => {
  const size = 4000
  const content = await sharp({ create: { width: 50, height: 50, channels: 3, background: 'blue' } })
    .png()
    .toBuffer()
  const padded = Buffer.concat([content, Buffer.alloc(size - content.length)])
  const replace = async (name: string, bytes: Buffer | string) => {
    const fileId = await upload(name, padded, 'unchecked')
    // Preview rendering must not trust the declared type or the upload checks.
    await writeFile(await stored(fileId), Buffer.concat([Buffer.from(bytes), Buffer.alloc(size)]).subarray(0, size))
    return fileId
  }
  const header = Buffer.from(content.subarray(0, 33))
  header.writeUInt32BE(20_000, 16)
  header.writeUInt32BE(20_000, 20)
  const files = [
    await replace(
      'svg.png',
      '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><rect width="10" height="10"/></svg>',
    ),
    await replace('noise.png', Buffer.alloc(size, 7)),
    await replace('bomb.png', Buffer.concat([header, content.subarray(33)])),
  ]
  for (const fileId of files) {
    const { status, bytes } = await preview(fileId)
    expect([status, JSON.parse(bytes.toString()).message]).toEqual([404, expect.stringContaining('cannot decode')])
  }
  const missing = await upload('shrunk.png', padded, 'unchecked')
  await writeFile(await stored(missing), 'x')
  expect((await preview(missing)).bytes.toString()).toContain('missing or damaged')
  const text = await upload('lost.txt', Buffer.from('some text'), 'unchecked')
  const path = await stored(text)
  await rm(path)
  const lost = (await preview(text)).bytes.toString()
  expect(lost).toContain('missing or damaged')
  expect(lost).not.toContain(basename(path))
  expect((await preview(await upload('after.png', png()))).status).toBe(200)
})

test("limits a tenant's concurrent previews and deletes their temporary files", async () => {
  const files = await Promise.all(Array.from({ length: 20 }, (_, each) => upload(`many-${each}.png`, png(600 + each, 600))))
  const answers = await Promise.all(files.map((fileId) => preview(fileId)))
  const statuses = answers.map(({ status }) => status)
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(8)
  for (const { status, headers } of answers)
    expect([status, headers.get('retry-after')]).toEqual(status === 200 ? [200, null] : [429, '1'])
  const [spool] = await readdir(join(world.dataDir, 'spool'))
  expect(await readdir(join(world.dataDir, 'spool', spool!))).toEqual([])
})
