import { createHash } from 'node:crypto'
import { afterEach, expect, test } from '@jest/globals'
import { Digests } from '../../src/platform/spool/digests.js'
import { noise } from '../contract/contents.js'

const digests = new Digests()
afterEach(() => digests.close())

const shared = (content: Buffer) => {
  const bytes = Buffer.from(new SharedArrayBuffer(content.length))
  content.copy(bytes)
  return bytes
}
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

test('several at once each have their own bytes, in their order', async () => {
  const contents = [noise(100_000), noise(50_001), Buffer.alloc(0)]
  const told = contents.map(async (content) => {
    const digest = digests.begin()
    for (let at = 0; at < content.length; at += 10_000) await digest.update(shared(content.subarray(at, at + 10_000)))
    return digest.end()
  })
  expect(await Promise.all(told)).toEqual(contents.map(sha256))
})

test('memory may be used for others once an update has resolved', async () => {
  const [first, second] = [noise(1000), noise(500)]
  const block = shared(first)
  const digest = digests.begin()
  await digest.update(block)
  second.copy(block)
  await digest.update(block.subarray(0, 500))
  expect(await digest.end()).toBe(sha256(Buffer.concat([first, second])))
})

test('one that is dropped leaves the others as they are', async () => {
  const [dropped, kept] = [digests.begin(), digests.begin()]
  await Promise.all([dropped.update(shared(noise(10))), kept.update(shared(noise(20)))])
  dropped.drop()
  dropped.drop()
  expect(await kept.end()).toBe(sha256(noise(20)))
})

test('a thread that ends fails all that it had as an outage, and the next has another', async () => {
  const [one, other] = [digests.begin(), digests.begin()]
  await other.update(shared(noise(10)))
  const outage = {
    code: 'storage_unavailable',
    cause: expect.objectContaining({ message: expect.stringMatching(/must be of type string or an instance of Buffer/) }),
  }
  await expect(one.update(undefined as never)).rejects.toMatchObject(outage)
  await expect(other.end()).rejects.toMatchObject(outage)
  const next = digests.begin()
  await next.update(shared(noise(10)))
  expect(await next.end()).toBe(sha256(noise(10)))
})
