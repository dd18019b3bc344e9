import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import pg from 'pg'
import { copyDatabase, createEmptyDatabase, type TestDatabase } from '../support/database.js'
import { findFreePort, runCommand, Service } from '../support/service.js'

const scratch = mkdtempSync(join(tmpdir(), 'assay-rollback-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const key = 'the-first-key-of-these-tests-000000000000'
const headers = { authorization: `Bearer ${key}` }
const environment = ({ url }: TestDatabase) => ({
  DATABASE_URL: url,
  DATA_DIR: join(scratch, 'data'),
  STORAGE_URL: `file://${join(scratch, 'blobs')}`,
  MASTER_KEY: Buffer.alloc(32).toString('base64'),
  SCANNER_URL: 'none:',
  BOOTSTRAP_API_KEY: key,
})
const start = async (database: TestDatabase) => Service.start({ ...environment(database), PORT: await findFreePort() })

const admin = async (database: TestDatabase, ...words: string[]) => {
  const { stdout } = await runCommand(['admin', ...words], environment(database))
  return JSON.parse(stdout) as Record<string, unknown>
}

async function upload({ url }: Service, name: string): Promise<string> {
  const form = new FormData()
  form.append('context', 'notes')
  form.append('file', new Blob([name]), name)
  const response = await fetch(`${url}/api/v1/files/upload`, { method: 'POST', headers, body: form })
  expect(response.status).toBe(201)
  return ((await response.json()) as { data: { file_id: string } }).data.file_id
}

const remove = ({ url }: Service, fileId: string) => fetch(`${url}/api/v1/files/${fileId}`, { method: 'DELETE', headers })

// Follows docs/operations.md with a database copy instead of pg_dump and an unknown migration as the newer version.
test('keeps every file in a restored backup intact and reports the blobs of uploads made after the backup', async () => {
  const healthy = { counters_drift: 0, files_without_blob: 0, blobs_without_file: 0, corrupted: 0, journal_drift: 0 }
  const database = await createEmptyDatabase()
  let service = await start(database)
  await fetch(`${service.url}/api/v1/contexts`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({
      context_key: 'notes',
      display_name: 'Notes',
      allowed_extensions: ['txt'],
      max_file_size_mb: 1,
      scan_for_viruses: false,
    }),
  })
  const [first, second] = [await upload(service, 'first.txt'), await upload(service, 'second.txt')]
  expect(await admin(database, 'verify')).toEqual(healthy)
  expect(await admin(database, 'sweep', '--pause')).toEqual({ paused: true })
  await service.stop()
  const backup = await copyDatabase(database)

  service = await start(database)
  await upload(service, 'third.txt')
  // The blob remains because the sweep is paused.
  expect((await remove(service, first)).status).toBe(200)
  await service.stop()
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(
    `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count) VALUES ('new', '', '29991231000000_newer', now(), 1)`,
  )
  await client.end()
  const refused = await Service.run({ ...environment(database), PORT: await findFreePort() }).ended
  expect([refused.status, refused.stderr]).toEqual([
    1,
    "A newer version of Assay created or migrated this database (migration '29991231000000_newer' is unknown). Start that version, or restore a backup from before the upgrade.\n",
  ])

  service = await start(backup)
  expect(await admin(backup, 'verify', '--deep')).toEqual({ ...healthy, blobs_without_file: 1 })
  expect(await admin(backup, 'sweep', '--resume')).toEqual({ paused: false })
  expect(await admin(backup, 'sweep')).toMatchObject({ removed: 0, failed: 0 })
  for (const id of [first, second]) expect((await fetch(`${service.url}/api/v1/files/${id}`, { headers })).status).toBe(200)
  expect((await remove(service, second)).status).toBe(200)
  await service.stop()
  expect(await admin(backup, 'verify', '--deep')).toMatchObject({ files_without_blob: 0, corrupted: 0 })
})
