import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { World } from '../support/world.js'

let world: World
beforeAll(async () => {
  world = await World.open()
})
afterAll(() => world.close())

test('an uploaded file is listed, described, handed out byte for byte, and deleted', async () => {
  const tenant = await world.tenant()
  await tenant.context('notes')
  const uploaded = await tenant.admin.upload('notes', 'a.txt', 'hello', { metadata: { page: 7 } })
  expect(uploaded).toMatchObject({
    status: 201,
    body: {
      status: 'SUCCESS',
      message: 'File uploaded.',
      data: { original_filename: 'a.txt', content_type: 'text/plain', size_bytes: 5, context_key: 'notes' },
    },
  })
  expect(Object.keys(uploaded.body.data).sort()).toEqual([
    'content_type',
    'context_key',
    'file_id',
    'original_filename',
    'size_bytes',
  ])
  const { file_id: fileId } = uploaded.body.data

  const listed = await tenant.admin.get('/files?context=notes')
  expect(listed.body.data).toMatchObject({
    data: [
      { file_id: fileId, uploaded_by: tenant.admin.id, uploaded_by_name: 'Admin', download_count: 0, last_downloaded_at: null },
    ],
    pagination: { total_items: 1, has_next: false },
  })

  const url = (await tenant.admin.get(`/files/${fileId}`)).body.data
  expect(url).toMatchObject({ file_id: fileId, expires_in_seconds: 300, original_filename: 'a.txt' })
  const download = await fetch(url.download_url)
  expect([download.status, await download.text(), download.headers.get('content-disposition')]).toEqual([
    200,
    'hello',
    'attachment; filename="a.txt"',
  ])

  const metadata = (await tenant.admin.get(`/files/${fileId}/metadata`)).body.data
  expect(metadata).toMatchObject({
    checksum: 'sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
    metadata: { page: 7 },
    download_count: 1,
  })

  expect((await tenant.admin.delete(`/files/${fileId}`)).body.data).toEqual({ file_id: fileId })
  expect((await tenant.admin.get(`/files/${fileId}`)).status).toBe(404)
  expect((await fetch(url.download_url)).status).toBe(404)
  expect((await tenant.admin.get('/contexts/notes')).body.data.storage_used_bytes).toBe(0)
})
