import { beforeAll, describe, expect, test } from '@jest/globals'
import { decodeImagesWith } from '../src/image/image-decoder.js'
import { isProgressive, readJpeg } from '../src/image/jpeg.js'
import { decodeImage } from '../src/image/libvips.js'
import { MemorySource } from '../src/random-access-source.js'
import { invalid, read, valid } from './support/format-reading.js'
import { jpeg, progressiveJpeg } from './support/samples/image.js'
import { emptyBlock, fullBlock, handmadeJpeg, withBeforeEnd } from './support/samples/jpeg.js'
import { mutate } from './support/samples/mutations.js'

decodeImagesWith((source, task) => decodeImage(source.readAll(2 ** 27), task))

const codes = Array.from({ length: 40 }, (_, index) => (index * 37) & 0x7f)
const zeros = Array<number>(40).fill(0)
let [baseline, progressive]: Buffer[] = []
beforeAll(async () => {
  baseline = await jpeg()
  progressive = await progressiveJpeg()
})

describe('JPEG data after the last pixel', () => {
  test('rejects a JPEG image with many extra bytes before its end marker, but accepts a few', async () => {
    for (const whole of [baseline!, progressive!]) {
      expect(await read(readJpeg, whole)).toMatchObject(valid)
      expect(await read(readJpeg, withBeforeEnd(whole, codes))).toMatchObject(invalid(/excess codes|extraneous/))
      expect(await read(readJpeg, withBeforeEnd(whole, zeros))).toMatchObject(valid)
      expect(await read(readJpeg, withBeforeEnd(whole, codes.slice(0, 8)))).toMatchObject(valid)
    }
  })

  test('rejects a JPEG image as truncated if it has no end marker', async () => {
    expect(await read(readJpeg, baseline!.subarray(0, -2))).toMatchObject(invalid(/end marker/))
    expect(await read(readJpeg, baseline!.subarray(0, -1))).toMatchObject(invalid(/end marker/))
    expect(await read(readJpeg, Buffer.concat([baseline!, Buffer.from('more')]))).toMatchObject(valid)
  })

  test('rejects a JPEG image with both excess coefficients and an extra scan byte, but accepts either alone', async () => {
    expect(await read(readJpeg, handmadeJpeg({ scan: emptyBlock }))).toMatchObject(valid)
    expect(await read(readJpeg, handmadeJpeg({ scan: [...emptyBlock, 7] }))).toMatchObject(valid)
    // Other readers accept such an image without a warning.
    expect(await read(readJpeg, handmadeJpeg({ scan: fullBlock }))).toMatchObject(valid)
    expect(await read(readJpeg, handmadeJpeg({ scan: [...fullBlock, 7] }))).toMatchObject(invalid(/excess codes/))
  })

  test('checks for excess coefficients at the end of each JPEG restart interval', async () => {
    const parts = (first: number[]) => handmadeJpeg({ blocks: 2, restart: true, scan: [...first, 0xff, 0xd0, ...emptyBlock] })
    expect(await read(readJpeg, parts(emptyBlock))).toMatchObject(valid)
    expect(await read(readJpeg, parts([...emptyBlock, 0xff]))).toMatchObject(valid)
    expect(await read(readJpeg, parts([...fullBlock, 7]))).toMatchObject(invalid(/excess codes/))
  })

  test('rejects a JPEG image with an unknown marker', async () => {
    const complete = baseline!
    const bytes = Buffer.concat([complete.subarray(0, 2), Buffer.from([0xff, 0xa6, 0, 4, 1, 2]), complete.subarray(2)])
    expect(await read(readJpeg, bytes)).toMatchObject(invalid(/marker type 0xa6/))
  })

  test('returns a verdict for every mutated copy of a JPEG image', async () => {
    for (const mutation of mutate(baseline!, 200, 5)) expect(typeof (await read(readJpeg, mutation)).sound).toBe('boolean')
  })
})

test('detects a progressive JPEG image only if its frame header is near the start', async () => {
  const behind = (segments: number) =>
    Buffer.concat([progressive!.subarray(0, 2), Buffer.from('ffe00002'.repeat(segments), 'hex'), progressive!.subarray(2)])
  expect(isProgressive(new MemorySource(baseline!))).toBe(false)
  expect(isProgressive(new MemorySource(behind(100)))).toBe(true)
  // A worker thread checks the image if the header is not among the first segments.
  expect(isProgressive(new MemorySource(behind(60_000)))).toBe(false)
  expect(await read(readJpeg, behind(60_000))).toMatchObject(valid)
})
