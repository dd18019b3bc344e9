import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { deleteOldUploadLinks } from '../../src/features/maintenance/retention.js'
import { LinkClient, toComparable } from '../support/link-client.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open({ MAX_UPLOAD_MB: '20' })
  tenant = await world.createTenant()
  await tenant.createContext('notes', { display_name: 'Notes of the team' })
})
afterAll(() => world.close())

const link = (more: Record<string, unknown> = {}, by = tenant.admin) => LinkClient.create(by, 'notes', more)
const healthy = { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 }
const getLink = async ({ id }: LinkClient) => (await tenant.admin.get(`/upload-links/${id}`)).body.data
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

describe('upload link creation', () => {
  test('returns a new upload link with default values and a URL that is shown only once', async () => {
    const { status, body } = await tenant.admin.post('/upload-links', { context: 'notes' })
    expect(status).toBe(201)
    expect(body.message).toMatch(/cannot be shown again/)
    const { url, ...fields } = body.data
    expect(url).toMatch(new RegExp(`^${world.url}/upload/ulk_[0-9a-z]{26}_[0-9a-z]{26}_[A-Za-z0-9_-]{43}$`))
    expect(fields).toEqual({
      link_id: expect.stringMatching(/^ulk_[0-9a-z]{26}$/),
      context_key: 'notes',
      status: 'active',
      max_files: 1,
      accepted_files: 0,
      rejected_files: 0,
      max_size_mb: 5,
      allowed_extensions: ['txt', 'csv', 'json', 'png', 'pdf'],
      sha256: null,
      metadata: {},
      origins: [],
      expires_at: expect.any(String),
      created_by: tenant.admin.id,
      created_at: expect.any(String),
    })
    const lifetime = Date.parse(fields.expires_at) - Date.parse(fields.created_at)
    expect(Math.abs(lifetime - 900_000)).toBeLessThan(60_000)
    const shown = await tenant.admin.get(`/upload-links/${fields.link_id}`)
    expect(shown.body.data).toEqual(fields)
  })

  test('stores only a hash of the upload link token', async () => {
    const { token, id } = await link()
    const secret = token.split('_').at(-1)!.padEnd(43)
    const { rows } = await world.database.pool.query('SELECT * FROM upload_links WHERE link_id = $1', [id])
    expect(JSON.stringify(rows)).not.toContain(secret)
    expect(rows[0].token_hash).toHaveLength(32)
  })

  test("returns 400 if upload link limits exceed the context's limits, and names each field", async () => {
    const { status, body } = await tenant.admin.post('/upload-links', {
      context: 'notes',
      max_size_mb: 6,
      allowed_extensions: ['txt', 'exe'],
      sha256: sha256('a'),
      max_files: 2,
    })
    expect(status).toBe(400)
    expect(body.error.details.fields.map(({ field }: { field: string }) => field)).toEqual([
      'max_size_mb',
      'allowed_extensions',
      'sha256',
    ])
  })

  test.each([
    ['expires_in_seconds', 'below 60', 59],
    ['expires_in_seconds', 'above a week', 604_801],
    ['max_files', 'below 1', 0],
    ['max_files', 'above 1,000', 1001],
    ['max_size_mb', 'below 1', 0],
    ['allowed_extensions', 'without an extension', []],
    ['sha256', 'of another length', 'abc'],
    ['origins', 'with a path', ['https://example.com/path']],
    ['origins', 'with a wildcard', ['*']],
    ['metadata', 'above 16 KiB', { long: 'x'.repeat(17_000) }],
  ])('returns 400 for an upload link with %s %s', async (field, _case, value) => {
    const { status, body } = await tenant.admin.post('/upload-links', { context: 'notes', [field]: value })
    expect([status, body.error.details.fields[0].field]).toEqual([400, field])
  })

  test('rejects the creation of an upload link for a hidden or disabled context', async () => {
    await tenant.createContext('closed')
    await tenant.admin.patch('/contexts/closed', { status: 'disabled' })
    const restricted = await tenant.createKey(['upload'], { contexts: ['closed'] })
    expect((await restricted.post('/upload-links', { context: 'notes' })).status).toBe(404)
    expect((await restricted.post('/upload-links', { context: 'closed' })).status).toBe(409)
  })

  test('requires the upload scope to create an upload link', async () => {
    const reader = await tenant.createKey(['metadata'])
    expect((await reader.post('/upload-links', { context: 'notes' })).status).toBe(403)
    expect((await reader.get('/upload-links')).status).toBe(403)
  })
})

