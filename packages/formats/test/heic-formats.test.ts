import { describe, expect, test } from '@jest/globals'
import { readHeic } from '../src/image/heif.js'
import { defaultLimits } from '../src/inspect.js'
import { MemorySource } from '../src/random-access-source.js'
import { heic, unit } from './support/samples/heic.js'
import { mutate } from './support/samples/mutations.js'

const read = (bytes: Buffer) => readHeic(new MemorySource(bytes, 'heic'), defaultLimits(25_000))
const broken = (problem: RegExp) => ({ sound: false, problem: expect.stringMatching(problem) })
const started = [0x80, 9, 9, 9]

describe('HEIC damage that is visible without a decoder', () => {
  test('accepts an intact HEIC image and notes that it was not decoded', async () => {
    expect(await read(heic())).toMatchObject({
      sound: true,
      evidence: { width: 64, height: 48 },
      notes: [expect.stringMatching(/does not support HEVC/)],
    })
  })

  test('rejects every truncated copy of a HEIC image', async () => {
    const bytes = heic()
    for (let length = 0; length < bytes.length; length += 5)
      expect(await read(bytes.subarray(0, length))).toMatchObject(broken(/./))
  })

  test('rejects a HEIC image with wrong image offsets', async () => {
    expect(await read(heic({ shift: 5000 }))).toMatchObject(broken(/beyond the end/))
    expect(await read(heic({ shift: -3 }))).toMatchObject(broken(/units|head/))
  })

  test('rejects a HEIC image if the lengths of its HEVC NAL units are wrong', async () => {
    const two = Buffer.concat([unit(39, [1, 2, 3]), unit(19, started), unit(0, [1, 9, 9])])
    expect(await read(heic({ data: two }))).toMatchObject({ sound: true })
    expect(await read(heic({ data: Buffer.concat([two, Buffer.from([0])]) }))).toMatchObject(broken(/unit header/))
    expect(await read(heic({ data: Buffer.concat([two, Buffer.from([0, 0, 0, 9, 38, 1])]) }))).toMatchObject(
      broken(/do not match its data/),
    )
  })

  test('rejects a HEIC image with three consecutive zero bytes in its image data', async () => {
    expect(await read(heic({ data: unit(19, [...started, 0, 0, 3, 1, 0, 0]) }))).toMatchObject({ sound: true })
    expect(await read(heic({ data: unit(19, [...started, 0, 0, 0, 1]) }))).toMatchObject(broken(/image data is damaged/))
    const long = Array.from({ length: 140_000 }, (_, index) =>
      index === 65_536 - 2 || index === 65_536 - 1 || index === 65_536 ? 0 : 5,
    )
    expect(await read(heic({ data: unit(19, [0x80].concat(long)) }))).toMatchObject(broken(/image data is damaged/))
  })

  test('rejects a HEIC image without a decoder configuration', async () => {
    expect(await read(heic({ bare: true }))).toMatchObject(broken(/hvcC/))
  })

  test('checks the transparency mask of a HEIC image, but not its depth map', async () => {
    const alpha = 'urn:mpeg:mpegB:cicp:systems:auxiliary:alpha'
    const whole = unit(19, started)
    const cut = whole.subarray(0, -1)
    expect(await read(heic({ auxiliary: { purpose: alpha, data: whole } }))).toMatchObject({ sound: true })
    expect(await read(heic({ auxiliary: { purpose: alpha, data: cut } }))).toMatchObject(broken(/do not match its data/))
    expect(await read(heic({ auxiliary: { purpose: 'urn:mpeg:hevc:2015:auxid:2', data: cut } }))).toMatchObject({ sound: true })
  })

  test('rejects a HEIC file whose only image is hidden', async () => {
    expect(await read(heic({ hidden: true }))).toMatchObject(broken(/hidden/))
  })

  test('rejects a HEIC image with invalid image properties', async () => {
    expect(await read(heic({ type: 'xxxx' }))).toMatchObject(broken(/unknown type \('xxxx'\)/))
    expect(await read(heic({ type: 'grid' }))).toMatchObject(broken(/parts of its image/))
    expect(await read(heic({ handler: 'vide' }))).toMatchObject(broken(/image container/))
    expect(await read(heic({ width: 4_000_000_000 }))).toMatchObject({ sound: false, maliciousConstruction: 'pixel_flood' })
  })

  test('returns a verdict for every mutated copy of a HEIC image', async () => {
    for (const mutation of mutate(heic(), 400, 7)) expect(typeof (await read(mutation)).sound).toBe('boolean')
  })
})
