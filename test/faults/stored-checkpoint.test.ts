import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { parseCommand, runCommand } from '../../src/cli/run-command.js'
import { readConfig } from '../../src/platform/config/config.js'
import { Lifecycle } from '../../src/platform/processes/lifecycle.js'
import { growJournal } from '../support/journal.js'
import { type TestTenant, World } from '../support/world.js'

const folder = mkdtempSync(join(tmpdir(), 'assay-checkpoint-'))
let world: World
let tenant: TestTenant
beforeAll(async () => {
  world = await World.open()
})
beforeEach(async () => {
  tenant = await world.createTenant()
  await growJournal(world.database.pool, tenant.tenantId, 300)
})
afterAll(async () => {
  await world.close()
  rmSync(folder, { recursive: true, force: true })
})

const query = (text: string, ...values: unknown[]) => world.database.pool.query(text, [tenant.tenantId, ...values])
const getCheckpoint = async (): Promise<string> => (await tenant.admin.get('/log/checkpoint')).body

/** Runs `admin verify --checkpoint` and returns its error, if any. */
async function verify(note: string): Promise<string | undefined> {
  const path = join(folder, 'checkpoint')
  writeFileSync(path, note)
  return verifyFile(path)
}
async function verifyFile(path: string): Promise<string | undefined> {
  const lifecycle = new Lifecycle()
  const config = readConfig({
    DATABASE_URL: world.databaseUrl,
    MASTER_KEY: world.config.masterKey!.toString('base64'),
    DATA_DIR: world.dataDir,
    STORAGE_URL: `file://${world.dataDir}/blobs`,
  })
  try {
    return (await runCommand(parseCommand(['verify', '--checkpoint', path]), { config, lifecycle, print: () => {} })).error
  } finally {
    await lifecycle.close()
  }
}

test('accepts a log that has grown or is unchanged since a stored checkpoint', async () => {
  const kept = await getCheckpoint()
  expect(await verify(kept)).toBeUndefined()
  await growJournal(world.database.pool, tenant.tenantId, 700)
  await world.app.services.identity.signing.log.rotate()
  expect(await verify(kept)).toBeUndefined()
})

test('uses a stored checkpoint to detect a truncated log', async () => {
  const { rows } = await query('SELECT journal_length, journal_frontier FROM tenant_heads WHERE tenant_id = $1')
  await growJournal(world.database.pool, tenant.tenantId, 700)
  const kept = await getCheckpoint()
  await query('DELETE FROM journal WHERE tenant_id = $1 AND sequence > 300')
  await query('DELETE FROM journal_nodes WHERE tenant_id = $1 AND place > 0')
  await query(
    'UPDATE tenant_heads SET journal_length = 300, journal_frontier = $2 WHERE tenant_id = $1',
    rows[0].journal_frontier,
  )
  expect(await verify(kept)).toContain('has 300 entries, but its checkpoint covers 700: the log was truncated.')
})

test('uses a stored checkpoint to detect a rewritten but consistent log', async () => {
  const kept = await getCheckpoint()
  await query('DELETE FROM journal WHERE tenant_id = $1')
  await query('DELETE FROM journal_nodes WHERE tenant_id = $1')
  await growJournal(world.database.pool, tenant.tenantId, 400)
  expect(await verify(kept)).toContain('The first 300 entries of the log')
})

test('reports a malformed, modified or missing checkpoint file', async () => {
  const kept = await getCheckpoint()
  for (const note of ['', 'hello\n', kept.trimEnd()]) expect(await verify(note)).toContain('The file is not a log checkpoint')
  const changed = kept.replace('\n300\n', '\n299\n')
  expect(changed).not.toBe(kept)
  expect(await verify(changed)).toContain("was modified, or was not signed with one of this service's keys.")
  await expect(verifyFile(join(folder, 'nowhere'))).rejects.toThrow(/The checkpoint file .*nowhere cannot be read \(ENOENT\)\./)
})
