import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Spool } from '../../src/body/spool.js'
import { noise } from '../contract/contents.js'

let directory: string
let spool: Spool
const open = async (syncAhead: boolean) => {
  spool = await Spool.open({ directory, syncAhead })
}
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'assay-spool-'))
})
afterEach(async () => {
  await spool.close()
  expect(await readdir(directory)).toEqual([])
  await rm(directory, { recursive: true })
})

const large = noise(1_000_000)
const take = (bytes: Buffer, limit = bytes.length) => spool.take(Readable.from([bytes], { objectMode: false }), () => limit)

test.each([true, false])(
  'a large upload is a file, brought to the disk ahead or not (%s); given back, it is gone',
  async (ahead) => {
    await open(ahead)
    const { content, dispose, sizeBytes } = await take(large)
    expect(sizeBytes).toBe(large.length)
    expect(content!.synced !== undefined).toBe(ahead)
    await content!.synced
    expect((await readFile(content!.path!)).equals(large)).toBe(true)
    await dispose()
    await dispose()
    await expect(stat(content!.path!)).rejects.toMatchObject({ code: 'ENOENT' })
  },
)

test('what is given back before it is on the disk is gone all the same', async () => {
  await open(true)
  const { content, dispose } = await take(large)
  await dispose()
  await content!.synced
  expect(await readdir(spool.directory)).toEqual([])
})

test('a small one stays in memory, one over its limit is not kept', async () => {
  await open(true)
  const small = await take(noise(1000))
  expect(small.content).toMatchObject({ size: 1000, bytes: noise(1000) })
  expect(small.content!.synced).toBeUndefined()
  const over = await take(large, large.length - 1)
  expect(over.content).toBeUndefined()
  expect(await readdir(spool.directory)).toEqual([])
  await small.dispose()
})
