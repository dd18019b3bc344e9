import {
  createInvalidVerdict,
  createMaliciousVerdict,
  createPartialVerdict,
  createValidVerdict,
  type FormatReader,
  type FormatVerdict,
  type ReaderLimits,
} from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { type Box, findBox, readBoxes } from './boxes.js'
import { checkTrack, readChildBoxes } from './mp4-track.js'

// Boxes that contain media or are required to play it. If one of them is truncated, the file is damaged.
const requiredBoxes = new Set(['ftyp', 'styp', 'moov', 'moof', 'mdat', 'sidx'])
const segmentStarts = new Set(['styp', 'moof', 'sidx', 'emsg', 'prft'])
const printable = /^[\x20-\x7e\xa9]{4}$/

interface TopLevelBoxes {
  boxes: Box[]
  notes: string[]
  cut?: string
}

interface Movie {
  problem?: string
  outsideProblem?: string
  declaredChunks: number
  presentChunks: number
}

/**
 * Checks the boxes, tracks and sample locations of MP4, M4A and QuickTime files. Accepts partly missing media data, because
 * players can play the rest.
 */
export const readMp4: FormatReader = (source, limits) => {
  const topLevel = readTopLevelBoxes(source, limits)
  if (!('boxes' in topLevel)) return topLevel
  const { boxes, notes } = topLevel
  const movie = boxes.find((box) => box.type === 'moov')
  const fragments = boxes.filter((box) => box.type === 'moof')
  const evidence: Record<string, unknown> = {
    boxes: [...new Set(boxes.map((box) => box.type))].slice(0, 20),
    fragments: fragments.length,
  }
  // A media segment of a stream has no movie header, because players receive the header separately.
  if (!movie && fragments.length > 0 && segmentStarts.has(boxes[0]?.type ?? '')) {
    if (topLevel.cut) return createInvalidVerdict(`the segment is truncated within its '${topLevel.cut}' box`, evidence)
    return createValidVerdict([...notes, 'the file is a stream segment, so only its structure was checked'], evidence)
  }
  if (!movie) return createInvalidVerdict('the file has no movie header (moov), so players cannot open it', evidence)
  if (findBox(source, limits, movie.start, movie.end, ['cmov']))
    return createValidVerdict([...notes, "the movie header is compressed, so only the file's structure was checked"], evidence)
  const found = checkMovie(source, limits, movie, evidence)
  if (found.problem) return createInvalidVerdict(found.problem, evidence)
  const media = boxes.filter((box) => box.type === 'mdat')
  if (fragments.length > 0 && media.length === 0)
    return createInvalidVerdict('the file is truncated: it has fragments (moof) without their data (mdat)', evidence)
  return createMovieVerdict({ source, topLevel, found, fragments, media, evidence })
}

function createMovieVerdict(movieFile: {
  source: RandomAccessSource
  topLevel: TopLevelBoxes
  found: Movie
  fragments: Box[]
  media: Box[]
  evidence: Record<string, unknown>
}): FormatVerdict {
  const { topLevel, found, fragments, media, evidence } = movieFile
  const { notes, cut } = topLevel
  if (!cut && !found.outsideProblem) return createValidVerdict(notes, evidence)
  const missing = cut ? `the file is truncated within its '${cut}' box` : `the file is truncated: ${found.outsideProblem}`
  const plays =
    found.declaredChunks > 0 ? found.presentChunks > 0 : fragments.some((each) => media.some((box) => box.start > each.start))
  if (!plays) return createInvalidVerdict(`${missing}, and all of its audio and video is missing`, evidence)
  // If all data boxes are intact, the samples outside them must have been removed on purpose. Players skip such samples, so the
  // file is valid.
  if (!cut && media.length > 0 && !media.some((box) => box.open))
    return createValidVerdict([...notes, `${found.outsideProblem}; players skip such samples`], evidence)
  return createPartialVerdict(missing, notes, evidence)
}

function readTopLevelBoxes(source: RandomAccessSource, limits: ReaderLimits): TopLevelBoxes | FormatVerdict {
  const boxes: Box[] = []
  const notes: string[] = []
  let headed = false
  for (const box of readBoxes(source, limits, 0, source.size)) {
    const quoted = printable.test(box.type)
    const fits = quoted && !box.cut
    if (!fits && boxes.length === 0 && !requiredBoxes.has(box.type))
      return createInvalidVerdict('the file does not start with an MP4 or QuickTime box')
    const missed = !fits && (requiredBoxes.has(box.type) || !isPlayable(boxes))
    if (missed && quoted && headed && box.type !== 'moov') {
      // Players can play truncated media data, but all other boxes must be complete.
      if (box.type === 'mdat') boxes.push(box)
      return { boxes, notes, cut: box.type }
    }
    if (missed)
      return createInvalidVerdict(
        box.cut && quoted
          ? `the file is truncated within its '${box.type}' box`
          : `after the '${boxes.at(-1)?.type}' box, there is data that is not a box`,
      )
    if (!fits) {
      notes.push('extra bytes follow the last complete box')
      break
    }
    if (boxes.length >= limits.maxEntries)
      return createMaliciousVerdict('box_flood', `the file has more than ${limits.maxEntries} boxes`)
    if (box.type === 'moov') headed = true
    boxes.push(box)
  }
  return boxes.length > 0 ? { boxes, notes } : createInvalidVerdict('the file is too short for an MP4 or QuickTime file')
}

const isPlayable = (boxes: Box[]) => boxes.some((box) => box.type === 'moov') && boxes.some((box) => box.type === 'mdat')

function checkMovie(source: RandomAccessSource, limits: ReaderLimits, movie: Box, evidence: Record<string, unknown>): Movie {
  const found: Movie = { declaredChunks: 0, presentChunks: 0 }
  const boxes = readChildBoxes(source, limits, movie)
  if (typeof boxes === 'string') return { ...found, problem: `the movie header (moov) is damaged: ${boxes}` }
  let tracks = 0
  for (const box of boxes.filter(({ type }) => type === 'trak')) {
    tracks++
    const track = checkTrack(source, limits, box)
    if (track.problem) return { ...found, problem: `track ${tracks} is damaged: ${track.problem}` }
    found.outsideProblem ??= track.outsideProblem
    found.declaredChunks += track.declaredChunks
    found.presentChunks += track.presentChunks
  }
  evidence.tracks = tracks
  if (!boxes.some(({ type }) => type === 'mvhd')) return { ...found, problem: 'the movie header (moov) contains no mvhd box' }
  return tracks === 0 ? { ...found, problem: 'the movie header (moov) contains no tracks' } : found
}
