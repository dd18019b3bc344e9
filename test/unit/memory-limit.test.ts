import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { getMemoryLimit } from '../../src/inspection/workers/worker-pool.js'

const megabyte = 1_048_576
let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-cgroup-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** Creates control groups like those of Linux, and returns their folder and a file that names the process's group. */
async function createGroups(group: string, limits: Record<string, string>) {
  const root = await mkdtemp(join(folder, 'root-'))
  for (const [path, limit] of Object.entries(limits)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), `${limit}\n`)
  }
  await writeFile(join(root, 'self'), `0::${group}\n`)
  return { cgroupRoot: root, cgroupFile: join(root, 'self') }
}

const small = `${30 * megabyte}`
const large = `${50 * megabyte}`

test.each<[string, string, Record<string, string>]>([
  ['of a container', '/', { 'memory.max': small }],
  ['of a systemd service', '/system.slice/assay.service', { 'system.slice/assay.service/memory.max': small }],
  ['of the surrounding group', '/pod/container', { 'pod/container/memory.max': 'max', 'pod/memory.max': small }],
  ['that is the lower of two', '/pod/container', { 'pod/container/memory.max': large, 'pod/memory.max': small }],
])('reads the memory limit %s', async (_, group, limits) => {
  expect(getMemoryLimit(await createGroups(group, limits))).toBe(30 * megabyte)
})

test('ignores control groups without a memory limit', async () => {
  const none = getMemoryLimit({ cgroupRoot: folder, cgroupFile: join(folder, 'missing') })
  expect(getMemoryLimit(await createGroups('/pod', { 'pod/memory.max': 'max' }))).toBe(none)
  expect(none).toBeGreaterThan(100 * megabyte)
})
