import { createInvalidVerdict, type FormatReader } from '../format.js'
import { type Frame, readFrames } from './frames.js'
import { parseMp3Frame } from './mp3-frame.js'
import { findAudioEnd, findEndOfId3Tags } from './tags.js'

/** Checks MPEG audio, layers 1 to 3. */
export const readMp3: FormatReader = (source, limits) => {
  const start = findEndOfId3Tags(source)
  if (start >= source.size)
    return createInvalidVerdict(
      start > source.size ? 'the MP3 is truncated within its ID3 tag' : 'the MP3 contains no audio after its ID3 tag',
    )
  const end = findAudioEnd(source, start)
  const parseFrameAt = (offset: number, previous: Frame | undefined) => {
    const frame = parseMp3Frame(source.read(offset, 4), 0)
    if (!frame || (previous && frame.kind !== previous.kind)) return undefined
    // Four arbitrary bytes may look like a header, so the first frame counts only if another frame or the end of the file follows
    // it.
    if (previous || offset + frame.length >= end) return frame
    const following = parseMp3Frame(source.read(offset + frame.length, 4), 0)
    return following?.kind === frame.kind ? frame : undefined
  }
  return readFrames(source, limits, { formatName: 'MPEG sound', start, end, parseFrameAt, minRun: 3 })
}
