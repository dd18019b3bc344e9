import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { sanitizeFilename } from '../../src/platform/spool/content.js'
import { createCommandEnv, readReport, runAdminCommand as run, writeFiles } from '../support/adoption.js'
import { eicar } from '../support/eicar.js'
import { FakeS3 } from '../support/s3/fake-s3.js'
import { type TestTenant, World } from '../support/world.js'

let world: World
let tenant: TestTenant
let root: string
let env: Record<string, string>
let runs = 0
beforeAll(async () => {
  world = await World.open()
  root = new URL(world.config.storageUrl).pathname
  env = createCommandEnv(world, { SCANNER_URL: 'yara:' })
  tenant = await world.createTenant()
  await tenant.createContext('notes')
})
afterAll(() => world.close())

const healthy = { countersDrift: 0, filesWithoutBlob: 0, blobsWithoutFile: 0, corrupted: 0, journalDrift: 0 }
const verify = () => world.app.services.storageHealth.verify({ readBlobs: true })
const adopt = (folder: string, ...options: string[]) =>
  run(env, 'adopt', '--context', 'notes', ...options, `file://${root}/${tenant.tenantId}/${folder}`)
const writeObjects = (files: Record<string, string | Uint8Array>) => writeFiles(join(root, tenant.tenantId), files)
const exists = (path: string) =>
  stat(join(root, tenant.tenantId, path)).then(
    () => true,
    () => false,
  )
const download = async (fileId: string) => {
  const { download_url: url } = (await tenant.admin.get(`/files/${fileId}`)).body.data
  return (await fetch(url)).text()
}
const listFiles = async () => {
  const { data } = (await tenant.admin.get('/files?page_size=100')).body.data
  return Object.fromEntries(
    (data as { original_filename: string; file_id: string }[]).map((file) => [file.original_filename, file]),
  )
}

test('adopts valid objects in place and reports invalid objects without moving them', async () => {
  const report = join(world.dataDir, `report-${runs++}.csv`)
  await writeObjects({
    'import/short.txt': 'short name',
    'import/deep/er/a long file name.txt': 'long name',
    'import/not allowed.exe': 'MZ',
    'import/empty-file-of-another-program.txt': '',
    'import/infected.txt': eicar,
    'import/too large.txt': 'x'.repeat(5 * 1024 * 1024 + 1),
  })
  const before = (await tenant.admin.get('/stats')).body.data
  const { result, error, printed } = await adopt('import', '--report', report)
  expect({ result, error }).toEqual({
    result: {
      dry_run: false,
      objects: 6,
      bytes: expect.any(Number),
      accepted: 2,
      quarantined: 0,
      rejected: 4,
      registered: 0,
      skipped: 0,
      failed: 0,
    },
    error: undefined,
  })
  expect(printed[0]).toBe('Found 6 objects (5.0 MB).')
  const path = (name: string) => `${tenant.tenantId}/import/${name}`
  expect(await readReport(report)).toEqual([
    [path('deep/er/a long file name.txt'), 'accepted', ''],
    [path('empty-file-of-another-program.txt'), 'rejected', 'blank_file'],
    [path('infected.txt'), 'rejected', 'virus_detected'],
    [path('not allowed.exe'), 'rejected', 'invalid_extension'],
    [path('short.txt'), 'accepted', ''],
    [path('too large.txt'), 'rejected', 'size_exceeded'],
  ])

  const files = await listFiles()
  expect(Object.keys(files).sort()).toEqual(['a long file name.txt', 'short.txt'])
  expect(files['short.txt']).toMatchObject({ context_key: 'notes', size_bytes: 10, uploaded_by: 'system' })
  expect(await download(files['short.txt']!.file_id)).toBe('short name')
  expect(await download(files['a long file name.txt']!.file_id)).toBe('long name')
  expect(await exists('import/not allowed.exe')).toBe(true)
  expect(await exists('import/infected.txt')).toBe(true)
  const after = (await tenant.admin.get('/stats')).body.data
  expect(after.overview.total_files - before.overview.total_files).toBe(2)
  expect(after.security.files_blocked_total - before.security.files_blocked_total).toBe(4)
  // Rejected objects remain as blobs without a file.
  expect(await verify()).toEqual({ ...healthy, blobsWithoutFile: 2 })
})

