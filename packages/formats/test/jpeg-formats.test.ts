import { beforeAll, describe, expect, test } from '@jest/globals'
import { decodeImagesWith } from '../src/image/image-decoder.js'
import { isProgressive, readJpeg } from '../src/image/jpeg.js'
import { decodeImage } from '../src/image/libvips.js'
import { MemorySource } from '../src/random-access-source.js'
import { broken, read, sound } from './support/format-reading.js'
import { jpeg, progressiveJpeg } from './support/samples/image.js'
import { emptyBlock, fullBlock, handmadeJpeg, withBeforeEnd } from './support/samples/jpeg.js'
import { mutationsOf } from './support/samples/mutations.js'

decodeImagesWith((source, task) => decodeImage(source.whole(2 ** 27), task))

const codes = Array.from({ length: 40 }, (_, index) => (index * 37) & 0x7f)
const zeros = Array<number>(40).fill(0)
let [baseline, progressive]: Buffer[] = []
beforeAll(async () => {
  baseline = await jpeg()
  progressive = await progressiveJpeg()
})

describe('jpeg, behind the last pixel that libvips looks at', () => {
  test('data that is left over is damage, padding and few bytes are not', async () => {
    for (const whole of [baseline!, progressive!]) {
      expect(await read(readJpeg, whole)).toMatchObject(sound)
      expect(await read(readJpeg, withBeforeEnd(whole, codes))).toMatchObject(broken(/left over|extraneous/))
      expect(await read(readJpeg, withBeforeEnd(whole, zeros))).toMatchObject(sound)
      expect(await read(readJpeg, withBeforeEnd(whole, codes.slice(0, 8)))).toMatchObject(sound)
    }
  })

  test('without its end marker it is truncated', async () => {
    expect(await read(readJpeg, baseline!.subarray(0, -2))).toMatchObject(broken(/end marker/))
    expect(await read(readJpeg, baseline!.subarray(0, -1))).toMatchObject(broken(/end marker/))
    expect(await read(readJpeg, Buffer.concat([baseline!, Buffer.from('more')]))).toMatchObject(sound)
  })

  test('where a block has too many values, a single byte that is left over tells', async () => {
    expect(await read(readJpeg, handmadeJpeg({ scan: emptyBlock }))).toMatchObject(sound)
    expect(await read(readJpeg, handmadeJpeg({ scan: [...emptyBlock, 7] }))).toMatchObject(sound)
    // Readers take it without a word.
    expect(await read(readJpeg, handmadeJpeg({ scan: fullBlock }))).toMatchObject(sound)
    expect(await read(readJpeg, handmadeJpeg({ scan: [...fullBlock, 7] }))).toMatchObject(broken(/left over/))
  })

  test('each part between restarts ends by itself', async () => {
    const parts = (first: number[]) => handmadeJpeg({ blocks: 2, restart: true, scan: [...first, 0xff, 0xd0, ...emptyBlock] })
    expect(await read(readJpeg, parts(emptyBlock))).toMatchObject(sound)
    expect(await read(readJpeg, parts([...emptyBlock, 0xff]))).toMatchObject(sound)
    expect(await read(readJpeg, parts([...fullBlock, 7]))).toMatchObject(broken(/left over/))
  })

  test('a marker that does not exist is damage, not something rare', async () => {
    const whole = baseline!
    const bytes = Buffer.concat([whole.subarray(0, 2), Buffer.from([0xff, 0xa6, 0, 4, 1, 2]), whole.subarray(2)])
    expect(await read(readJpeg, bytes)).toMatchObject(broken(/marker type 0xa6/))
  })

  test('whatever is done to it, there is a verdict', async () => {
    for (const mutation of mutationsOf(baseline!, 200, 5)) expect(typeof (await read(readJpeg, mutation)).sound).toBe('boolean')
  })
})

test('how it is coded is asked on the event loop, and of so many segments only', async () => {
  const behind = (segments: number) =>
    Buffer.concat([progressive!.subarray(0, 2), Buffer.from('ffe00002'.repeat(segments), 'hex'), progressive!.subarray(2)])
  expect(isProgressive(new MemorySource(baseline!))).toBe(false)
  expect(isProgressive(new MemorySource(behind(100)))).toBe(true)
  // What is not known by then a thread finds out, which has the time.
  expect(isProgressive(new MemorySource(behind(60_000)))).toBe(false)
  expect(await read(readJpeg, behind(60_000))).toMatchObject(sound)
})
