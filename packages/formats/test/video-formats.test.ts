import { describe, expect, test } from '@jest/globals'
import { readMp4 } from '../src/media/mp4.js'
import { readWebm } from '../src/media/webm.js'
import { damaged, firstPart, invalid, read, valid, validWithNote } from './support/format-reading.js'
import { element, u32be, webm } from './support/samples/media.js'
import { avcConfiguration, avcMp4, box, fragmentedMp4, mp4 } from './support/samples/mp4.js'

/** Returns a copy with a different 32-bit number at `offset` after the first box of the given type. */
function withNumber(bytes: Buffer, type: string, offset: number, value: number): Buffer {
  const copy = Buffer.from(bytes)
  copy.writeUInt32BE(value, copy.indexOf(type) + offset)
  return copy
}

const renamed = (bytes: Buffer, from: string, to: string) => Buffer.from(bytes.toString('latin1').replaceAll(from, to), 'latin1')

describe('truncated MP4 files', () => {
  test('rejects an MP4 file that is truncated before its movie header', async () => {
    for (const share of [0.3, 0.6, 0.95])
      expect(await read(readMp4, firstPart(mp4(), share))).toMatchObject(invalid(/truncated|movie header/))
    for (const bytes of [mp4({ headerFirst: true }), fragmentedMp4(), avcMp4()])
      expect(await read(readMp4, firstPart(bytes, 0.2))).toMatchObject(invalid(/truncated/))
  })

  test('accepts an MP4 file with truncated media data and adds a note', async () => {
    for (const bytes of [mp4({ headerFirst: true }), fragmentedMp4(), avcMp4()])
      expect(await read(readMp4, firstPart(bytes, 0.9))).toMatchObject(validWithNote(/truncated within its 'mdat'/))
  })

  test('rejects an MP4 file that is truncated before its first sample', async () => {
    for (const bytes of [mp4({ headerFirst: true }), avcMp4()]) {
      const dataAt = bytes.indexOf('mdat') + 4
      expect(await read(readMp4, bytes.subarray(0, dataAt))).toMatchObject(invalid(/all of its audio and video/))
      expect(await read(readMp4, bytes.subarray(0, dataAt - 8))).toMatchObject(invalid(/all of its audio and video/))
    }
    const fragments = fragmentedMp4()
    expect(await read(readMp4, fragments.subarray(0, fragments.indexOf('mdat') - 4))).toMatchObject(invalid(/truncated/))
  })

  test('detects a truncated MP4 file by its sample offsets if its media data has no declared length', async () => {
    const bytes = withNumber(mp4({ headerFirst: true }), 'mdat', -4, 0)
    expect(await read(readMp4, bytes)).toMatchObject(valid)
    expect(await read(readMp4, firstPart(bytes, 0.9))).toMatchObject(validWithNote(/chunk 2 of 2 extends beyond the end/))
  })
})

describe('damaged MP4 files', () => {
  test('rejects an MP4 file with an overwritten movie header', async () => {
    const bytes = mp4({ headerFirst: true })
    expect(await read(readMp4, damaged(bytes, bytes.indexOf('stbl') - 4, 60, 0xff))).toMatchObject(invalid(/damaged/))
    expect(await read(readMp4, damaged(bytes, bytes.indexOf('trak'), 4))).toMatchObject(invalid(/no tracks/))
  })

  test.each(['stts', 'stsc', 'stsz', 'stco', 'stsd'])('rejects an MP4 file whose sample table lacks %s', async (type) => {
    expect(await read(readMp4, renamed(mp4(), type, 'junk'))).toMatchObject(invalid(/track 1 is damaged/))
  })

  test('rejects an MP4 file if a box inside a track has no declared length', async () => {
    for (const type of ['stsc', 'stsd', 'minf', 'trak'])
      expect(await read(readMp4, withNumber(mp4(), type, -4, 0))).toMatchObject(invalid(/does not fit/))
  })

  test('rejects an MP4 file whose declared counts exceed its size, without allocating memory for them', async () => {
    for (const [type, offset] of [
      ['stco', 8],
      ['stsz', 12],
      ['stsc', 8],
      ['stts', 8],
    ] as const)
      expect(await read(readMp4, withNumber(mp4(), type, offset, 0xffffffff))).toMatchObject(invalid(/truncated/))
    // A uniform sample size needs no list, so the file can declare four billion samples in a few bytes.
    const uniform = withNumber(withNumber(mp4(), 'stsz', 8, 1), 'stsz', 12, 0xffffffff)
    expect(await read(readMp4, uniform)).toMatchObject(valid)
  })

  test('rejects an MP4 file whose sample description is truncated or has an unknown version', async () => {
    for (const size of [0, 1, 4, 9, 0xffffffff])
      expect(await read(readMp4, withNumber(mp4(), 'mp4a', -4, size))).toMatchObject(invalid(/sample description is/))
    expect(await read(readMp4, withNumber(mp4(), 'mp4a', 12, 0x7fffffff))).toMatchObject(invalid(/'mp4a' entry/))
  })

  test('rejects an MP4 file with missing or invalid H.264 parameter sets', async () => {
    expect(await read(readMp4, avcMp4({ configuration: 'none' }))).toMatchObject(invalid(/codec description/))
    for (const bytes of [Buffer.alloc(30), Buffer.alloc(4, 1), damaged(avcConfiguration(), 6, 2, 0x7f)])
      expect(await read(readMp4, avcMp4({ configuration: bytes }))).toMatchObject(invalid(/avcC/))
    // Units with start codes contain the parameter sets themselves.
    expect(await read(readMp4, avcMp4({ configuration: 'none', startCodes: true }))).toMatchObject(valid)
    expect(await read(readMp4, avcMp4({ startCodes: true }))).toMatchObject(valid)
  })
})

