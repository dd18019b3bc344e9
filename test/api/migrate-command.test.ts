import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import { createEmptyDatabase } from '../support/database.js'
import { runCommand } from '../support/service.js'

const folder = mkdtempSync(join(tmpdir(), 'assay-migrate-command-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const migrations = readdirSync('prisma/migrations', { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort()

test('migrates a database to the latest version, and changes nothing in a second run', async () => {
  const database = await createEmptyDatabase()
  const DATABASE_URL_FILE = join(folder, 'url')
  writeFileSync(DATABASE_URL_FILE, `${database.url}\n`)
  const first = await runCommand(['migrate'], { DATABASE_URL_FILE })
  expect([first.status, first.stderr, JSON.parse(first.stdout)]).toEqual([0, '', { applied: migrations }])
  const second = await runCommand(['migrate'], { DATABASE_URL_FILE })
  expect([second.status, JSON.parse(second.stdout)]).toEqual([0, { applied: [] }])
  await database.drop()
})

test('reports an unreachable database in one sentence during a migration', async () => {
  const { status, stdout, stderr } = await runCommand(['migrate'], { DATABASE_URL: 'postgresql://u:hushed@127.0.0.1:9/d' })
  expect([status, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/^The database u@127\.0\.0\.1:9\/d is unreachable \(.*\)\. Check DATABASE_URL\.\n$/)
})
