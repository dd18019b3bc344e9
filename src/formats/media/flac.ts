import { broken, checkDeadline, type FormatReader, type ReaderLimits, sound } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { crc16Table } from './crc.js'
import { frameHeader } from './flac-frame.js'
import { afterId3, beforeTrailers } from './tags.js'

interface StreamInfo {
  totalSamples: number
}

interface Frames {
  count: number
  samples: number
  open: number
}

/** FLAC: metadata blocks, then every frame of the file by its own checksums, and as many samples as the header promises. */
export const readFlac: FormatReader = (source, limits) => {
  const start = afterId3(source)
  if (source.read(start, 4).toString('latin1') !== 'fLaC') return broken('does not start with the FLAC signature')
  const metadata = readMetadata(source, limits, start + 4)
  if (typeof metadata === 'string') return broken(metadata)
  const end = beforeTrailers(source, metadata.end)
  const frames = walkFrames(source, limits, metadata.end, end)
  const evidence = { frames: frames.count, samples: frames.samples, promised_samples: metadata.info.totalSamples }
  if (frames.open > 0)
    return broken(`the FLAC is damaged or truncated after frame ${frames.count}: a frame's checksum is wrong`, evidence)
  if (frames.count === 0 && metadata.info.totalSamples > 0)
    return broken('the FLAC ends before its sound starts: it is truncated', evidence)
  if (frames.samples < metadata.info.totalSamples)
    return broken(`the FLAC is truncated: ${frames.samples} of ${metadata.info.totalSamples} samples are there`, evidence)
  return sound(frames.count === 0 ? ['has no sound in it'] : [], evidence)
}

function readMetadata(
  source: RandomAccessSource,
  limits: ReaderLimits,
  start: number,
): { info: StreamInfo; end: number } | string {
  let at = start
  let info: StreamInfo | undefined
  for (;;) {
    checkDeadline(limits)
    const head = source.read(at, 4)
    if (head.length < 4) return 'the FLAC is cut off in its metadata'
    const type = (head[0] as number) & 0x7f
    const length = head.readUIntBE(1, 3)
    if (at + 4 + length > source.size) return 'the FLAC is cut off in its metadata'
    if (type === 127) return 'the metadata of the FLAC is damaged'
    if (!info) {
      if (type !== 0 || length < 34) return 'the FLAC does not start with its stream information'
      info = streamInfo(source.read(at + 4, 34))
      if (!info) return 'the stream information of the FLAC is damaged'
    }
    at += 4 + length
    if ((head[0] as number) & 0x80) return { info, end: at }
  }
}

function streamInfo(bytes: Buffer): StreamInfo | undefined {
  const blockSize = bytes.readUInt16BE(0)
  const sampleRate = bytes.readUIntBE(10, 3) >> 4
  if (blockSize < 16 || sampleRate === 0) return undefined
  return { totalSamples: ((bytes[13] as number) & 0x0f) * 2 ** 32 + bytes.readUInt32BE(14) }
}

function walkFrames(source: RandomAccessSource, limits: ReaderLimits, start: number, end: number): Frames {
  const frames: Frames = { count: 0, samples: 0, open: 0 }
  const window = 256 * 1024
  let crc = 0
  for (let at = start; at < end; at += window) {
    checkDeadline(limits)
    // 16 bytes more than are looked at, so that a head is never split.
    const bytes = source.read(at, Math.min(window + 16, end - at))
    const stop = Math.min(window, bytes.length)
    for (let index = 0; index < stop; index++) {
      const byte = bytes[index] as number
      if (byte === 0xff && crc === 0) {
        const blockSize = frameHeader(bytes, index)
        if (blockSize > 0) {
          frames.count++
          frames.samples += blockSize
          frames.open = 0
        }
      }
      crc = ((crc << 8) & 0xffff) ^ (crc16Table[(crc >> 8) ^ byte] as number)
      frames.open++
    }
  }
  if (crc === 0 && frames.count > 0) frames.open = 0
  return frames
}
