import { broken, checkDeadline, type FormatReader, type ReaderLimits, sound } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { type Mp3Frame, mp3Frame } from './mp3-frame.js'
import { afterId3, beforeTrailers } from './tags.js'

interface Walk {
  frames: number
  framed: number
  junk: number
  longestRun: number
  cut: boolean
}

/** MP3 (and layers 1 and 2). Players look for the next frame, so only a file in which they find next to nothing is refused. */
export const readMp3: FormatReader = (source, limits) => {
  const start = afterId3(source)
  if (start >= source.size)
    return broken(start > source.size ? 'the MP3 is cut off in its ID3 tag' : 'the MP3 has nothing after its ID3 tag')
  const end = beforeTrailers(source, start)
  const walk = walkFrames(source, limits, start, end)
  const evidence = { frames: walk.frames, junk_bytes: walk.junk }
  const lonely = walk.frames === 1 && walk.framed < (end - start) / 2
  if (walk.frames === 0 || lonely) return broken('no frames of MPEG sound follow each other in it', evidence)
  // Three that fit together are no accident, however much stands around them (a damaged tag with a picture in it, say).
  if (walk.longestRun < 3 && walk.junk > walk.framed) return broken('no frames of MPEG sound follow each other in it', evidence)
  const notes: string[] = []
  if (walk.cut) notes.push('its last frame is cut short; players leave it out')
  if (walk.junk > 0) notes.push(`${walk.junk} bytes between its frames; players skip them`)
  return sound(notes, evidence)
}

function walkFrames(source: RandomAccessSource, limits: ReaderLimits, start: number, end: number): Walk {
  const walk: Walk = { frames: 0, framed: 0, junk: 0, longestRun: 0, cut: false }
  let previous: Mp3Frame | undefined
  let run = 0
  let at = start
  for (let steps = 0; at < end; steps++) {
    if ((steps & 255) === 0) checkDeadline(limits)
    const frame = frameAt(source, at, end, previous)
    if (!frame) {
      run = 0
      previous = undefined
      const found = findFrame(source, limits, at, end, walk)
      if (found < 0) break
      at = found
      continue
    }
    if (at + frame.length > end) {
      walk.cut = true
      walk.framed += end - at
      break
    }
    walk.frames++
    walk.framed += frame.length
    walk.longestRun = Math.max(walk.longestRun, ++run)
    previous = frame
    at += frame.length
  }
  return walk
}

function frameAt(source: RandomAccessSource, at: number, end: number, previous: Mp3Frame | undefined): Mp3Frame | undefined {
  const frame = mp3Frame(source.read(at, 4), 0)
  if (!frame || (previous && frame.kind !== previous.kind)) return undefined
  // One that follows nothing must be followed by another, or be the last: any four bytes may look like a head.
  if (previous || at + frame.length >= end) return frame
  const following = mp3Frame(source.read(at + frame.length, 4), 0)
  return following && following.kind === frame.kind ? frame : undefined
}

function findFrame(source: RandomAccessSource, limits: ReaderLimits, at: number, end: number, walk: Walk): number {
  const window = 64 * 1024
  for (let offset = at; offset < end; offset += window) {
    checkDeadline(limits)
    const bytes = source.read(offset, Math.min(window + 4, end - offset))
    const stop = Math.min(window, bytes.length)
    for (let index = 0; index < stop; index++) {
      const place = offset + index
      if (place > at && bytes[index] === 0xff && mp3Frame(bytes, index) && frameAt(source, place, end, undefined)) return place
      if (bytes[index] !== 0) walk.junk++
    }
  }
  return -1
}
