import { checkDeadline, createInvalidVerdict, createValidVerdict, type FormatVerdict, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'

/** Audio frame. `kind` encodes the properties that all frames of a stream share. `length` is in bytes. */
export interface Frame {
  kind: number
  length: number
}

interface FrameStream {
  formatName: string
  start: number
  end: number
  parseFrameAt(offset: number, previous: Frame | undefined): Frame | undefined
  /**
   * Minimum number of consecutive frames that identifies the format, even if the file contains other bytes, such as a damaged
   * tag.
   */
  minRun: number
}

/**
 * Checks audio frames. Players skip all other bytes, so a file is rejected only if almost none of its bytes belong to frames.
 */
export function readFrames(source: RandomAccessSource, limits: ReaderLimits, stream: FrameStream): FormatVerdict {
  const { formatName, start, end, parseFrameAt, minRun } = stream
  let [frames, framed, junk, run, maxRun] = [0, 0, 0, 0, 0]
  let cut = false
  let previous: Frame | undefined
  for (let at = start, steps = 0; at < end && !cut; steps++) {
    if ((steps & 255) === 0) checkDeadline(limits)
    const frame = parseFrameAt(at, previous)
    if (frame) {
      cut = at + frame.length > end
      framed += Math.min(frame.length, end - at)
      if (!cut) frames++
      maxRun = Math.max(maxRun, ++run)
      at += frame.length
    } else {
      run = 0
      // Every frame starts with the byte 0xff.
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
  if (frames === 0 || lonely || (maxRun < minRun && junk > framed))
    return createInvalidVerdict(`the file contains no consecutive ${formatName} frames`, evidence)
  const notes = cut ? ['the last frame is truncated, and players skip it'] : []
  return createValidVerdict(
    junk > 0 ? [...notes, `the file has ${junk} stray bytes between frames, which players skip`] : notes,
    evidence,
  )
}
