import { checkDeadline, createInvalidVerdict, createValidVerdict, type FormatReader, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { crc16Table } from './crc.js'
import { readSampleCount } from './flac-frame.js'
import { findAudioEnd, findEndOfId3Tags } from './tags.js'

interface Frames {
  count: number
  samples: number
  open: number
}

/** Checks a FLAC file's metadata blocks, frame checksums and declared number of samples. */
export const readFlac: FormatReader = (source, limits) => {
  const start = findEndOfId3Tags(source)
  if (source.read(start, 4).toString('latin1') !== 'fLaC')
    return createInvalidVerdict('the file does not start with the FLAC signature')
  const metadata = readMetadata(source, limits, start + 4)
  if (typeof metadata === 'string') return createInvalidVerdict(metadata)
  const end = findAudioEnd(source, metadata.end)
  const frames = walkFrames(source, limits, metadata.end, end)
  const declared = metadata.samples
  const evidence = { frames: frames.count, samples: frames.samples, promised_samples: declared }
  if (frames.open > 0)
    return createInvalidVerdict(
      `the FLAC is damaged or truncated after frame ${frames.count}: the checksum of the next frame is incorrect`,
      evidence,
    )
  if (frames.samples < declared)
    return createInvalidVerdict(`the FLAC is truncated: it has ${frames.samples} of ${declared} samples`, evidence)
  return createValidVerdict(frames.count === 0 ? ['the file contains no audio'] : [], evidence)
}

/** Returns the declared number of samples and the end of the metadata, or an error message. */
function readMetadata(
  source: RandomAccessSource,
  limits: ReaderLimits,
  start: number,
): { samples: number; end: number } | string {
  const info = source.read(start + 4, 34)
  if (info.length < 34) return 'the FLAC is truncated within its metadata'
  const length = source.read(start, 4).readUInt32BE(0) & 0x7fff_ffff
  const minBlockSize = info.readUInt16BE(0)
  const rate = info.readUIntBE(10, 3) >> 4
  if (length < 34 || length >= 2 ** 24 || minBlockSize < 16 || rate === 0)
    return 'the FLAC does not start with its stream information'
  for (let at = start; ; ) {
    checkDeadline(limits)
    const head = source.read(at, 4)
    const end = at + 4 + (head.length < 4 ? 0 : head.readUIntBE(1, 3))
    if (head.length < 4 || end > source.size) return 'the FLAC is truncated within its metadata'
    if (head[0]! & 0x80) return { samples: (info[13]! & 0x0f) * 2 ** 32 + info.readUInt32BE(14), end }
    at = end
  }
}

function walkFrames(source: RandomAccessSource, limits: ReaderLimits, start: number, end: number): Frames {
  const frames: Frames = { count: 0, samples: 0, open: 0 }
  const window = 256 * 1024
  let crc = 0
  for (let at = start; at < end; at += window) {
    checkDeadline(limits)
    // Reads 16 more bytes, so that the window never splits a frame header.
    const bytes = source.read(at, Math.min(window + 16, end - at))
    const stop = Math.min(window, bytes.length)
    for (let index = 0; index < stop; index++) {
      const byte = bytes[index] as number
      if (byte === 0xff && crc === 0) {
        const blockSize = readSampleCount(bytes, index)
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
