import { describe, expect, test } from '@jest/globals'
import { readZip } from '../src/archive/archive.js'
import { limits, noise, type SampleMember, toSource, zip } from './support/samples/archive.js'

const members: SampleMember[] = [
  { name: 'a.txt', data: 'hello' },
  { name: 'b.bin', data: noise(500), stored: true },
]
const inspect = async (bytes: Buffer) => readZip(toSource(bytes), limits())

/** Returns a zip with zip64 records and plain numbers in its end record, as written by Info-ZIP when it reads standard input. */
function plainNumbers(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  const record = copy.lastIndexOf('PK\x06\x06', undefined, 'latin1')
  const end = copy.lastIndexOf('PK\x05\x06', undefined, 'latin1')
  copy.writeUInt16LE(Number(copy.readBigUInt64LE(record + 24)), end + 8)
  copy.writeUInt16LE(Number(copy.readBigUInt64LE(record + 32)), end + 10)
  copy.writeUInt32LE(Number(copy.readBigUInt64LE(record + 40)), end + 12)
  copy.writeUInt32LE(Number(copy.readBigUInt64LE(record + 48)), end + 16)
  return copy
}

describe('zip64 records', () => {
  const complete = zip(members, { zip64: true })

  test('accepts a zip file with redundant zip64 records', async () => {
    expect(await inspect(plainNumbers(complete))).toMatchObject({ sound: true, evidence: { entries: 2 } })
  })

  test('accepts a zip64 archive with prepended data', async () => {
    expect(await inspect(zip(members, { zip64: true, prefix: noise(300) }))).toMatchObject({ sound: true })
  })

  test('rejects a zip file whose zip64 records are not at the declared offset', async () => {
    const copy = Buffer.from(complete)
    const locator = copy.lastIndexOf('PK\x06\x07', undefined, 'latin1')
    copy.writeUInt32LE(7, locator + 8)
    expect(await inspect(copy)).toMatchObject({ sound: false })
  })

  test('rejects a zip file with a member of size 0xFFFFFFFF but no zip64 field', async () => {
    const copy = zip(members)
    copy.writeUInt32LE(0xffffffff, 18)
    copy.writeUInt32LE(0xffffffff, 22)
    expect(await inspect(copy)).toMatchObject({ sound: false, problem: expect.stringMatching(/has no size/) })
  })
})

test("rejects bytes between a zip file's central directory and end record unless they are a digital signature", async () => {
  const complete = zip(members)
  const end = complete.lastIndexOf('PK\x05\x06', undefined, 'latin1')
  const signature = Buffer.concat([Buffer.from('PK\x05\x05\x10\x00', 'latin1'), noise(16)])
  const between = (bytes: Buffer) => Buffer.concat([complete.subarray(0, end), bytes, complete.subarray(end)])
  expect(await inspect(between(signature))).toMatchObject({ sound: true })
  expect(await inspect(between(noise(20)))).toMatchObject({ sound: false })
})