test('creates the same events, audit log entry and receipt for an adopted file as for an upload', async () => {
  const { file_id: fileId } = (await listFiles())['short.txt']!
  const events = (await tenant.admin.get('/events?limit=100')).body.data.data as { type: string; data: { file_id?: string } }[]
  expect(events.filter(({ type }) => type === 'file.rejected')).toHaveLength(4)
  expect(events.find(({ data }) => data.file_id === fileId)).toMatchObject({ type: 'file.accepted' })
  const entries = (await tenant.admin.get('/audit-logs?audit_type=file')).body.data.data as {
    entity_id: string
    details: object
  }[]
  expect(entries.find(({ entity_id: id }) => id === fileId)).toMatchObject({
    action: 'created',
    performed_by_type: 'system',
    details: { adopted_from: `${tenant.tenantId}/import/short.txt` },
  })
  const receipt = await tenant.admin.raw(`/api/v1/files/${fileId}/receipt`)
  expect(receipt.status).toBe(200)
})

test('skips objects that were already adopted or belong to deleted files', async () => {
  const { file_id: fileId } = (await listFiles())['short.txt']!
  expect((await tenant.admin.delete(`/files/${fileId}`)).status).toBe(200)
  const { result } = await adopt('import')
  expect(result).toMatchObject({ objects: 6, accepted: 0, registered: 1, skipped: 1, rejected: 4 })
  expect((await run(env, 'sweep')).result).toMatchObject({ removed: 1, failed: 0 })
  expect(await exists('import/short.txt')).toBe(false)
  expect(await exists('import/not allowed.exe')).toBe(true)
  expect((await adopt('import')).result).toMatchObject({ objects: 5, accepted: 0, registered: 1, skipped: 0 })
})

test('reports the verdicts of an adoption dry run without changing anything', async () => {
  await writeObjects({ 'dry/good document name.txt': 'good', 'dry/bad.exe': 'MZ' })
  const report = join(world.dataDir, `report-${runs++}.csv`)
  const before = [
    await listFiles(),
    (await tenant.admin.get('/stats')).body.data.security,
    await readdir(join(root, tenant.tenantId, 'dry')),
  ]
  const { result } = await adopt('dry', '--dry-run', '--report', report)
  expect(result).toMatchObject({ dry_run: true, objects: 2, accepted: 1, rejected: 1 })
  expect((await readReport(report)).map(([, ...verdict]) => verdict)).toEqual([
    ['rejected', 'invalid_extension'],
    ['accepted', ''],
  ])
  expect([
    await listFiles(),
    (await tenant.admin.get('/stats')).body.data.security,
    await readdir(join(root, tenant.tenantId, 'dry')),
  ]).toEqual(before)
})

test('quarantines infected objects if requested, and creates an event for each', async () => {
  await writeObjects({ 'infected/an infected document.txt': eicar, 'infected/clean.txt': 'clean', 'infected/bad.exe': 'MZ' })
  const report = join(world.dataDir, `report-${runs++}.csv`)
  const test = await adopt('infected', '--quarantine', '--dry-run')
  expect(test.result).toMatchObject({ accepted: 1, quarantined: 1, rejected: 1 })
  const { result, error } = await adopt('infected', '--quarantine', '--report', report)
  expect({ result, error }).toMatchObject({ result: { accepted: 1, quarantined: 1, rejected: 1, failed: 0 }, error: undefined })
  expect((await readReport(report)).map(([, ...verdict]) => verdict)).toEqual([
    ['quarantined', 'virus_detected'],
    ['rejected', 'invalid_extension'],
    ['accepted', ''],
  ])
  const { data } = (await tenant.admin.get('/quarantine')).body.data
  expect(data).toEqual([
    expect.objectContaining({ original_filename: 'an infected document.txt', viruses: [expect.stringMatching(/eicar/i)] }),
  ])
  const { file_id: fileId } = data[0]
  for (const path of [`/files/${fileId}`, `/files/${fileId}/metadata`]) expect((await tenant.admin.get(path)).status).toBe(403)
  const events = (await tenant.admin.get('/events?limit=1000')).body.data.data as {
    type: string
    data: Record<string, unknown>
  }[]
  const own = events.filter(({ data }) => data.file_id === fileId || data.original_filename === 'an infected document.txt')
  expect(own.map(({ type }) => type)).toEqual(['file.rejected', 'file.quarantined'])
  expect(await verify()).toMatchObject({ countersDrift: 0, filesWithoutBlob: 0, corrupted: 0, journalDrift: 0 })

  expect((await adopt('infected', '--quarantine')).result).toMatchObject({ registered: 2, quarantined: 0, rejected: 1 })
  expect((await tenant.admin.delete(`/quarantine/${fileId}`)).status).toBe(200)
  expect((await run(env, 'sweep')).result).toMatchObject({ failed: 0 })
  expect(await verify()).toMatchObject({ countersDrift: 0, filesWithoutBlob: 0, corrupted: 0, journalDrift: 0 })
})

