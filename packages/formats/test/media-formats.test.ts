import { describe, expect, test } from '@jest/globals'
import { DeadlineExceeded, type FormatReader } from '../src/format.js'
import { readAac } from '../src/media/aac.js'
import { readFlac } from '../src/media/flac.js'
import { readMp3 } from '../src/media/mp3.js'
import { readMp4 } from '../src/media/mp4.js'
import { readOgg } from '../src/media/ogg.js'
import { readWav } from '../src/media/wav.js'
import { readWebm } from '../src/media/webm.js'
import { damaged, firstPart, invalid, read, valid, validWithNote } from './support/format-reading.js'
import { aac, flac, mp3, ogg, oggPage, opusHead, rf64, wav, webm } from './support/samples/media.js'
import { avcMp4, fragmentedMp4, mp4 } from './support/samples/mp4.js'
import { mutate } from './support/samples/mutations.js'

const samples: [string, FormatReader, Buffer][] = [
  ['wav', readWav, wav()],
  ['flac', readFlac, flac()],
  ['ogg', readOgg, ogg()],
  ['mp3', readMp3, mp3()],
  ['aac', readAac, aac()],
  ['mp4', readMp4, mp4()],
  ['mp4, header first', readMp4, mp4({ headerFirst: true })],
  ['mp4, H.264', readMp4, avcMp4()],
  ['mp4, fragmented', readMp4, fragmentedMp4()],
  ['webm', readWebm, webm()],
  ['webm, live', readWebm, webm({ live: true })],
]

describe.each(samples)('media file reader: %s', (_name, reader, sample) => {
  test('accepts an intact media file', async () => {
    expect(await read(reader, sample)).toMatchObject({ sound: true, notes: [] })
  })

  test('rejects a media file that is empty, truncated or of another type', async () => {
    expect(await read(reader, sample.subarray(0, 12))).toMatchObject(invalid(/./))
    // MP3 and AAC players search for the first frame at any offset, so other bytes are not an error.
    if (reader !== readMp3 && reader !== readAac)
      expect(await read(reader, damaged(sample, 0, 64, 0x41))).toMatchObject(invalid(/./))
    expect(await read(reader, Buffer.from('Nothing that could be played.\n'.repeat(50)))).toMatchObject(invalid(/./))
    expect(await read(reader, Buffer.alloc(0))).toMatchObject(invalid(/./))
  })

  test('returns a verdict for every mutated media file', async () => {
    for (const mutation of mutate(sample, 150)) {
      const verdict = await read(reader, mutation)
      expect(typeof verdict.sound).toBe('boolean')
    }
  })

  test('stops reading a media file at its deadline', async () => {
    await expect(read(reader, sample, { deadline: Date.now() - 1 })).rejects.toThrow(DeadlineExceeded)
  })
})

describe('WAV files', () => {
  test('rejects a WAV file that is shorter than its header states', async () => {
    for (const share of [0.2, 0.5, 0.9]) expect(await read(readWav, firstPart(wav(), share))).toMatchObject(invalid(/truncated/))
    expect(await read(readWav, wav().subarray(0, 44))).toMatchObject(invalid(/truncated: 0 of 8000/))
    expect(await read(readWav, wav().subarray(0, 40))).toMatchObject(invalid(/no audio/))
  })

  test('accepts a WAV file with placeholder lengths and adds a note', async () => {
    for (const size of [0, 0xffffffff, 0x7ffff000]) {
      expect(await read(readWav, wav({ dataSize: size, riffSize: size }))).toMatchObject({
        sound: true,
        notes: [expect.stringMatching(/stream/)],
      })
    }
  })

  test('accepts a WAV file in which only the length of the data chunk is wrong', async () => {
    expect(await read(readWav, wav({ dataSize: 20_000 }))).toMatchObject({
      sound: true,
      notes: [expect.stringMatching(/declares 20000/)],
    })
  })

  test('accepts an RF64 WAV file only if it has a ds64 chunk', async () => {
    expect(await read(readWav, rf64(true))).toMatchObject({ sound: true, notes: [] })
    expect(await read(readWav, rf64(false))).toMatchObject(invalid(/no complete ds64 chunk/))
    expect(await read(readWav, firstPart(rf64(true), 0.5))).toMatchObject({ sound: false })
  })

  test('rejects a WAV file without audio or with an invalid format', async () => {
    expect(await read(readWav, damaged(wav(), 36, 4, 0x20))).toMatchObject(invalid(/no audio/))
    expect(await read(readWav, damaged(wav(), 22, 2))).toMatchObject(invalid(/0 channels/))
  })
})

describe('FLAC files', () => {
  test('detects a wrong byte anywhere in the audio of a FLAC file', async () => {
    for (const share of [0.2, 0.5, 0.95]) {
      const bytes = flac()
      const at = Math.floor(bytes.length * share)
      bytes[at] = (bytes[at] as number) ^ 1
      expect(await read(readFlac, bytes)).toMatchObject(invalid(/checksum/))
    }
  })

  test('rejects a FLAC file that is truncated within, between or before frames', async () => {
    expect(await read(readFlac, firstPart(flac(), 0.7))).toMatchObject(invalid(/truncated/))
    expect(await read(readFlac, flac(7))).toMatchObject(invalid(/1792 of 2560 samples/))
    expect(await read(readFlac, flac(0))).toMatchObject(invalid(/truncated/))
  })

  test('accepts a FLAC file with tags before and after the audio', async () => {
    const tag = Buffer.concat([Buffer.from('ID3\x03\0\0\0\0\0\x05', 'latin1'), Buffer.alloc(5)])
    expect(await read(readFlac, Buffer.concat([tag, flac(), Buffer.from('TAG'), Buffer.alloc(125)]))).toMatchObject(valid)
  })
})

