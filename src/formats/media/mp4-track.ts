import type { ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { type Box, boxesOf, findBox, isEndless } from './boxes.js'
import { checkContent } from './mp4-content.js'
import { codingOf } from './mp4-entries.js'
import { checkSamples, noSamples, type SampleCheck, tableBoxes } from './mp4-samples.js'

/** The boxes that lead from a track (trak) to its samples, how these are coded, where they lie, and a look into some of them. */
export function checkTrack(source: RandomAccessSource, limits: ReaderLimits, track: Box): SampleCheck {
  let inside: Box = track
  let kind = ''
  for (const type of ['mdia', 'minf', 'stbl']) {
    const next = childOf(source, limits, inside, type)
    if (typeof next === 'string') return { ...noSamples, fault: next }
    if (type === 'minf') {
      kind = handlerOf(source, limits, inside)
      if (headerVersion(source, limits, inside) > 1) return { ...noSamples, fault: 'its general part (mdhd) is damaged' }
    }
    if (type === 'stbl' && refersElsewhere(source, limits, inside)) return noSamples
    inside = next
  }
  const boxes = tableBoxes(source, limits, inside)
  if (typeof boxes === 'string') return { ...noSamples, fault: boxes }
  const samples = checkSamples(source, limits, boxes)
  if (samples.fault) return samples
  const coding = codingOf(source, limits, boxes.get('stsd') as Box, kind)
  if (typeof coding === 'string') return { ...samples, fault: coding }
  const fault = checkContent(source, limits, coding, samples.places)
  return fault ? { ...samples, fault } : samples
}

/** What a track is for: `vide`, `soun` or another four characters. */
function handlerOf(source: RandomAccessSource, limits: ReaderLimits, media: Box): string {
  const handler = findBox(source, limits, media.start, media.end, ['hdlr'])
  return handler ? source.read(handler.start + 8, 4).toString('latin1') : ''
}

/** ISO 14496-12 knows the versions 0 and 1 of the media header. */
function headerVersion(source: RandomAccessSource, limits: ReaderLimits, media: Box): number {
  const header = findBox(source, limits, media.start, media.end, ['mdhd'])
  return (header && source.read(header.start, 1)[0]) ?? 0
}

function childOf(source: RandomAccessSource, limits: ReaderLimits, parent: Box, type: string): Box | string {
  let found: Box | undefined
  for (const box of boxesOf(source, limits, parent.start, parent.end)) {
    if ((box.cut && box.type !== '') || isEndless(box))
      return `the '${box.type.replace(/[^ -~]/g, '?')}' box does not fit into '${parent.type}'`
    if (box.cut) break
    if (box.type === type) found ??= box
  }
  return found ?? `it has no '${type}' box`
}

/** True where the samples are in another file: the data reference lacks the flag "in this file". */
function refersElsewhere(source: RandomAccessSource, limits: ReaderLimits, information: Box): boolean {
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
