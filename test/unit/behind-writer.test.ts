import type { FileHandle } from 'node:fs/promises'
import { expect, jest, test } from '@jest/globals'
import { BehindWriter } from '../../src/platform/spool/behind-writer.js'
import { Slabs } from '../../src/platform/spool/slabs.js'

const digest = { update: async () => {}, end: async () => 'digest', drop: () => {} }

/** A file whose syncs end in turn as these say. */
function fileOf(...syncs: (() => Promise<void>)[]) {
  const datasync = jest.fn(() => syncs.shift()!())
  const close = jest.fn(async () => {})
  const write = async (bytes: Buffer, at: number) => ({ bytesWritten: bytes.length - at })
  return { datasync, close, handle: { datasync, close, write } as unknown as FileHandle }
}

async function written(handle: FileHandle, megabytes: number, sync = true) {
  const writer = new BehindWriter({ handle, slabs: new Slabs(0), digest, sync })
  for (let each = 0; each < megabytes; each++) await writer.write(Buffer.alloc(1_048_576))
  return writer.end()
}

const done = async () => {}
const fails = () => Promise.reject(new Error('EIO'))

test('a long file is brought to the disk while it is received, and to its end behind it', async () => {
  const { handle, datasync, close } = fileOf(done, done, done)
  const { synced } = await written(handle, 40)
  await synced
  expect([datasync.mock.calls.length, close.mock.calls.length]).toEqual([3, 1])
})

test('one sync begins when the one before has ended', async () => {
  let end = () => {}
  const { handle, datasync } = fileOf(() => new Promise((resolve) => (end = resolve)), done)
  const { synced } = await written(handle, 60)
  expect(datasync.mock.calls.length).toBe(2)
  end()
  await synced
})

test('what failed on the way counts, though the last sync succeeds', async () => {
  const { handle, close } = fileOf(fails, done, done)
  const { synced } = await written(handle, 40)
  await expect(synced).rejects.toThrow('EIO')
  expect(close.mock.calls.length).toBe(1)
})

test('where it need not be on the disk, nothing is synced', async () => {
  const { handle, datasync } = fileOf()
  expect(await written(handle, 40, false)).toEqual({ sha256: 'digest' })
  expect(datasync.mock.calls.length).toBe(0)
})

test('bytes that a failed digest no longer wants stay as they are until they are written', async () => {
  let letGo = 0
  const slabs = { take: () => ({ bytes: Buffer.alloc(524_288), hold: () => () => letGo++ }) } as unknown as Slabs
  let end = () => {}
  const handle = {
    write: async ({ length }: Buffer) => {
      await new Promise<void>((resolve) => (end = resolve))
      return { bytesWritten: length }
    },
    close: done,
  } as unknown as FileHandle
  const writer = new BehindWriter({ handle, slabs, digest: { ...digest, update: fails }, sync: false })
  await writer.write(Buffer.alloc(524_288))
  await new Promise((resolve) => setImmediate(resolve))
  expect(letGo).toBe(0)
  end()
  await expect(writer.end()).rejects.toThrow('EIO')
  expect(letGo).toBe(1)
})
