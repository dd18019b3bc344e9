import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { type Element, elementAt } from './ebml.js'

const id = { track: 0xae, number: 0xd7, type: 0x83, codec: 0x86, private: 0x63a2, encodings: 0x6d80 }

interface Track {
  number: number
  codec: string
  setup: Buffer
  encoded: boolean
}

// Required content of CodecPrivate. Opus works without it.
const setups: Record<string, (bytes: Buffer) => boolean> = {
  A_OPUS: (bytes) => bytes.length === 0 || bytes.toString('latin1', 0, 8) === 'OpusHead',
  A_VORBIS: (bytes) => bytes[0] === 2 && bytes.includes('vorbis', 0, 'latin1'),
  V_THEORA: (bytes) => bytes[0] === 2 && bytes.includes('theora', 0, 'latin1'),
  'V_MPEG4/ISO/AVC': (bytes) => bytes.length >= 7 && bytes[0] === 1,
  'V_MPEGH/ISO/HEVC': (bytes) => bytes.length >= 22,
}

export function playableTracks(source: RandomAccessSource, limits: ReaderLimits, tracks: Element): Set<number> | string {
  const numbers = new Set<number>()
  let problem = 'it has no tracks'
  for (const element of readElements(source, limits, tracks)) {
    if (typeof element === 'string') return element
    if (element.id !== id.track) continue
    const track = readTrack(source, limits, element)
    if (typeof track === 'string') return track
    const trackProblem = findTrackProblem(track)
    if (trackProblem) problem = trackProblem
    else if (numbers.size < limits.maxEntries) numbers.add(track.number)
  }
  return numbers.size > 0 ? numbers : problem
}

function findTrackProblem(track: Track): string | undefined {
  if (track.number === 0) return 'it has a track without a number'
  if (!/^[ABDSV]_[\x21-\x7e /]{2,}$/.test(track.codec)) return 'it has a track without a CodecID'
  const fits = setups[track.codec]
  if (fits && !track.encoded && !fits(track.setup))
    return `it has a ${track.codec} track without CodecPrivate, which the decoder requires`
  return undefined
}

function readTrack(source: RandomAccessSource, limits: ReaderLimits, element: Element): Track | string {
  const track: Track = { number: 0, codec: '', setup: Buffer.alloc(0), encoded: false }
  for (const part of readElements(source, limits, element)) {
    if (typeof part === 'string') return part
    const length = (part.end ?? part.start) - part.start
    const bytes = () => source.read(part.start, Math.min(length, 65_536))
    if (part.id === id.number && length <= 6 && length > 0) track.number = bytes().readUIntBE(0, length)
    if (part.id === id.codec) track.codec = bytes().toString('latin1').replace(/\0+$/, '')
    if (part.id === id.private) track.setup = bytes()
    if (part.id === id.encodings) track.encoded = true
  }
  return track
}

export function* readElements(source: RandomAccessSource, limits: ReaderLimits, parent: Element): Generator<Element | string> {
  const end = parent.end ?? parent.start
  for (let at = parent.start; at < end; ) {
    checkDeadline(limits)
    const element = elementAt(source, at)
    if (element?.end === undefined || element.end > end) {
      yield `it is damaged: the element at byte ${at} does not fit into the tracks`
      return
    }
    yield element
    at = element.end
  }
}
