import { describe, expect, test } from '@jest/globals'
import { DeadlineExceeded, type FormatReader, type FormatVerdict, type ReaderLimits } from '../../src/files/formats/format.js'
import { readFlac, readMp3, readMp4, readOgg, readWav, readWebm } from '../../src/files/formats/media.js'
import { MemorySource } from '../../src/files/validation/source.js'
import { flac, fragmentedMp4, mp3, mp4, ogg, wav, webm } from '../support/samples/media.js'
import { mutationsOf } from '../support/samples/mutations.js'

const limits = (changes: Partial<ReaderLimits> = {}): ReaderLimits => ({
  maxUnpackedBytes: 2 ** 30,
  maxRatio: 100,
  maxEntries: 10_000,
  maxNesting: 4,
  maxPixels: 100_000_000,
  maxDepth: 256,
  deadline: Date.now() + 20_000,
  ...changes,
})

const read = (reader: FormatReader, bytes: Buffer, changes?: Partial<ReaderLimits>): Promise<FormatVerdict> =>
  Promise.resolve().then(() => reader(new MemorySource(bytes, ''), limits(changes)))

const sound = { sound: true }
const broken = (problem: RegExp) => ({ sound: false, problem: expect.stringMatching(problem) })

/** A copy with some bytes overwritten. */
function damaged(bytes: Buffer, at: number, length = 16, value = 0): Buffer {
  return Buffer.from(bytes).fill(value, at, at + length)
}
const firstPart = (bytes: Buffer, share: number) => bytes.subarray(0, Math.floor(bytes.length * share))

const samples: [string, FormatReader, Buffer][] = [
  ['wav', readWav, wav()],
  ['flac', readFlac, flac()],
  ['ogg', readOgg, ogg()],
  ['mp3', readMp3, mp3()],
  ['mp4', readMp4, mp4()],
  ['mp4, header first', readMp4, mp4({ headerFirst: true })],
  ['mp4, fragmented', readMp4, fragmentedMp4()],
  ['webm', readWebm, webm()],
  ['webm, live', readWebm, webm({ live: true })],
]

describe.each(samples)('%s', (_name, reader, sample) => {
  test('a whole file is sound', async () => {
    expect(await read(reader, sample)).toMatchObject({ sound: true, notes: [] })
  })

  test('its first bytes alone, other content and nothing at all are broken', async () => {
    expect(await read(reader, sample.subarray(0, 12))).toMatchObject(broken(/./))
    // Players of MP3 look for the first frame wherever it is.
    if (reader !== readMp3) expect(await read(reader, damaged(sample, 0, 64, 0x41))).toMatchObject(broken(/./))
    expect(await read(reader, Buffer.from('Nothing that could be played.\n'.repeat(50)))).toMatchObject(broken(/./))
    expect(await read(reader, Buffer.alloc(0))).toMatchObject(broken(/./))
  })

  test('whatever is done to it, there is a verdict', async () => {
    for (const mutation of mutationsOf(sample, 150)) {
      const verdict = await read(reader, mutation)
      expect(typeof verdict.sound).toBe('boolean')
    }
  })

  test('gives up at its deadline', async () => {
    await expect(read(reader, sample, { deadline: Date.now() - 1 })).rejects.toThrow(DeadlineExceeded)
  })
})

describe('wav', () => {
  test('cut off anywhere in its sound is truncated', async () => {
    for (const share of [0.2, 0.5, 0.9]) expect(await read(readWav, firstPart(wav(), share))).toMatchObject(broken(/truncated/))
  })

  test('lengths that were never filled in pass, and are noted', async () => {
    for (const size of [0, 0xffffffff, 0x7ffff000]) {
      expect(await read(readWav, wav({ dataSize: size, riffSize: size }))).toMatchObject({
        sound: true,
        notes: [expect.stringMatching(/stream/)],
      })
    }
  })

  test('a data length that only the data chunk claims is a slip of its writer, no truncation', async () => {
    expect(await read(readWav, wav({ dataSize: 20_000 }))).toMatchObject({
      sound: true,
      notes: [expect.stringMatching(/promises 20000/)],
    })
  })

  test('without sound, or with a format that cannot be, it is broken', async () => {
    expect(await read(readWav, damaged(wav(), 36, 4, 0x20))).toMatchObject(broken(/no sound/))
    expect(await read(readWav, damaged(wav(), 22, 2))).toMatchObject(broken(/0 channels/))
  })
})

describe('flac', () => {
  test('a wrong byte anywhere in the sound is seen', async () => {
    for (const share of [0.2, 0.5, 0.95]) {
      const bytes = flac()
      const at = Math.floor(bytes.length * share)
      bytes[at] = (bytes[at] as number) ^ 1
      expect(await read(readFlac, bytes)).toMatchObject(broken(/checksum/))
    }
  })

  test('cut off inside a frame, between two, or before the first, it is truncated', async () => {
    expect(await read(readFlac, firstPart(flac(), 0.7))).toMatchObject(broken(/truncated/))
    expect(await read(readFlac, flac(7))).toMatchObject(broken(/1792 of 2560 samples/))
    expect(await read(readFlac, flac(0))).toMatchObject(broken(/truncated/))
  })

  test('tags around it pass', async () => {
    const tag = Buffer.concat([Buffer.from('ID3\x03\0\0\0\0\0\x05', 'latin1'), Buffer.alloc(5)])
    expect(await read(readFlac, Buffer.concat([tag, flac(), Buffer.from('TAG'), Buffer.alloc(125)]))).toMatchObject(sound)
  })
})

