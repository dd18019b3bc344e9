import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import type { Box } from './boxes.js'
import { readUint32, WindowReader } from './table-window.js'

export interface SampleCheck {
  problem?: string
  outsideProblem?: string
  declaredChunks: number
  presentChunks: number
  first?: number
}

export const noSamples: SampleCheck = { declaredChunks: 0, presentChunks: 0 }
const createFailedSampleCheck = (problem: string): SampleCheck => ({ ...noSamples, problem })

/** Checks the lists of a sample table and the sample offsets. Reads the lists through windows to limit memory use. */
export function checkSamples(source: RandomAccessSource, limits: ReaderLimits, boxes: Map<string, Box>): SampleCheck {
  const offsets = boxes.get('stco') ?? boxes.get('co64')
  const sizes = boxes.get('stsz') ?? boxes.get('stz2')
  const [runs, times] = [boxes.get('stsc'), boxes.get('stts')]
  const chunks = offsets ? readUint32(source, offsets.start + 4) : 0
  const samples = sizes ? readUint32(source, sizes.start + 8) : 0
  // Fragmented files may omit the sample tables, because all samples are in fragments.
  if (chunks === 0)
    return samples > 0 ? createFailedSampleCheck('the track has samples but no list of their offsets (stco)') : noSamples
  if (!offsets || !sizes || !runs || !times) return createFailedSampleCheck('the sample table lacks a list (stsz, stsc or stts)')
  const uniform = sizes.type === 'stsz' ? readUint32(source, sizes.start + 4) : 0
  const sizeBytes = (sizes.type === 'stsz' ? 32 : (source.read(sizes.start + 7, 1)[0] ?? 0)) / 8
  const wide = offsets.type === 'co64' ? 8 : 4
  const lists: [string, Box, number][] = [
    ['times (stts)', times, 8 + readUint32(source, times.start + 4) * 8],
    ['chunks', offsets, 8 + chunks * wide],
    ['sample sizes', sizes, uniform === 0 ? 12 + samples * sizeBytes : 0],
    ['chunk lengths', runs, 8 + readUint32(source, runs.start + 4) * 12],
  ]
  const cut = lists.find(([, box, length]) => box.start + length > box.end)
  if (cut) return createFailedSampleCheck(`the list of ${cut[0]} is truncated`)
  return samples === 0
    ? noSamples
    : checkChunks(source, limits, { offsets, sizes, runs, chunks, samples, uniform, sizeBytes, wide })
}

interface SampleTable {
  offsets: Box
  sizes: Box
  runs: Box
  chunks: number
  samples: number
  uniform: number
  sizeBytes: number
  wide: number
}

function checkChunks(source: RandomAccessSource, limits: ReaderLimits, table: SampleTable): SampleCheck {
  const { offsets, sizes, runs, chunks, samples, uniform, sizeBytes, wide } = table
  const reader = new WindowReader(source)
  const runCount = readUint32(source, runs.start + 4)
  const readRunField = (run: number, offset: number) => reader.readNumber('runs', runs.start + 8 + run * 12 + offset, 4)
  const found: SampleCheck = { declaredChunks: 0, presentChunks: 0 }
  let run = -1
  let nextRunAt = 1
  let perChunk = 0
  let sample = 0
  for (let chunk = 1; chunk <= chunks && sample < samples; chunk++) {
    if ((chunk & 255) === 0) checkDeadline(limits)
    while (chunk >= nextRunAt && run + 1 < runCount) {
      run++
      perChunk = readRunField(run, 4)
      nextRunAt = run + 1 < runCount ? readRunField(run + 1, 0) : Number.MAX_SAFE_INTEGER
    }
    const count = Math.min(perChunk, samples - sample)
    if (count === 0) continue
    const offset = reader.readNumber('offsets', offsets.start + 8 + (chunk - 1) * wide, wide)
    found.first ??= offset
    found.declaredChunks++
    let end = offset
    // In compressed QuickTime audio, a uniform sample size is not in bytes. The end of the chunk is then unknown, so only its
    // start is checked.
    if (uniform === 0 && sizeBytes >= 1)
      for (let index = 0; index < count; index++) {
        if ((index & 4095) === 4095) checkDeadline(limits)
        end += reader.readNumber('sizes', sizes.start + 12 + (sample + index) * sizeBytes, sizeBytes)
      }
    if (offset < source.size) found.presentChunks++
    if (offset >= source.size || end > source.size)
      found.outsideProblem ??= `chunk ${chunk} of ${chunks} ${offset >= source.size ? 'is' : 'extends'} beyond the end of the file`
    sample += count
  }
  return found
}