describe('uploads through a link', () => {
  test('uploads a raw request body through a link', async () => {
    const used = await link({ metadata: { order: 7 } })
    const answer = await used.put('résumé.txt', 'hello', { 'content-type': 'text/plain' })
    const byKey = await tenant.admin.upload('notes', 'résumé.txt', 'hello')
    expect(answer.status).toBe(201)
    expect({ ...answer.body.data, file_id: '' }).toEqual({ ...byKey.body.data, file_id: '' })
    expect(Object.keys(answer.body)).toEqual(Object.keys(byKey.body))
    const { data } = (await tenant.admin.get(`/files/${answer.body.data.file_id}/metadata`)).body
    expect(data).toMatchObject({ original_filename: 'résumé.txt', metadata: { order: 7 } })
    expect(await getLink(used)).toMatchObject({ status: 'used', accepted_files: 1, rejected_files: 0 })
  })

  test("applies the link's metadata to form uploads, and does not let the uploader override it", async () => {
    const used = await link({ metadata: { order: 7 } })
    const answer = await used.post('a.txt', 'hello', { metadata: '{"order": 8, "note": "mine"}' })
    expect(answer.status).toBe(201)
    const { data } = (await tenant.admin.get(`/files/${answer.body.data.file_id}/metadata`)).body
    expect(data.metadata).toEqual({ order: 7, note: 'mine' })
  })

  test("rejects an upload through a link if the upload names a context other than the link's", async () => {
    const used = await link()
    const form = await used.post('a.txt', 'hello', { context: 'other' })
    expect([form.status, form.body.error.details.fields[0].field]).toEqual([400, 'context'])
    await expect(used.beginTus('a.txt', 5, { context: 'other' })).rejects.toThrow(/upload link determines the context/)
  })

  test('returns the file id of a resumable upload even if the last response is lost', async () => {
    const used = await link()
    const path = await used.beginTus('a.txt', 10)
    expect((await used.patch(path, 0, 'hello')).status).toBe(204)
    expect((await used.tus('HEAD', path)).headers.get('upload-offset')).toBe('5')
    const last = await used.patch(path, 5, 'world')
    const fileId = last.headers.get('assay-file-id')
    expect([last.status, fileId]).toEqual([204, expect.stringMatching(/^file_/)])
    // The link is used up, but a client that missed the response can still query its upload.
    const again = await used.tus('HEAD', path)
    expect([again.status, again.headers.get('assay-file-id')]).toEqual([200, fileId])
    expect((await used.tus('POST', '/tus')).status).toBe(404)
    expect((await tenant.admin.get(`/files/${fileId}/metadata`)).body.data.original_filename).toBe('a.txt')
  })

  test('returns the original response to a repeated upload even if the link is used up', async () => {
    const used = await link()
    const key = { 'idempotency-key': 'once' }
    const first = await used.put('a.txt', 'hello', key)
    const second = await used.put('a.txt', 'hello', key)
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.body.data).toEqual(first.body.data)
    expect((await used.put('a.txt', 'hello', { 'idempotency-key': 'twice' })).status).toBe(404)
    // The Idempotency-Keys of an uploader and the link's creator are independent.
    expect((await tenant.admin.upload('notes', 'b.txt', 'other', { headers: key })).status).toBe(201)
  })

  test("applies the context's checks and the link's limits to an upload through the link", async () => {
    const used = await link({ max_files: 5, allowed_extensions: ['.TXT'], max_size_mb: 1 })
    const rejected = async (name: string, content: string) => {
      const { status, body } = await used.put(name, content)
      return [status, body.error.code]
    }
    expect(await rejected('a.csv', 'a,b')).toEqual([422, 'invalid_extension'])
    expect(await rejected('a.txt', '   ')).toEqual([422, 'blank_file'])
    expect(await rejected('a.txt', 'x'.repeat(1024 * 1024 + 1))).toEqual([413, 'size_exceeded'])
    const form = await used.post('a.txt', 'x'.repeat(1024 * 1024 + 1))
    expect([form.status, form.body.error.code]).toEqual([413, 'size_exceeded'])
    expect(await getLink(used)).toMatchObject({ status: 'active', accepted_files: 0, rejected_files: 4 })
  })

  test('applies rules that became stricter after the upload link was created', async () => {
    await tenant.createContext('shrinking')
    const used = await LinkClient.create(tenant.admin, 'shrinking', { allowed_extensions: ['txt', 'csv'], max_files: 3 })
    await tenant.admin.patch('/contexts/shrinking', { allowed_extensions: ['csv', 'pdf'], max_file_size_mb: 1 })
    expect((await used.rules()).body.data).toMatchObject({ allowed_extensions: ['csv'], max_size_mb: 1 })
    expect((await used.put('a.txt', 'hello')).body.error.code).toBe('invalid_extension')
    expect((await used.put('a.pdf', 'hello')).body.error.code).toBe('invalid_extension')
    expect((await used.put('a.csv', 'a,b\n1,2\n')).status).toBe(201)
  })

  test("accepts only the file that matches the upload link's checksum", async () => {
    const used = await link({ sha256: sha256('the file').toUpperCase() })
    const other = await used.put('a.txt', 'another file')
    expect([other.status, other.body.error.code]).toEqual([422, 'corrupt_file'])
    expect(other.body.error.details).toMatchObject({ sha256: sha256('another file'), expected_sha256: sha256('the file') })
    expect((await used.put('a.txt', 'the file')).status).toBe(201)
  })

  test('records an upload through a link in the logs, events and statistics', async () => {
    const mine = await world.createTenant()
    await mine.createContext('notes')
    const key = await mine.createKey(['upload'])
    const used = await LinkClient.create(key, 'notes', { max_files: 2 })
    const { file_id: fileId } = (await used.put('a.txt', 'hello', { 'user-agent': 'a phone' })).body.data
    await used.put('a.exe', 'hello')
    const calls = (await mine.admin.get('/stats/logs?operation=upload&page_size=3')).body.data.data
    expect(calls.slice(0, 2)).toMatchObject([
      { api_key_id: key.id, status: 'failure', error_message: expect.stringContaining('exe'), ip_address: '127.0.0.1' },
      { api_key_id: key.id, status: 'success', file_id: fileId, user_agent: 'a phone', context_key: 'notes' },
    ])
    const named = { upload_link_id: used.id }
    const audit = async (type: string, id: string) => (await mine.admin.get(`/audit-logs/entity/${type}/${id}`)).body.data.data
    expect(await audit('file', fileId)).toMatchObject([{ action: 'created', details: named }])
    expect(await audit('upload_link', used.id)).toMatchObject([
      { action: 'created', audit_type: 'tenant', entity_type: 'upload_link' },
    ])
    const events = (await mine.admin.get('/events?types=file.*,upload_link.*')).body.data.data
    expect(events.map(({ type, data }: never) => [type, (data as { upload_link_id: string }).upload_link_id])).toEqual(
      ['upload_link.created', 'file.accepted', 'file.rejected'].map((type) => [type, used.id]),
    )
    const { receipt } = (await mine.admin.get(`/files/${fileId}/receipt`)).body.data
    expect(JSON.parse(Buffer.from(receipt.split('.')[1], 'base64url').toString())).toMatchObject(named)
    const stats = (await mine.admin.get('/stats')).body.data
    expect(stats.files_uploaded.total).toBe(1)
    expect(stats.security.files_blocked_total).toBe(1)
    expect(await world.app.services.storageHealth.verify({ tenantId: mine.tenantId, readBlobs: true })).toEqual(healthy)
  })
})

