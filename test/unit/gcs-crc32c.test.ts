import { randomBytes } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { Crc32c } from '../../src/platform/storage/gcs/crc32c.js'
import { computeCrc32c } from '../support/bucket/crc32c.js'

const computeChecksum = (...parts: Buffer[]): string => {
  const sum = new Crc32c()
  for (const part of parts) sum.update(part)
  return sum.toString()
}

// Test vectors are from RFC 3720, appendix B.4.
test.each([
  ['no bytes', Buffer.alloc(0), '00000000'],
  ['nine digits', Buffer.from('123456789'), 'e3069283'],
  ['32 bytes of zeros', Buffer.alloc(32), '8a9136aa'],
  ['32 bytes of ones', Buffer.alloc(32, 0xff), '62a8ab43'],
  ['32 ascending bytes', Buffer.from(Array.from({ length: 32 }, (_, at) => at)), '46dd794e'],
])('the CRC32C of %s matches the reference value', (_what, bytes, sum) => {
  expect(computeChecksum(bytes)).toBe(Buffer.from(sum, 'hex').toString('base64'))
})

test('computes the same CRC32C as the emulator for parts of any length and offset', () => {
  const bytes = randomBytes(1000)
  for (let cut = 0; cut < 40; cut++) {
    expect(computeChecksum(bytes.subarray(cut, cut * 2), bytes.subarray(cut * 2, 500), bytes.subarray(500, 900 + cut))).toBe(
      computeCrc32c(bytes.subarray(cut, 900 + cut)),
    )
  }
})