describe('unusual MP4 files', () => {
  test('accepts an MP4 file with trailing zeros or other trailing bytes', async () => {
    expect(await read(readMp4, Buffer.concat([mp4(), Buffer.alloc(4)]))).toMatchObject(valid)
    expect(await read(readMp4, Buffer.concat([mp4(), Buffer.from('some words that were appended')]))).toMatchObject({
      sound: true,
      notes: [expect.stringMatching(/follow the last/)],
    })
  })

  test('rejects an MP4 file with too many boxes or too many nested boxes', async () => {
    const empty = box('free')
    expect(await read(readMp4, Buffer.concat([mp4(), ...Array(50).fill(empty)]), { maxEntries: 20 })).toMatchObject({
      sound: false,
      maliciousConstruction: 'box_flood',
    })
    let nested = Buffer.alloc(0)
    for (let depth = 0; depth < 3000; depth++) nested = box('moov', nested)
    expect(await read(readMp4, Buffer.concat([box('ftyp', u32be(0), u32be(0)), nested]))).toMatchObject(invalid(/./))
  })
})

describe('WebM files', () => {
  test('accepts a truncated WebM file only if it contains at least one block', async () => {
    expect(await read(readWebm, firstPart(webm(), 0.05))).toMatchObject(invalid(/truncated|no segment/))
    expect(await read(readWebm, webm().subarray(0, webm().indexOf('1f43b675', 0, 'hex') + 20))).toMatchObject(
      invalid(/all of its audio and video/),
    )
    for (const share of [0.6, 0.95])
      expect(await read(readWebm, firstPart(webm(), share))).toMatchObject(validWithNote(/truncated/))
    expect(await read(readWebm, firstPart(webm({ live: true }), 0.8))).toMatchObject(validWithNote(/damaged|truncated/))
  })

  test('accepts a WebM file with a few damaged bytes, but rejects a mostly damaged one', async () => {
    const clusterAt = webm().indexOf('1f43b675', 0, 'hex')
    expect(await read(readWebm, damaged(webm(), clusterAt + 8, 60))).toMatchObject(
      invalid(/most of its audio and video is missing/),
    )
    for (const groupAt of [webm().indexOf('a010', clusterAt, 'hex'), webm().lastIndexOf('a010', undefined, 'hex')])
      expect(await read(readWebm, damaged(webm(), groupAt, 16))).toMatchObject(validWithNote(/damaged/))
    expect(await read(readWebm, damaged(webm(), 100, 800, 0x41))).toMatchObject(invalid(/./))
  })

  test('rejects a WebM file with damaged tracks', async () => {
    const at = webm().indexOf('1654ae6b', 0, 'hex')
    expect(await read(readWebm, damaged(webm(), at + 8, 16))).toMatchObject(invalid(/damaged/))
    expect(await read(readWebm, webm({ track: 9 }))).toMatchObject(invalid(/belongs to a track/))
  })

  test('accepts a Matroska file only if its document type is webm or matroska', async () => {
    expect(await read(readWebm, webm({ type: 'matroska' }))).toMatchObject(valid)
    expect(await read(readWebm, webm({ type: 'webm\0' }))).toMatchObject(valid)
    expect(await read(readWebm, webm({ type: 'other' }))).toMatchObject(invalid(/type 'other'/))
    expect(await read(readWebm, webm({ type: '' }))).toMatchObject(invalid(/type ''/))
  })

  test('returns a verdict for a WebM file with thousands of empty, unsized or void elements', async () => {
    const open = Buffer.from('1f43b675ff'.repeat(20_000), 'hex')
    expect(await read(readWebm, Buffer.concat([webm({ live: true }), open]))).toMatchObject(valid)
    const ids = Buffer.from('1f43b67500'.repeat(20_000), 'hex')
    expect(await read(readWebm, Buffer.concat([webm({ live: true }), ids]))).toMatchObject(
      invalid(/most of its audio and video is missing/),
    )
    const voids = Array(3000).fill(element('ec'))
    expect(await read(readWebm, Buffer.concat([webm({ live: true }), ...voids]), { maxEntries: 10 })).toMatchObject({
      sound: false,
      maliciousConstruction: 'element_flood',
    })
  })
})