test('stops an adoption when the quota is used up, and resumes it in a later run', async () => {
  await tenant.createContext('small', { storage_quota_mb: 1 })
  await writeObjects({
    'quota/a file with a long name.txt': 'x'.repeat(700_000),
    'quota/b file with a long name.txt': 'y'.repeat(700_000),
  })
  const words = ['adopt', '--context', 'small', `file://${root}/${tenant.tenantId}/quota`]
  const stopped = await run(env, ...words)
  expect(stopped.error).toMatch(/^The adoption stopped because of an error: .* Run the command again to continue\.$/s)
  expect(stopped.error).toContain('quota')
  expect(stopped.result).toMatchObject({ accepted: 1 })
  // A rejected object keeps its original name, and no sweep deletes it.
  await run(env, 'sweep')
  expect((await readdir(join(root, tenant.tenantId, 'quota'))).filter((name) => name.endsWith('.txt'))).toHaveLength(1)
  expect((await tenant.admin.patch('/contexts/small', { storage_quota_mb: 2 })).status).toBe(200)
  const finished = await run(env, ...words)
  expect(finished.result).toMatchObject({ accepted: 1, registered: 1 })
  expect(finished.error).toBeUndefined()
})

test('adopts objects with unusual names, but not objects in other folders with the same prefix', async () => {
  const names = [
    '+49 30 1234.txt',
    '!important document.txt',
    '!',
    'a b  c.txt',
    'ä NFC.txt'.normalize('NFC'),
    'ä NFD.txt'.normalize('NFD'),
    '文件 number one.txt',
    '😀 and a long name.txt',
    '..two dots.txt',
    '.hidden.txt',
    `quote"'and=formula.txt`,
    '=SUM(A1).txt',
    '100%25 #1?x=y&z.txt',
    '!folder/+file.txt',
    'a/b/c/d/e/f/g/h/deep.txt',
  ]
  await writeObjects(Object.fromEntries(names.map((name, index) => [`odd/${name}`, `text ${index}`])))
  await writeObjects({ 'odd-2/neighbour.txt': 'text', 'odd2/neighbour.txt': 'text', 'odd.txt': 'text' })
  const { result } = await adopt('odd')
  // The object named '!' is rejected because it has no extension.
  expect(result).toMatchObject({ objects: names.length, accepted: names.length - 1, rejected: 1, failed: 0 })
  const files = await listFiles()
  for (const [index, name] of names.entries())
    if (name !== '!')
      expect(await download(files[sanitizeFilename(name.slice(name.lastIndexOf('/') + 1))]!.file_id)).toBe(`text ${index}`)
  expect(files).not.toHaveProperty('neighbour.txt')
  expect(await verify()).toMatchObject({ countersDrift: 0, filesWithoutBlob: 0, corrupted: 0, journalDrift: 0 })
  expect((await adopt('odd')).result).toMatchObject({ accepted: 0, registered: names.length - 1, rejected: 1 })
})

test('reports an object with an unsupported name as failed and adopts the other objects', async () => {
  await writeObjects({ 'names/a.txt': 'names', 'names/b.txt': 'open' })
  await writeObjects({ [`names/${'n'.repeat(210)}.txt`]: 'long' })
  const failed = await adopt('names')
  expect(failed).toMatchObject({ result: { accepted: 2, failed: 1 }, error: expect.stringContaining('Run the command again') })
  await rm(join(root, tenant.tenantId, `names/${'n'.repeat(210)}.txt`))
  const repeated = await adopt('names')
  expect(repeated.result).toMatchObject({ registered: 2, failed: 0 })
  expect(repeated.error).toBeUndefined()
})

