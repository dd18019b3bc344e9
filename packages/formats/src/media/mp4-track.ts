import type { ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { type Box, hasUndeclaredLength, readBoxes } from './boxes.js'
import { findCodecProblem } from './mp4-entries.js'
import { checkSamples, noSamples, type SampleCheck } from './mp4-samples.js'

export function checkTrack(source: RandomAccessSource, limits: ReaderLimits, track: Box): SampleCheck {
  let inside = readChildBoxes(source, limits, track)
  let kind = ''
  for (const type of ['mdia', 'minf', 'stbl']) {
    if (typeof inside === 'string') return { ...noSamples, problem: inside }
    const next = inside.find((box) => box.type === type)
    if (!next) return { ...noSamples, problem: `the '${type}' box is missing` }
    const handler = inside.find((box) => box.type === 'hdlr')
    if (type === 'minf' && handler) kind = source.read(handler.start + 8, 4).toString('latin1')
    inside = readChildBoxes(source, limits, next)
  }
  if (typeof inside === 'string') return { ...noSamples, problem: inside }
  const boxes = new Map(inside.toReversed().map((box) => [box.type, box]))
  const description = boxes.get('stsd')
  if (!description) return { ...noSamples, problem: 'the sample description box (stsd) is missing' }
  const samples = checkSamples(source, limits, boxes)
  const problem = samples.problem ?? findCodecProblem(source, limits, { description, kind, firstSample: samples.first })
  return problem ? { ...samples, problem } : samples
}

/** Returns the child boxes, or an error message if one does not fit into the parent. Trailing bytes are padding. */
export function readChildBoxes(source: RandomAccessSource, limits: ReaderLimits, parent: Box): Box[] | string {
  const boxes: Box[] = []
  for (const box of readBoxes(source, limits, parent.start, parent.end)) {
    if (box.cut && box.type === '') break
    if (box.cut || hasUndeclaredLength(box))
      return `the '${box.type.replace(/[^ -~]/g, '?')}' box does not fit into '${parent.type}'`
    boxes.push(box)
  }
  return boxes
}
