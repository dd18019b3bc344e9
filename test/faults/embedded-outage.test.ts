import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from '@jest/globals'
import { findFreePort, runCommand, Service } from '../support/service.js'
import { Caller } from '../support/world.js'

const dataDir = mkdtempSync(join(tmpdir(), 'assay-embedded-outage-'))
let service: Service | undefined
afterAll(async () => {
  await service?.stop('SIGKILL')
  rmSync(dataDir, { recursive: true, force: true })
})

test('returns 503 for uploads while a killed embedded PostgreSQL restarts', async () => {
  const env = {
    DATA_DIR: dataDir,
    PORT: await findFreePort(),
    SCANNER_URL: 'none:',
    BOOTSTRAP_API_KEY: 'chosen-by-the-operator-00000000000',
  }
  service = await Service.start(env)
  const caller = new Caller(service.url, env.BOOTSTRAP_API_KEY)
  const context = { context_key: 'notes', display_name: 'Notes', allowed_extensions: ['txt'], max_file_size_mb: 1 }
  expect((await caller.post('/contexts', { ...context, scan_for_viruses: false })).status).toBe(201)

  const accepted: string[] = []
  const upload = async () => {
    const { status, body } = await caller.upload('notes', 'a.txt', 'some text')
    if (status === 201) accepted.push(body.data.file_id)
    else expect([status, body.error.code]).toEqual([503, 'database_unavailable'])
    return status
  }
  expect(await upload()).toBe(201)
  process.kill(Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGKILL')
  await Promise.all(Array.from({ length: 8 }, upload))
  while ((await upload()) !== 201) await sleep(20)

  // A file with a 201 response must exist, and one with an unknown outcome may exist.
  const held = (await caller.get('/files?page_size=100')).body.data.data.map((file: { file_id: string }) => file.file_id)
  expect(held).toEqual(expect.arrayContaining(accepted))
  const verified = await runCommand(['admin', 'verify', '--deep'], env)
  expect(JSON.parse(verified.stdout)).toEqual({
    counters_drift: 0,
    files_without_blob: 0,
    blobs_without_file: 0,
    corrupted: 0,
    journal_drift: 0,
  })
  expect((await service.stop()).status).toBe(0)
  expect(service.faults).toEqual([])
})
