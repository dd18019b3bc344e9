import { createInvalidVerdict, createValidVerdict, type FormatReader, type ReaderLimits } from '../format.js'
import { catchFormatError } from '../format-error.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { readRiffChunks } from './riff.js'

interface WavChunks {
  format?: Buffer
  data?: { declaredBytes: number; presentBytes: number }
  notes: string[]
  /** True if a ds64 chunk precedes the audio. */
  hasLongSizes: boolean
}

/** Checks WAV files (RIFF, RIFX, RF64 and BW64). The format chunk must be plausible, and the audio must not be truncated. */
export const readWav: FormatReader = (source, limits) => catchFormatError(() => checkWav(source, limits))

function checkWav(source: RandomAccessSource, limits: ReaderLimits) {
  const head = source.read(0, 12)
  if (head.length < 12 || !/^(RIFF|RIFX|RF64|BW64)....WAVE$/s.test(head.toString('latin1')))
    return createInvalidVerdict('the file does not start with the WAV signature')
  const isBigEndian = head[3] === 0x58
  const { format, data, notes, hasLongSizes } = readWavChunks(source, limits, isBigEndian)
  // RF64 and BW64 files store their lengths only in the ds64 chunk (EBU Tech 3306).
  if (!hasLongSizes && /^(RF|BW)64/.test(head.toString('latin1')))
    return createInvalidVerdict(
      'the RF64 or BW64 file has no complete ds64 chunk, which must precede the audio and declare its length',
    )
  if (!format || format.length < 14)
    return createInvalidVerdict('the WAV has no complete fmt chunk, which describes the audio format')
  const readUint16 = (offset: number) => (isBigEndian ? format.readUInt16BE(offset) : format.readUInt16LE(offset))
  const [channels, rate, blockSize] = [
    readUint16(2),
    isBigEndian ? format.readUInt32BE(4) : format.readUInt32LE(4),
    readUint16(12),
  ]
  const evidence = { codec: readUint16(0), channels, sample_rate: rate }
  if (channels === 0 || rate === 0)
    return createInvalidVerdict(`the WAV declares ${channels} channels at ${rate} Hz, which is invalid`, evidence)
  if (!data) return createInvalidVerdict('the WAV contains no audio (the data chunk is missing)', evidence)
  // Recorders may leave an incomplete last block. Its loss is inaudible, so the file is valid.
  if (data.declaredBytes - data.presentBytes <= Math.max(blockSize, 2)) return createValidVerdict(notes, evidence)
  if (8 + (isBigEndian ? head.readUInt32BE(4) : head.readUInt32LE(4)) > source.size)
    return createInvalidVerdict(
      `the WAV is truncated: ${data.presentBytes} of ${data.declaredBytes} bytes of audio are present`,
      evidence,
    )
  // All bytes that the file header declares are present, so only the length of the data chunk is wrong, and no audio is missing.
  return createValidVerdict(
    [...notes, `the header declares ${data.declaredBytes} bytes of audio, but the file contains ${data.presentBytes}`],
    evidence,
  )
}

function readWavChunks(source: RandomAccessSource, limits: ReaderLimits, isBigEndian: boolean): WavChunks {
  const shape: WavChunks = { notes: [], hasLongSizes: false }
  let longSize: number | undefined
  for (const { type, start, size } of readRiffChunks(source, limits, { isBigEndian })) {
    const presentBytes = source.size - start
    if (type === 'ds64' && presentBytes >= 16) longSize = Number(source.read(start + 8, 8).readBigUInt64LE())
    shape.hasLongSizes ||= longSize !== undefined && !shape.data
    if (type === 'fmt ') shape.format ??= source.read(start, Math.min(size, 64))
    if (type !== 'data') continue
    const declaredBytes = size === 0xffffffff && longSize !== undefined ? longSize : isPlaceholderSize(size) ? presentBytes : size
    shape.data ??= { declaredBytes, presentBytes: Math.min(presentBytes, declaredBytes) }
    if (declaredBytes !== size && declaredBytes !== longSize)
      shape.notes.push('the header contains no length, because the file was written as a stream')
  }
  return shape
}

/** True for 0 and for values near the maximum, which programs write before they know the actual length. */
const isPlaceholderSize = (size: number) => size === 0 || size >= 0x7ffff000