describe('Ogg files', () => {
  test('skips a damaged Ogg page, but rejects an Ogg file if most pages are damaged', async () => {
    expect(await read(readOgg, damaged(ogg(), 1000, 1, 0xee))).toMatchObject(validWithNote(/damaged/))
    expect(await read(readOgg, damaged(ogg(), 700, 900))).toMatchObject(invalid(/do not belong to any page/))
  })

  test('rejects an Ogg file with damaged headers', async () => {
    for (const at of [30, 60, 100]) expect(await read(readOgg, damaged(ogg(), at, 1, 0xee))).toMatchObject(invalid(/./))
    expect(await read(readOgg, ogg({ tags: false }))).toMatchObject(invalid(/lacks a header of its opus stream/))
    const strange = oggPage(1, { serial: 7, body: Buffer.alloc(50) })
    expect(await read(readOgg, Buffer.concat([ogg().subarray(0, 47), strange, ogg().subarray(47)]))).toMatchObject(
      invalid(/before that stream starts/),
    )
  })

  test('accepts an Ogg recording whose pages have no granule positions', async () => {
    const tags = Buffer.concat([Buffer.from('OpusTags\x05\0\0\0assay', 'latin1'), Buffer.alloc(4)])
    const headers = [oggPage(0, { flags: 2, body: opusHead() }), oggPage(1, { body: tags })]
    const audio = [2, 3].map((sequence) => oggPage(sequence, { body: Buffer.alloc(100, sequence) }))
    expect(await read(readOgg, Buffer.concat([...headers, ...audio]))).toMatchObject(valid)
    expect(await read(readOgg, Buffer.concat(headers))).toMatchObject(invalid(/before its audio/))
  })

  test('rejects an Ogg file as truncated if it has headers but no audio', async () => {
    expect(await read(readOgg, ogg().subarray(0, ogg().indexOf('OggS', 60)))).toMatchObject(invalid(/before its audio/))
  })

  test('returns a verdict for an Ogg file with thousands of fake pages or streams', async () => {
    const signatures = Buffer.concat([ogg(), Buffer.from(`OggS\0${'OggS'.repeat(30_000)}`, 'latin1')])
    expect(await read(readOgg, signatures)).toMatchObject(invalid(/do not belong to any page/))
    const starts = Buffer.concat(Array.from({ length: 3000 }, (_, serial) => oggPage(0, { flags: 2, serial, body: opusHead() })))
    expect(await read(readOgg, starts)).toMatchObject(invalid(/before its audio/))
  })

  test('accepts a truncated Ogg recording unless it contains no audio', async () => {
    expect(await read(readOgg, ogg({ endMark: false }))).toMatchObject({
      sound: true,
      notes: [expect.stringMatching(/end mark/)],
    })
    expect(await read(readOgg, firstPart(ogg(), 0.9))).toMatchObject({ sound: true, notes: [expect.stringMatching(/truncated/)] })
    expect(await read(readOgg, ogg().subarray(0, 300))).toMatchObject(invalid(/truncated/))
  })
})

describe('MP3 files', () => {
  test('accepts stray bytes between MP3 frames and notes a truncated last frame', async () => {
    const bytes = mp3()
    expect(await read(readMp3, damaged(bytes, 2000, 300, 0x11))).toMatchObject(valid)
    expect(await read(readMp3, bytes.subarray(0, 3000))).toMatchObject({
      sound: true,
      notes: [expect.stringMatching(/truncated/)],
    })
  })

  test('rejects an MP3 file that contains only a tag or bytes similar to a frame', async () => {
    expect(await read(readMp3, mp3(0))).toMatchObject(invalid(/./))
    const accident = Buffer.concat([Buffer.alloc(3000, 0x20), Buffer.from([0xff, 0xfb, 0x90, 0xc4]), Buffer.alloc(3000, 0x20)])
    expect(await read(readMp3, accident)).toMatchObject(invalid(/no consecutive/))
    expect(await read(readMp3, Buffer.from('ID3\x03\0\0\x7f\x7f\x7f\x7f and no more', 'latin1'))).toMatchObject(invalid(/tag/))
  })
})

describe('MP3 and AAC streams', () => {
  test('accepts MP3 frames between other bytes only if at least three are consecutive', async () => {
    const junk = Buffer.alloc(3000, 0x41)
    const frames = mp3().subarray(30, 30 + 417 * 3)
    expect(await read(readMp3, Buffer.concat([junk, frames]))).toMatchObject(valid)
    expect(await read(readMp3, Buffer.concat([junk, frames.subarray(0, 417), junk, frames.subarray(0, 417)]))).toMatchObject(
      invalid(/./),
    )
  })

  test('notes stray bytes between AAC frames, and rejects an AAC stream without frames', async () => {
    expect(await read(readAac, Buffer.concat([Buffer.alloc(40, 0x20), aac()]))).toMatchObject({
      sound: true,
      notes: [expect.stringMatching(/40 stray bytes between/)],
    })
    expect(await read(readAac, damaged(aac(), 0, aac().length, 0x7f))).toMatchObject(invalid(/no consecutive/))
    expect(await read(readAac, Buffer.from('ID3\x03\0\0\x7f\x7f\x7f\x7f and no more', 'latin1'))).toMatchObject(
      invalid(/no consecutive/),
    )
  })

  test('rejects audio whose tags claim a size of 256 MB', async () => {
    const tag = Buffer.from('ID3\x04\0\0\x7f\x7f\x7f\x7f', 'latin1')
    for (const reader of [readMp3, readAac, readFlac, readOgg])
      expect(await read(reader, Buffer.concat([tag, tag, Buffer.alloc(5000)]))).toMatchObject(invalid(/./))
  })
})
