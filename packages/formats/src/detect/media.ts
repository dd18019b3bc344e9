import type { ReaderLimits } from '../format.js'
import { parseAdtsFrame } from '../media/aac.js'
import { type Box, findBox, readBoxes } from '../media/boxes.js'
import { parseMp3Frame } from '../media/mp3-frame.js'
import { findEndOfId3Tags } from '../media/tags.js'
import type { RandomAccessSource } from '../random-access-source.js'

const iso3gp = /^(3g|kddi|mmp4)/
const stillBrands: [type: string, brands: RegExp][] = [
  ['avif', /^(avif|avis|MA1A|MA1B)$/],
  ['heic', /^(heic|heix|heim|heis|hevc|hevx|hevm|hevs|mif1|mif2|msf1)$/],
]

/** Returns the type of an ISO base media file (mp4, m4a, mov, 3gp, avif, heic) based on its brands and tracks. */
export function detectIsoMediaType(source: RandomAccessSource, limits: ReaderLimits): string | undefined {
  const head = source.read(0, 16)
  const first = head.toString('latin1', 4, 8)
  if (first !== 'ftyp')
    return first === 'styp' || first === 'moof' || first === 'sidx'
      ? 'mp4'
      : hasPlausibleBoxSize(source, head)
        ? 'mov'
        : undefined
  const box = source.read(8, Math.min(256, Math.max(0, head.readUInt32BE(0) - 8)))
  const brands = [0, ...Array.from({ length: Math.max(0, Math.floor(box.length / 4) - 2) }, (_, index) => 8 + index * 4)].map(
    (at) => box.toString('latin1', at, at + 4),
  )
  return detectTypeByBrands(brands) ?? detectTypeByTracks(source, limits)
}

// Rejects text such as "Buy free stuff", whose first four bytes would be a box length beyond the end of the file.
const hasPlausibleBoxSize = (source: RandomAccessSource, head: Buffer): boolean =>
  head[0]! < 9 || head.readUInt32BE(0) <= source.size

function detectTypeByBrands(brands: string[]): string | undefined {
  const major = brands[0] ?? ''
  const rest = brands.slice(1)
  for (const [type, pattern] of stillBrands) {
    if (!pattern.test(major)) continue
    // The brand `mif1` only states that the file is an image, so a compatible brand determines the format.
    return type === 'heic' && !/^he/.test(major) && rest.some((brand) => stillBrands[0]![1].test(brand)) ? 'avif' : type
  }
  if (major === 'crx ') return 'cr3'
  if (major === 'qt  ') return rest.some((brand) => /^(mp4[12]|isom|iso\d|avc1)$/.test(brand)) ? 'mov-mp4' : 'mov'
  if (/^M4[ABP] $/.test(major)) return 'm4a'
  if (iso3gp.test(major)) return '3gp'
  return rest.includes('qt  ') ? 'mov-mp4' : undefined
}

function detectTypeByTracks(source: RandomAccessSource, limits: ReaderLimits): string {
  const moov = findBox(source, limits, 0, source.size, ['moov'])
  const handlers = moov ? getTrackTypes(source, limits, moov) : []
  if (handlers.length === 0) return 'iso-damaged'
  return handlers.includes('soun') && !handlers.includes('vide') ? 'mp4-audio' : 'mp4'
}

function getTrackTypes(source: RandomAccessSource, limits: ReaderLimits, moov: Box): string[] {
  const handlers: string[] = []
  for (const track of readBoxes(source, limits, moov.start, moov.end)) {
    if (track.type !== 'trak' || handlers.length > 100) continue
    const handler = findBox(source, limits, track.start, track.end, ['mdia', 'hdlr'])
    const kind = handler && source.read(handler.start + 8, 4).toString('latin1')
    if (kind) handlers.push(kind === 'vide' && isSlideshowTrack(source, limits, track) ? 'slides' : kind)
  }
  return handlers
}

function isSlideshowTrack(source: RandomAccessSource, limits: ReaderLimits, track: Box): boolean {
  const samples = findBox(source, limits, track.start, track.end, ['mdia', 'minf', 'stbl', 'stsd'])
  return samples !== undefined && ['jpeg', 'png '].includes(source.read(samples.start + 12, 4).toString('latin1'))
}

const maxSearchedBytes = 256 * 1024
const minFrames = 4

export function isMpegAudio(source: RandomAccessSource): boolean {
  const start = Math.min(findEndOfId3Tags(source), source.size)
  const bytes = source.read(start, maxSearchedBytes)
  const last = start > 0 ? bytes.length : Math.min(bytes.length, 16_384)
  for (let at = bytes.indexOf(0xff); at >= 0 && at < last; at = bytes.indexOf(0xff, at + 1))
    if (countFrames(bytes, at) >= minFrames) return true
  return bytes.length < 4096 && countFrames(bytes, 0) >= 2
}

function countFrames(bytes: Buffer, start: number): number {
  let count = 0
  let kind: number | undefined
  for (let at = start; count < minFrames; count++) {
    const frame = parseMp3Frame(bytes, at)
    if (!frame || (kind !== undefined && frame.kind !== kind)) break
    kind = frame.kind
    at += frame.length
  }
  return count
}

export function hasId3Tag(source: RandomAccessSource): boolean {
  const head = source.read(0, 10)
  return (
    head.length === 10 && head.toString('latin1', 0, 3) === 'ID3' && head[3]! < 5 && head.subarray(6).every((byte) => byte < 128)
  )
}

export function isAdtsStream(source: RandomAccessSource): boolean {
  const start = Math.min(findEndOfId3Tags(source), source.size)
  const bytes = source.read(start, 64 * 1024)
  let at = 0
  for (let count = 0; count < 3; count++) {
    if (count > 0 && start + at === source.size) return true
    const frame = parseAdtsFrame(bytes, at)
    if (!frame) return false
    at += frame.length
  }
  return true
}
