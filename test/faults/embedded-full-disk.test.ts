import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import { waitUntil } from '../support/identity-world.js'
import { findFreePort, Service } from '../support/service.js'
import { canMount, createSmallDiskCommand, SmallDisk } from '../support/small-disk.js'
import { Caller } from '../support/world.js'

const megabyte = 1_048_576
const dataDir = mkdtempSync(join(tmpdir(), 'assay-embedded-full-'))
const ended: (() => void)[] = [() => rmSync(dataDir, { recursive: true, force: true })]
afterAll(() => {
  for (const end of ended.reverse()) end()
})

/** A sleeping process keeps the disk mounted for several services. */
async function mountDisk(): Promise<{ disk: SmallDisk; under: string[] }> {
  const [command, ...args] = [...createSmallDiskCommand(dataDir, 200 * megabyte), 'sh', '-c', 'echo mounted; exec sleep 3600']
  const holder = spawn(command!, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  ended.push(() => holder.kill('SIGKILL'))
  await once(holder.stdout!, 'data')
  const under = ['nsenter', `--target=${holder.pid}`, '--user', '--mount', '--preserve-credentials', `--wd=${process.cwd()}`]
  return { disk: new SmallDisk(holder.pid!, dataDir), under }
}

test('starts the embedded database on a full disk and allows deletions', async () => {
  if (!(await canMount(dataDir))) return
  const { disk, under } = await mountDisk()
  const env = {
    DATA_DIR: dataDir,
    PORT: await findFreePort(),
    SCANNER_URL: 'none:',
    BOOTSTRAP_API_KEY: 'chosen-by-the-operator-00000000000',
  }
  const reserve = join(disk.root, 'postgres.reserve')
  const hasReserve = () => (statSync(reserve, { throwIfNoEntry: false })?.size ?? 0) > 0
  const start = async () => {
    const service = await Service.start(env, { under })
    ended.push(() => service.child.kill('SIGKILL'))
    return service
  }
  let service = await start()
  const caller = new Caller(service.url, env.BOOTSTRAP_API_KEY)
  const context = { context_key: 'notes', display_name: 'Notes', allowed_extensions: ['txt'], max_file_size_mb: 1 }
  expect((await caller.post('/contexts', { ...context, scan_for_viruses: false })).status).toBe(201)
  const upload = () => caller.upload('notes', 'a.txt', 'some text '.repeat(1000))
  const files: string[] = []
  while (files.length < 40) files.push((await upload()).body.data.file_id)
  const removeOne = async () => (await caller.delete(`/files/${files.pop()}`)).status
  await waitUntil(hasReserve)

  await disk.fillExcept(0)
  await waitUntil(async () => (await upload()).status === 503)
  await waitUntil(() => !hasReserve())
  expect((await upload()).body).toMatchObject({
    error: { code: 'storage_unavailable' },
    message: expect.stringMatching(/disk is full/),
  })
  for (let times = 0; times < 10; times++) expect(await removeOne()).toBe(200)
  expect((await caller.raw('/health/ready')).body.checks.storage.status).toBe('down')

  await disk.freeSpace()
  await waitUntil(async () => (await upload()).status === 201)
  await waitUntil(hasReserve)

  // The disk is completely full at the next start.
  expect((await service.stop()).status).toBe(0)
  await disk.fillExcept(0)
  service = await start()
  for (let times = 0; times < 10; times++) expect(await removeOne()).toBe(200)

  // The service cannot start without its reserved space, and prints instructions.
  expect((await service.stop()).status).toBe(0)
  rmSync(reserve, { force: true })
  await disk.fillExcept(0)
  const stuck = await Service.run(env, { under }).ended
  expect([stuck.status, stuck.stderr]).toEqual([1, expect.stringMatching(/is full.* Free at least 64 MB/)])

  await disk.freeSpace()
  service = await start()
  expect((await upload()).status).toBe(201)
  expect((await service.stop()).status).toBe(0)
})
