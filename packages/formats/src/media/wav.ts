import { createInvalidVerdict, createValidVerdict, type FormatReader, type ReaderLimits } from '../format.js'
import { catchFormatError } from '../format-error.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { readRiffChunks } from './riff.js'

interface Shape {
  format?: Buffer
  data?: { declared: number; present: number }
  notes: string[]
  /** True if a ds64 chunk precedes the audio. */
  hasLongSizes: boolean
}

/** Checks WAV files (RIFF, RIFX, RF64 and BW64). The format chunk must be plausible, and the declared audio must exist. */
export const readWav: FormatReader = (source, limits) => catchFormatError(() => checkWav(source, limits))

function checkWav(source: RandomAccessSource, limits: ReaderLimits) {
  const head = source.read(0, 12)
  if (head.length < 12 || !/^(RIFF|RIFX|RF64|BW64)....WAVE$/s.test(head.toString('latin1')))
    return createInvalidVerdict('the file does not start with the WAV signature')
  const big = head[3] === 0x58
  const { format, data, notes, hasLongSizes } = readChunks(source, limits, big)
  // RF64 and BW64 files store their lengths only in the ds64 chunk (EBU Tech 3306).
  if (!hasLongSizes && /^(RF|BW)64/.test(head.toString('latin1')))
    return createInvalidVerdict(
      'the RF64 or BW64 file has no complete ds64 chunk, which must precede the audio and declare its length',
    )
  if (!format || format.length < 14)
    return createInvalidVerdict('the WAV has no complete fmt chunk, which describes the audio format')
  const short = (at: number) => (big ? format.readUInt16BE(at) : format.readUInt16LE(at))
  const [channels, rate, blockSize] = [short(2), big ? format.readUInt32BE(4) : format.readUInt32LE(4), short(12)]
  const evidence = { codec: short(0), channels, sample_rate: rate }
  if (channels === 0 || rate === 0)
    return createInvalidVerdict(`the WAV declares ${channels} channels at ${rate} Hz, which is invalid`, evidence)
  if (!data) return createInvalidVerdict('the WAV contains no audio (the data chunk is missing)', evidence)
  // Recorders may leave an incomplete last block, which is inaudible.
  if (data.declared - data.present <= Math.max(blockSize, 2)) return createValidVerdict(notes, evidence)
  if (8 + (big ? head.readUInt32BE(4) : head.readUInt32LE(4)) > source.size)
    return createInvalidVerdict(`the WAV is truncated: ${data.present} of ${data.declared} bytes of audio are present`, evidence)
  // Only the data chunk's length is wrong, so the writer miscounted and nothing is missing.
  return createValidVerdict(
    [...notes, `the header declares ${data.declared} bytes of audio, but the file contains ${data.present}`],
    evidence,
  )
}

function readChunks(source: RandomAccessSource, limits: ReaderLimits, isBigEndian: boolean): Shape {
  const shape: Shape = { notes: [], hasLongSizes: false }
  let longSize: number | undefined
  for (const { type, start, size } of readRiffChunks(source, limits, { big: isBigEndian })) {
    const present = source.size - start
    if (type === 'ds64' && present >= 16) longSize = Number(source.read(start + 8, 8).readBigUInt64LE())
    shape.hasLongSizes ||= longSize !== undefined && !shape.data
    if (type === 'fmt ') shape.format ??= source.read(start, Math.min(size, 64))
    if (type !== 'data') continue
    const declared = size === 0xffffffff && longSize !== undefined ? longSize : isPlaceholderSize(size) ? present : size
    shape.data ??= { declared, present: Math.min(present, declared) }
    if (declared !== size && declared !== longSize)
      shape.notes.push('the header contains no length, because the file was written as a stream')
  }
  return shape
}

/** True for placeholder lengths (0 or near the maximum), which programs write before the actual length is known. */
const isPlaceholderSize = (size: number) => size === 0 || size >= 0x7ffff000