describe('ogg', () => {
  test('a damaged page is seen', async () => {
    expect(await read(readOgg, damaged(ogg(), 700, 1, 0xee))).toMatchObject(broken(/checksum/))
    expect(await read(readOgg, damaged(ogg(), 700, 500))).toMatchObject(broken(/damaged/))
  })

  test('a recording that was broken off plays up to there; one without any sound does not', async () => {
    expect(await read(readOgg, ogg({ endMark: false }))).toMatchObject({
      sound: true,
      notes: [expect.stringMatching(/end mark/)],
    })
    expect(await read(readOgg, firstPart(ogg(), 0.9))).toMatchObject({ sound: true, notes: [expect.stringMatching(/truncated/)] })
    expect(await read(readOgg, ogg().subarray(0, 300))).toMatchObject(broken(/cut off/))
  })
})

describe('mp3', () => {
  test('players skip what stands between frames, so do we; a cut last frame is noted', async () => {
    const bytes = mp3()
    expect(await read(readMp3, damaged(bytes, 2000, 300, 0x11))).toMatchObject(sound)
    expect(await read(readMp3, bytes.subarray(0, 3000))).toMatchObject({
      sound: true,
      notes: [expect.stringMatching(/cut short/)],
    })
  })

  test('a tag without sound, and bytes that look like one frame by accident, are broken', async () => {
    expect(await read(readMp3, mp3(0))).toMatchObject(broken(/./))
    const accident = Buffer.concat([Buffer.alloc(3000, 0x20), Buffer.from([0xff, 0xfb, 0x90, 0xc4]), Buffer.alloc(3000, 0x20)])
    expect(await read(readMp3, accident)).toMatchObject(broken(/no frames/))
    expect(await read(readMp3, Buffer.from('ID3\x03\0\0\x7f\x7f\x7f\x7f and no more', 'latin1'))).toMatchObject(broken(/tag/))
  })
})

describe('mp4', () => {
  test('cut off in its header or its data, it is truncated', async () => {
    for (const bytes of [mp4(), mp4({ headerFirst: true }), fragmentedMp4()]) {
      for (const share of [0.3, 0.6, 0.95])
        expect(await read(readMp4, firstPart(bytes, share))).toMatchObject(broken(/truncated|movie header/))
    }
  })

  test('a movie header that was overwritten is damage', async () => {
    const bytes = mp4({ headerFirst: true })
    expect(await read(readMp4, damaged(bytes, bytes.indexOf('stbl') - 4, 60, 0xff))).toMatchObject(broken(/damaged/))
    expect(await read(readMp4, damaged(bytes, bytes.indexOf('trak'), 4))).toMatchObject(broken(/no tracks/))
  })

  test('samples behind the end of data without a length show where it was cut', async () => {
    const bytes = mp4({ headerFirst: true })
    bytes.writeUInt32BE(0, bytes.indexOf('mdat') - 4)
    expect(await read(readMp4, bytes)).toMatchObject(sound)
    expect(await read(readMp4, firstPart(bytes, 0.8))).toMatchObject(broken(/truncated/))
  })

  test('counts that the file does not hold are refused, not allocated', async () => {
    for (const type of ['stco', 'stsz', 'stsc']) {
      const bytes = mp4()
      bytes.writeUInt32BE(0xffffffff, bytes.indexOf(type) + (type === 'stsz' ? 12 : 8))
      expect(await read(readMp4, bytes)).toMatchObject(broken(/cut off/))
    }
  })

  test('four zero bytes at the end, and other bytes after a whole film, pass', async () => {
    expect(await read(readMp4, Buffer.concat([mp4(), Buffer.alloc(4)]))).toMatchObject(sound)
    expect(await read(readMp4, Buffer.concat([mp4(), Buffer.from('some words that were appended')]))).toMatchObject({
      sound: true,
      notes: [expect.stringMatching(/after the last/)],
    })
  })

  test('more boxes than allowed are a trap', async () => {
    const empty = Buffer.from('0000000866726565', 'hex')
    expect(await read(readMp4, Buffer.concat([mp4(), ...Array(50).fill(empty)]), { maxEntries: 20 })).toMatchObject({
      sound: false,
      trap: 'box_flood',
    })
  })
})

describe('webm', () => {
  test('cut off it is truncated, overwritten it is damaged', async () => {
    for (const share of [0.3, 0.6, 0.95])
      expect(await read(readWebm, firstPart(webm(), share))).toMatchObject(broken(/truncated/))
    expect(await read(readWebm, damaged(webm(), 300, 200))).toMatchObject(broken(/damaged/))
    expect(await read(readWebm, firstPart(webm({ live: true }), 0.8))).toMatchObject(broken(/damaged|cut off/))
  })

  test('Matroska is one of its names, other EBML is not', async () => {
    expect(await read(readWebm, webm({ type: 'matroska' }))).toMatchObject(sound)
    expect(await read(readWebm, webm({ type: 'other' }))).toMatchObject(broken(/type 'other'/))
  })
})