test.each([
  ['of another store', 'file:///somewhere/else', "It must point to a tenant's folder in the object store"],
  ['without a tenant', `file://ROOT/import`, 'such as file://'],
  ['of a whole tenant folder', 'file://ROOT/TENANT', "It must point to a tenant's folder"],
  ['of an unknown tenant', 'file://ROOT/ten_01arz3ndektsv4rrffq69g5fav/import', 'Tenant'],
])('rejects adoption from a URL %s', async (_, url, message) => {
  const words = ['adopt', '--context', 'notes', url.replace('ROOT', root).replace('TENANT', tenant.tenantId)]
  await expect(run(env, ...words)).rejects.toThrow(message)
})

test('rejects an adoption with a missing URL, two URLs or an invalid rate', async () => {
  await expect(run(env, 'adopt', '--context', 'notes')).rejects.toThrow('URL is required. Usage: npm run')
  await expect(run(env, 'adopt', '--context', 'notes', 'a', 'b')).rejects.toThrow("Unexpected argument 'b'")
  await expect(adopt('import', '--mb-per-second', '0')).rejects.toThrow('--mb-per-second is')
})

test('adopts bucket objects in place without deleting rejected objects', async () => {
  const fakeS3 = await FakeS3.start()
  const bucketEnv = {
    STORAGE_URL: `s3://blobs/files?endpoint=${encodeURIComponent(fakeS3.url)}&path_style=true`,
    S3_ACCESS_KEY_ID: 'id',
    S3_SECRET_ACCESS_KEY: 'secret',
  }
  const bucketWorld = await World.open(bucketEnv)
  try {
    const owner = await bucketWorld.createTenant()
    await owner.createContext('notes', { scan_for_viruses: false })
    const folder = `files/${owner.tenantId}/import`
    const put = (name: string, text: string) =>
      fakeS3.objects.set(`${folder}/${name}`, { bytes: Buffer.from(text), headers: {}, storedAt: new Date() })
    for (let index = 0; index < 70; index++) put(`${index}/a document.txt`, `text ${index}`)
    put('program.exe', 'MZ')
    for (const name of ['/two slashes.txt', '../parent.txt', './here.txt', 'line\nbreak.txt']) put(name, 'text')
    put('folder/', '')
    fakeS3.objects.set(`files/${owner.tenantId}/import-2/neighbour.txt`, {
      bytes: Buffer.from('text'),
      headers: {},
      storedAt: new Date(),
    })
    const { result } = await run(createCommandEnv(bucketWorld, bucketEnv), 'adopt', '--context', 'notes', `s3://blobs/${folder}`)
    expect(result).toMatchObject({ objects: 75, accepted: 70, rejected: 1, failed: 4 })
    expect(fakeS3.calls.filter((call) => call === 'copy')).toEqual([])
    const { data } = (await owner.admin.get('/files?page_size=1')).body.data
    const { download_url: url } = (await owner.admin.get(`/files/${data[0].file_id}`)).body.data
    expect(await (await fetch(url)).text()).toMatch(/^text \d+$/)
    await run(createCommandEnv(bucketWorld, bucketEnv), 'sweep')
    expect(fakeS3.objects.has(`${folder}/program.exe`)).toBe(true)
    expect(await bucketWorld.app.services.storageHealth.verify({ readBlobs: true })).toEqual({ ...healthy, blobsWithoutFile: 6 })
  } finally {
    await bucketWorld.close()
    await fakeS3.stop()
  }
})

test('rejects a second adoption while one is running', async () => {
  const client = await world.database.connectDedicated('a running adoption')
  try {
    await client.query('SELECT pg_advisory_lock(4207006)')
    const { result, error } = await adopt('import')
    expect(result).toMatchObject({ objects: 0 })
    expect(error).toContain('Another adoption is already running.')
  } finally {
    await client.end()
  }
})

test('replaces an incomplete last row in an existing adoption report', async () => {
  const report = join(world.dataDir, `report-${runs++}.csv`)
  await writeFiles(world.dataDir, {
    [report.slice(world.dataDir.length + 1)]: 'path,outcome,reason,message,file_id,size_bytes,checksum\r\nten_a/x,acc',
  })
  await writeObjects({ 'rest/a.txt': 'text' })
  await adopt('rest', '--report', report)
  expect(await readReport(report)).toEqual([[`${tenant.tenantId}/rest/a.txt`, 'accepted', '']])
  expect(await readFile(report, 'utf8')).toContain('sha256:')
})
