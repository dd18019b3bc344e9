import { broken, checkDeadline, type FormatReader, type ReaderLimits, sound, trapped } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'

interface Shape {
  format?: Buffer
  data?: { promised: number; there: number }
  end: number
  notes: string[]
}

/** WAV (RIFF, RIFX, RF64 and BW64), whatever the codec: a format chunk that makes sense, and all of the sound that is promised. */
export const readWav: FormatReader = (source, limits) => {
  const head = source.read(0, 12)
  const kind = head.toString('latin1', 0, 4)
  if (head.length < 12 || !/^(RIFF|RIFX|RF64|BW64)$/.test(kind) || head.toString('latin1', 8, 12) !== 'WAVE')
    return broken('does not start with the WAV signature')
  const shape = walkChunks(source, limits, kind)
  if (!shape) return trapped('chunk_flood', `the WAV has more than ${limits.maxEntries} chunks`)
  const big = kind === 'RIFX'
  const { format, data, notes } = shape
  if (!format || format.length < 14) return broken('the WAV does not say how its sound is coded (no whole fmt chunk)')
  const channels = big ? format.readUInt16BE(2) : format.readUInt16LE(2)
  const rate = big ? format.readUInt32BE(4) : format.readUInt32LE(4)
  const blockSize = big ? format.readUInt16BE(12) : format.readUInt16LE(12)
  const evidence = { codec: big ? format.readUInt16BE(0) : format.readUInt16LE(0), channels, sample_rate: rate }
  if (channels === 0 || rate === 0) return broken(`the WAV claims ${channels} channels at ${rate} Hz`, evidence)
  if (!data) return broken('the WAV has no sound in it (no data chunk)', evidence)
  // A last sample block that is cut short is what recorders leave behind, and cannot be heard.
  if (data.promised - data.there > Math.max(blockSize, 2) && shape.end > source.size) {
    return broken(`the WAV is truncated: ${data.there} of ${data.promised} bytes of sound are there`, evidence)
  }
  // Only the data chunk claims more than there is: its writer miscounted, nothing was cut off.
  if (data.promised - data.there > Math.max(blockSize, 2))
    notes.push(`promises ${data.promised} bytes of sound in a file that ends after ${data.there}`)
  return sound(notes, evidence)
}

function walkChunks(source: RandomAccessSource, limits: ReaderLimits, kind: string): Shape | undefined {
  const big = kind === 'RIFX'
  const whole = source.read(4, 4)
  const shape: Shape = { notes: [], end: 8 + (big ? whole.readUInt32BE(0) : whole.readUInt32LE(0)) }
  let longSize: number | undefined
  let at = 12
  for (let count = 0; at + 8 <= source.size; count++) {
    checkDeadline(limits)
    if (count > limits.maxEntries) return undefined
    const head = source.read(at, 24)
    const type = head.toString('latin1', 0, 4)
    const size = big ? head.readUInt32BE(4) : head.readUInt32LE(4)
    const there = source.size - at - 8
    if (type === 'ds64' && head.length >= 24) longSize = Number(head.readBigUInt64LE(16))
    if (type === 'fmt ') shape.format ??= source.read(at + 8, Math.min(size, 64))
    if (type === 'data') {
      const promised = size === 0xffffffff && longSize !== undefined ? longSize : streamed(size) ? there : size
      shape.data ??= { promised, there: Math.min(there, promised) }
      if (promised !== size && promised !== longSize) shape.notes.push('written as a stream: its length was not filled in')
    }
    if (size > there) break
    at = next(source, at, size)
  }
  return shape
}

/** Lengths that programs write before they know: none, and the largest numbers. */
const streamed = (size: number) => size === 0 || size >= 0x7ffff000

// Chunks of odd length are padded, except by the programs that forget to.
function next(source: RandomAccessSource, at: number, size: number): number {
  const end = at + 8 + size
  if ((size & 1) === 0) return end
  const [padding] = source.read(end, 1)
  return padding === 0 || !/^[A-Za-z0-9 _-]{4}$/.test(source.read(end, 4).toString('latin1')) ? end + 1 : end
}
