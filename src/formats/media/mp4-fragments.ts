import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { type Box, boxesOf } from './boxes.js'
import { number32 } from './window.js'

/** The tracks that the movie header declares for fragments (mvex/trex). */
export function fragmentTracks(source: RandomAccessSource, limits: ReaderLimits, movie: Box): Set<number> {
  const tracks = new Set<number>()
  for (const extension of boxesOf(source, limits, movie.start, movie.end)) {
    if (extension.type !== 'mvex' || extension.cut) continue
    for (const box of boxesOf(source, limits, extension.start, extension.end))
      if (box.type === 'trex' && !box.cut && tracks.size < limits.maxEntries) tracks.add(number32(source, box.start + 4))
  }
  return tracks
}

/** Why players cannot use a fragment (moof): what its tracks say of their samples does not fit. Undefined where they can. */
export function fragmentFault(
  source: RandomAccessSource,
  limits: ReaderLimits,
  fragment: Box,
  tracks: Set<number>,
): string | undefined {
  for (const box of boxesOf(source, limits, fragment.start, fragment.end)) {
    if (box.cut) return 'a box in it does not fit'
    const fault = box.type === 'traf' ? trackFault(source, limits, box, tracks) : undefined
    if (fault) return fault
  }
  return undefined
}

function trackFault(source: RandomAccessSource, limits: ReaderLimits, part: Box, tracks: Set<number>): string | undefined {
  let known = false
  for (const box of boxesOf(source, limits, part.start, part.end)) {
    checkDeadline(limits)
    if (box.cut) return 'a box in it does not fit'
    if (box.type === 'tfhd') {
      const track = number32(source, box.start + 4)
      if (!tracks.has(track)) return `it is for track ${track}, of which the movie header says nothing (trex)`
      known = true
    }
    if (box.type !== 'trun') continue
    if (!known) return 'it does not say which track it is for (tfhd)'
    if (runLength(source, box) > box.end - box.start) return 'its list of samples is cut off (trun)'
  }
  return undefined
}

/** Bytes of a run of samples, by its flags: ISO 14496-12, track fragment run box. */
function runLength(source: RandomAccessSource, box: Box): number {
  const flags = number32(source, box.start)
  const count = number32(source, box.start + 4)
  const perSample = [0x100, 0x200, 0x400, 0x800].filter((flag) => flags & flag).length * 4
  return 8 + (flags & 1 ? 4 : 0) + (flags & 4 ? 4 : 0) + count * perSample
}
