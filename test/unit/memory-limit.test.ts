import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { getMemoryLimit } from '../../src/inspection/workers/memory-limit.js'

const megabyte = 1_048_576
let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-cgroup-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** Creates a control group tree like that of Linux and returns it with the line that names the process's group. */
async function createGroups(line: string, limits: Record<string, string>) {
  const root = await mkdtemp(join(folder, 'root-'))
  for (const [path, text] of Object.entries(limits)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), `${text}\n`)
  }
  await writeFile(join(root, 'self'), `${line}\n`)
  return { root, groups: join(root, 'self') }
}

describe('memory limit shared by all processes', () => {
  const small = `${300 * megabyte}`
  const large = `${500 * megabyte}`
  test.each<[string, string, Record<string, string>, number]>([
    ['of a container', '0::/', { 'memory.max': small }, 300],
    ['of a systemd service', '0::/system.slice/assay.service', { 'system.slice/assay.service/memory.max': small }, 300],
    ['of the surrounding group', '0::/pod/container', { 'pod/container/memory.max': 'max', 'pod/memory.max': small }, 300],
    ['that is the lower of two', '0::/pod/container', { 'pod/container/memory.max': large, 'pod/memory.max': small }, 300],
    [
      'of control groups version 1',
      '5:cpu,cpuacct:/x\n4:memory:/docker/a',
      { 'memory/docker/a/memory.limit_in_bytes': small },
      300,
    ],
  ])('reads the memory limit %s', async (_, line, limits, megabytes) => {
    expect(getMemoryLimit(await createGroups(line, limits))).toBe(megabytes * megabyte)
  })

  test.each<[string, string, Record<string, string>]>([
    ['no limit is set', '0::/', { 'memory.max': 'max' }],
    ['version 1 reports no limit as a number', '4:memory:/', { 'memory/memory.limit_in_bytes': '9223372036854771712' }],
    ['there are no control groups', '', {}],
  ])("uses the machine's memory as the limit if %s", async (_, line, limits) => {
    expect(getMemoryLimit(await createGroups(line, limits))).toBe(totalmem())
  })
})
