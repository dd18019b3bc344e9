import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { type Element, readElement } from './ebml.js'

const id = { track: 0xae, number: 0xd7 }

export function readTrackNumbers(source: RandomAccessSource, limits: ReaderLimits, tracks: Element): Set<number> | string {
  const numbers = new Set<number>()
  for (const element of readElements(source, limits, tracks)) {
    if (typeof element === 'string') return element
    if (element.id !== id.track) continue
    const number = readTrackNumber(source, limits, element)
    if (typeof number === 'string') return number
    if (number > 0 && numbers.size < limits.maxEntries) numbers.add(number)
  }
  return numbers.size > 0 ? numbers : 'the file has no tracks'
}

function readTrackNumber(source: RandomAccessSource, limits: ReaderLimits, track: Element): number | string {
  let number = 0
  for (const part of readElements(source, limits, track)) {
    if (typeof part === 'string') return part
    const length = (part.end ?? part.start) - part.start
    if (part.id === id.number && length <= 6 && length > 0) number = source.read(part.start, length).readUIntBE(0, length)
  }
  return number
}

export function* readElements(source: RandomAccessSource, limits: ReaderLimits, parent: Element): Generator<Element | string> {
  const end = parent.end ?? parent.start
  for (let at = parent.start; at < end; ) {
    checkDeadline(limits)
    const element = readElement(source, at)
    if (element?.end === undefined || element.end > end) {
      yield `the file is damaged: the element at byte ${at} does not fit into the tracks`
      return
    }
    yield element
    at = element.end
  }
}