describe('public upload link rules', () => {
  test('returns only the upload link rules that a client can check', async () => {
    const { rules, link: data } = await link({ max_files: 3, allowed_extensions: ['pdf', 'txt'] })
    const answer = await rules()
    expect(answer.status).toBe(200)
    expect(answer.body.data).toEqual({
      allowed_extensions: ['txt', 'pdf'],
      max_size_mb: 5,
      max_files: 3,
      remaining: 3,
      expires_at: data.expires_at,
      display_name: 'Notes of the team',
    })
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })
})

describe('upload link management', () => {
  test('shows an upload link only to its creator and to admins', async () => {
    const [a, b] = [await tenant.createKey(['upload']), await tenant.createKey(['upload'])]
    const { id } = await link({}, a)
    expect((await a.get(`/upload-links/${id}`)).status).toBe(200)
    expect((await b.get(`/upload-links/${id}`)).status).toBe(404)
    expect((await b.delete(`/upload-links/${id}`)).status).toBe(404)
    const ids = async (by: typeof a) =>
      (await by.get('/upload-links')).body.data.data.map((each: { link_id: string }) => each.link_id)
    expect(await ids(a)).toEqual([id])
    expect(await ids(b)).toEqual([])
    expect(await ids(tenant.admin)).toContain(id)
  })

  test('filters upload links by context and by status', async () => {
    const mine = await world.createTenant()
    await mine.createContext('one')
    await mine.createContext('two')
    const [active, used, revoked] = [
      await LinkClient.create(mine.admin, 'one'),
      await LinkClient.create(mine.admin, 'one'),
      await LinkClient.create(mine.admin, 'two'),
    ]
    await used.put('a.txt', 'hello')
    expect((await mine.admin.delete(`/upload-links/${revoked.id}`)).body.data.status).toBe('revoked')
    const expired = await LinkClient.create(mine.admin, 'two')
    await expire(expired)
    const list = async (query: string) => {
      const { data, pagination } = (await mine.admin.get(`/upload-links?${query}`)).body.data
      expect(pagination.total_items).toBe(data.length)
      return data.map(({ link_id }: { link_id: string }) => link_id)
    }
    expect(await list('')).toEqual([expired.id, revoked.id, used.id, active.id])
    expect(await list('context=one')).toEqual([used.id, active.id])
    for (const [status, { id }] of Object.entries({ active, used, revoked, expired }))
      expect(await list(`status=${status}`)).toEqual([id])
    const first = await mine.admin.get('/upload-links?page_size=1')
    const next = /<([^>]+)>/.exec(first.headers.get('link')!)![1]!
    expect((await mine.admin.raw(next)).body.data.data[0].link_id).toBe(revoked.id)
  })

  test('revokes an upload link only once and records one audit entry', async () => {
    const { id, rules } = await link()
    await tenant.admin.delete(`/upload-links/${id}`)
    await tenant.admin.delete(`/upload-links/${id}`)
    expect((await rules()).status).toBe(404)
    const entries = (await tenant.admin.get(`/audit-logs/entity/upload_link/${id}`)).body.data.data
    expect(entries.map(({ action }: { action: string }) => action)).toEqual(['revoked', 'created'])
  })

  test('revokes an upload link automatically after too many rejected files', async () => {
    const used = await link()
    for (let count = 0; count < 20; count++) expect((await used.put('a.exe', 'x')).status).toBe(422)
    expect((await used.put('a.txt', 'hello')).status).toBe(404)
    expect(await getLink(used)).toMatchObject({ status: 'revoked', rejected_files: 20, accepted_files: 0 })
    const [entry] = (await tenant.admin.get(`/audit-logs/entity/upload_link/${used.id}`)).body.data.data
    expect(entry).toMatchObject({
      action: 'revoked',
      performed_by_type: 'system',
      details: { reason: 'too_many_rejected_files', rejected_files: 20 },
    })
    const events = (await tenant.admin.get('/events?types=upload_link.revoked&limit=1000')).body.data.data
    expect(events.at(-1).data).toMatchObject({ upload_link_id: used.id, context_key: 'notes' })
  })

  test('deletes an upload link 90 days after its expiry but keeps its files', async () => {
    const [old, recent] = [await link(), await link()]
    const { file_id: fileId } = (await old.put('a.txt', 'hello')).body.data
    const age = (days: number, { id }: LinkClient) =>
      world.database.pool.query('UPDATE upload_links SET expires_at = now() - make_interval(days => $2) WHERE link_id = $1', [
        id,
        days,
      ])
    await age(91, old)
    await age(89, recent)
    expect(await deleteOldUploadLinks(world.database.pool)).toBe(1)
    expect((await tenant.admin.get(`/upload-links/${old.id}`)).status).toBe(404)
    expect((await tenant.admin.get(`/upload-links/${recent.id}`)).status).toBe(200)
    const { body } = await tenant.admin.graphql('query ($id: ID!) { file(fileId: $id) { uploadLink { linkId } } }', {
      id: fileId,
    })
    expect(body.data.file.uploadLink).toBeNull()
  })

  test('returns an upload link over GraphQL, both by query and as a field of its files', async () => {
    const { body } = await tenant.admin.graphql(
      'mutation ($input: CreateUploadLinkInput!) { createUploadLink(input: $input) { linkId url uploadLink { id } } }',
      { input: { context: 'notes', maxFiles: 2 } },
    )
    const made = body.data.createUploadLink
    expect(made.uploadLink.id).toBe(made.linkId)
    const used = new LinkClient(made.url, made, world.url)
    const { file_id: fileId } = (await used.put('a.txt', 'hello')).body.data
    const found = await tenant.admin.graphql(
      `query ($fileId: ID!, $linkId: ID!) {
        file(fileId: $fileId) { uploadLink { linkId acceptedFiles } }
        uploadLink(linkId: $linkId) { status }
        uploadLinks(context: "notes", status: active, pageSize: 1) { data { linkId } }
        node(id: $linkId) { ... on UploadLink { contextKey } }
      }`,
      { fileId, linkId: made.linkId },
    )
    expect(found.body).toEqual({
      data: {
        file: { uploadLink: { linkId: made.linkId, acceptedFiles: 1 } },
        uploadLink: { status: 'active' },
        uploadLinks: { data: [{ linkId: made.linkId }] },
        node: { contextKey: 'notes' },
      },
    })
    const byKey = (await tenant.admin.upload('notes', 'b.txt', 'hello')).body.data.file_id
    const other = await tenant.admin.graphql('query ($fileId: ID!) { file(fileId: $fileId) { uploadLink { linkId } } }', {
      fileId: byKey,
    })
    expect(other.body.data.file.uploadLink).toBeNull()
    const gone = await tenant.admin.graphql('mutation ($linkId: ID!) { revokeUploadLink(linkId: $linkId) { status } }', {
      linkId: made.linkId,
    })
    expect(gone.body.data.revokeUploadLink.status).toBe('revoked')
    expect(toComparable(await used.rules())).toMatchObject({ status: 404 })
  })
})

/** Sets the link's expiry to a time in the past. */
async function expire({ id }: LinkClient): Promise<void> {
  await world.database.pool.query(`UPDATE upload_links SET expires_at = now() - interval '1 s' WHERE link_id = $1`, [id])
}
