import { broken, type FormatReader, type FormatVerdict, type ReaderLimits, type Source, sound, trapped } from './format.js'
import { type Box, boxesOf, findBox } from './media-boxes.js'
import { checkSamples, type SampleCheck } from './media-mp4-samples.js'

// Where one of these is cut off, something of the film is missing.
const needed = new Set(['ftyp', 'styp', 'moov', 'moof', 'mdat', 'sidx'])
const printable = /^[\x20-\x7e\xa9]{4}$/

/** MP4, M4A and QuickTime, fragmented ones too: boxes that fit, a movie header with tracks, and samples that lie inside the file. */
export const readMp4: FormatReader = (source, limits) => {
  const top = readTop(source, limits)
  if (!('boxes' in top)) return top
  const { boxes, notes } = top
  const movie = boxes.find((box) => box.type === 'moov')
  const fragments = boxes.filter((box) => box.type === 'moof').length
  const evidence: Record<string, unknown> = { boxes: [...new Set(boxes.map((box) => box.type))].slice(0, 20), fragments }
  if (!movie) return broken('has no movie header (moov): players cannot open it', evidence)
  if (findBox(source, limits, movie.start, movie.end, ['cmov']))
    return sound([...notes, 'its movie header is compressed: looked at its structure only'], evidence)
  const { fault, outside } = checkMovie(source, limits, movie, evidence)
  if (fault) return broken(fault, evidence)
  const media = boxes.filter((box) => box.type === 'mdat')
  if (fragments > 0 && media.length === 0)
    return broken('has fragments (moof) without their data (mdat): it is truncated', evidence)
  if (!outside) return sound(notes, evidence)
  // Data without a length of its own hides where it was cut. Data that is whole was thinned out on purpose: players open that.
  if (media.length === 0 || media.some((box) => box.open)) return broken(`${outside}: it is truncated`, evidence)
  return sound([...notes, `${outside}; players leave such samples out`], evidence)
}

function readTop(source: Source, limits: ReaderLimits): { boxes: Box[]; notes: string[] } | FormatVerdict {
  const boxes: Box[] = []
  const notes: string[] = []
  for (const box of boxesOf(source, limits, 0, source.size)) {
    const fits = printable.test(box.type) && !box.cut
    if (!fits && boxes.length === 0 && !needed.has(box.type))
      return broken('does not start with a box of an MP4 or QuickTime file')
    if (!fits && (needed.has(box.type) || !playable(boxes))) {
      return broken(
        box.cut && printable.test(box.type)
          ? `is truncated in its '${box.type}' box`
          : `after the '${boxes.at(-1)?.type}' box stands something that is no box`,
      )
    }
    if (!fits) {
      notes.push('bytes after the last whole box')
      break
    }
    if (boxes.length >= limits.maxEntries) return trapped('box_flood', `has more than ${limits.maxEntries} boxes`)
    boxes.push(box)
  }
  return boxes.length > 0 ? { boxes, notes } : broken('is too short for an MP4 or QuickTime file')
}

const playable = (boxes: Box[]) => boxes.some((box) => box.type === 'moov') && boxes.some((box) => box.type === 'mdat')

function checkMovie(source: Source, limits: ReaderLimits, movie: Box, evidence: Record<string, unknown>): SampleCheck {
  let tracks = 0
  let header = false
  let outside: string | undefined
  for (const box of boxesOf(source, limits, movie.start, movie.end)) {
    if (box.cut) return { fault: `its movie header is damaged: the '${shownType(box.type)}' box does not fit` }
    if (box.type === 'mvhd') header = true
    if (box.type !== 'trak') continue
    tracks++
    const track = checkTrack(source, limits, box)
    if (track.fault) return { fault: `track ${tracks} is damaged: ${track.fault}` }
    outside ??= track.outside
  }
  evidence.tracks = tracks
  if (!header) return { fault: 'its movie header has no general part (mvhd)' }
  return tracks === 0 ? { fault: 'has no tracks' } : { outside }
}

const shownType = (type: string) => type.replace(/[^ -~]/g, '?')

/** The boxes that lead from a track to its samples, and the samples. */
function checkTrack(source: Source, limits: ReaderLimits, track: Box): SampleCheck {
  let inside: Box = track
  for (const type of ['mdia', 'minf', 'stbl']) {
    const next = childOf(source, limits, inside, type)
    if (typeof next === 'string') return { fault: next }
    if (type === 'stbl' && refersElsewhere(source, limits, inside)) return {}
    inside = next
  }
  return checkSamples(source, limits, inside)
}

function childOf(source: Source, limits: ReaderLimits, parent: Box, type: string): Box | string {
  let found: Box | undefined
  for (const box of boxesOf(source, limits, parent.start, parent.end)) {
    if (box.cut && box.type !== '') return `the '${shownType(box.type)}' box does not fit into '${parent.type}'`
    if (box.cut) break
    if (box.type === type) found ??= box
  }
  return found ?? `it has no '${type}' box`
}

/** True where the samples are in another file: the data reference lacks the flag "in this file". */
function refersElsewhere(source: Source, limits: ReaderLimits, information: Box): boolean {
  const references = findBox(source, limits, information.start, information.end, ['dinf', 'dref'])
  if (!references) return false
  for (const box of boxesOf(source, limits, references.start + 8, references.end)) {
    const flags = source.read(box.start, 4)
    if (
      flags.length === 4 &&
      (flags.readUInt32BE(0) & 1) === 0 &&
      (box.type === 'url ' || box.type === 'urn ' || box.type === 'alis')
    )
      return true
  }
  return false
}
