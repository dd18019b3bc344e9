import { broken, checkDeadline, type FormatVerdict, type ReaderLimits, sound } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'

/** A frame: properties that all frames of a stream share, and its length in bytes. */
export interface Frame {
  kind: number
  length: number
}

interface Stream {
  called: string
  start: number
  end: number
  frameAt(at: number, previous: Frame | undefined): Frame | undefined
  /** This many consecutive frames are not a coincidence, whatever surrounds them, for example a damaged tag with an image. */
  enough: number
}

/** Checks audio that consists of frames. Players skip other bytes, so it is rejected only if it contains almost no frames. */
export function readFrames(source: RandomAccessSource, limits: ReaderLimits, stream: Stream): FormatVerdict {
  const { called, start, end, frameAt, enough } = stream
  let [frames, framed, junk, run, maxRun] = [0, 0, 0, 0, 0]
  let cut = false
  let previous: Frame | undefined
  for (let at = start, steps = 0; at < end && !cut; steps++) {
    if ((steps & 255) === 0) checkDeadline(limits)
    const frame = frameAt(at, previous)
    if (frame) {
      cut = at + frame.length > end
      framed += Math.min(frame.length, end - at)
      if (!cut) frames++
      maxRun = Math.max(maxRun, ++run)
      at += frame.length
    } else {
      run = 0
      // Every frame begins with the byte 255.
      const bytes = source.read(at, Math.min(64 * 1024, end - at))
      const found = bytes.indexOf(0xff, 1)
      const skipped = found < 0 ? bytes : bytes.subarray(0, found)
      junk += skipped.length - skipped.filter((byte) => byte === 0).length
      at += skipped.length
    }
    previous = frame
  }
  const evidence = { frames, junk_bytes: junk }
  const lonely = frames === 1 && framed < (end - start) / 2
  if (frames === 0 || lonely || (maxRun < enough && junk > framed))
    return broken(`it contains no consecutive ${called} frames`, evidence)
  const notes = cut ? ['its last frame is truncated; players skip it'] : []
  return sound(junk > 0 ? [...notes, `${junk} bytes between the frames; players skip them`] : notes, evidence)
}
