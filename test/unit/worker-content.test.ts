import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { WorkerPool } from '../../src/inspection/workers/worker-pool.js'
import { noise } from '../contract/contents.js'

let pool: WorkerPool
beforeEach(() => {
  pool = new WorkerPool({ workers: 2 })
})
afterEach(() => pool.close())

const module = pathToFileURL('test/support/digest-work.mjs')
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
const run = (bytes: Buffer, { run = 'digest', settings }: { run?: string; settings?: SharedArrayBuffer } = {}) => {
  const work = {
    module,
    run,
    data: {},
    bytes,
    settings,
    inProcess: false,
    size: bytes.length,
    deadlineMs: 60_000,
    retryHung: false,
  }
  return pool.run<string>(work, new AbortController().signal)
}

test('reads exactly the content of the file assigned to each worker', async () => {
  const contents = [2_000_000, 70_000, 1_000, 0, 1_000_000, 3_000_000, 65_536, 500_000].map((size) => noise(size))
  for (let round = 0; round < 3; round++)
    expect(await Promise.all(contents.map((bytes) => run(bytes)))).toEqual(contents.map(sha256))
})

test('reads the complete content in a second worker if the first worker exits unexpectedly', async () => {
  const bytes = noise(1_000_000)
  await run(noise(2_000_000))
  const dying = run(bytes, { run: 'dieOnce', settings: new SharedArrayBuffer(1) })
  const others = [run(noise(300_000)), run(noise(900_000))]
  expect(await dying).toBe(sha256(bytes))
  expect(await Promise.all(others)).toEqual([noise(300_000), noise(900_000)].map(sha256))
  expect(bytes.equals(noise(1_000_000))).toBe(true)
})

test('discards worker output, which could contain file content', async () => {
  const program = `
    const { WorkerPool } = await import('${pathToFileURL('dist/inspection/workers/worker-pool.js')}')
    const pool = new WorkerPool({ workers: 1 })
    const bytes = Buffer.from('secret content')
    const task = { module: new URL('${module}'), run: 'print', data: {}, bytes, inProcess: false, size: 14, deadlineMs: 60_000, retryHung: false }
    console.log(await pool.run(task, new AbortController().signal))
    await pool.close()`
  const printed = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
  expect(printed).toEqual({ stdout: 'printed\n', stderr: '' })
})
