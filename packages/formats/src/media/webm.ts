import {
  checkDeadline,
  createInvalidVerdict,
  createMaliciousVerdict,
  createPartialVerdict,
  createValidVerdict,
  type FormatReader,
  type FormatVerdict,
  type ReaderLimits,
} from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { type Element, readElement, readVint } from './ebml.js'
import { readElements, readTrackNumbers } from './webm-tracks.js'

const id = {
  ebml: 0x1a45dfa3,
  readVersion: 0x42f7,
  docType: 0x4282,
  segment: 0x18538067,
  tracks: 0x1654ae6b,
  cluster: 0x1f43b675,
  group: 0xa0,
  block: 0xa1,
  simpleBlock: 0xa3,
}

/** Ids of a segment's top-level elements. They end a cluster of unknown length, and players resume at them after damage. */
const topLevelIds = new Set([0x114d9b74, 0x1549a966, id.tracks, id.cluster, 0x1c53bb6b, 0x1941a469, 0x1043a770, 0x1254c367])

/** Checks the tracks and the blocks of a WebM or Matroska file. Accepts unknown lengths, which streams use. */
export const readWebm: FormatReader = (source, limits) => {
  const header = readElement(source, 0)
  if (header?.id !== id.ebml || header.end === undefined)
    return createInvalidVerdict('the file does not start with the header of a WebM or Matroska file')
  const { type, readVersion } = readHeader(source, limits, header)
  if (type !== 'webm' && type !== 'matroska')
    return createInvalidVerdict(
      `the file is an EBML file of type '${type.replace(/[^ -~]/g, '?').slice(0, 20)}', neither webm nor matroska`,
    )
  if (readVersion > 1) return createInvalidVerdict(`the file uses EBML version ${readVersion}, which players do not support`)
  let at = header.end
  for (let skipped = 0; skipped < 16; skipped++) {
    const element = readElement(source, at)
    if (!element) return createInvalidVerdict('the file is truncated: it has no segment')
    if (element.id === id.segment) return new SegmentWalker(source, limits, element).checkSegment()
    if (element.end === undefined || element.end > source.size) break
    at = element.end
  }
  return createInvalidVerdict('the file has no segment, so players cannot open it')
}

function readHeader(source: RandomAccessSource, limits: ReaderLimits, header: Element): { type: string; readVersion: number } {
  const found = { type: '', readVersion: 1 }
  for (let at = header.start; at < (header.end ?? 0); ) {
    checkDeadline(limits)
    const element = readElement(source, at)
    if (element?.end === undefined) break
    const bytes = source.read(element.start, Math.min(element.end - element.start, 32))
    if (element.id === id.docType) found.type = bytes.toString('latin1').replace(/\0+$/, '')
    if (element.id === id.readVersion && bytes.length > 0) found.readVersion = bytes.readUIntBE(0, Math.min(bytes.length, 6))
    at = element.end
  }
  return found
}

class SegmentWalker {
  private tracks: Set<number> | undefined
  private trackProblem: string | undefined
  private clusters = 0
  private blocks = 0
  private elements = 0
  private played = 0
  private lost = 0
  private damage: string | undefined
  private readonly end: number

  constructor(
    private readonly source: RandomAccessSource,
    private readonly limits: ReaderLimits,
    private readonly segment: Element,
  ) {
    this.end = Math.min(segment.end ?? source.size, source.size)
  }

  checkSegment(): FormatVerdict {
    for (let at = this.segment.start; at < this.end; ) {
      const next = this.readTopLevelElement(at)
      if (this.hasTooManyElements())
        return createMaliciousVerdict(
          'element_flood',
          `the file has more than ${this.limits.maxEntries * 100} elements`,
          this.facts(),
        )
      if (typeof next === 'number') {
        at = next
        continue
      }
      this.damage ??= next.problem
      const found = this.findNextTopLevelElement(next.at)
      this.lost += found - next.at
      at = found
    }
    return this.createVerdict()
  }

  private createVerdict(): FormatVerdict {
    const { segment, source, damage } = this
    const cut = segment.end !== undefined && segment.end > source.size
    const missing = cut ? `the file is truncated: it has ${source.size} of ${segment.end} bytes` : damage
    if (!this.tracks)
      return createInvalidVerdict(
        this.trackProblem ?? (missing ? `${missing}; it has no tracks` : 'the file has no tracks'),
        this.facts(),
      )
    if (missing && this.blocks === 0)
      return createInvalidVerdict(`${missing}, and all of its audio and video is missing`, this.facts())
    if (this.clusters > 0 && this.blocks === 0)
      return createInvalidVerdict('no audio or video block in the file belongs to a track', this.facts())
    if (this.lost > this.played)
      return createInvalidVerdict(`${missing}, and most of its audio and video is missing`, this.facts())
    const notes = this.clusters === 0 ? ['the file contains neither audio nor video'] : []
    if (this.end < source.size) notes.push(`${source.size - this.end} bytes follow the end of the segment`)
    return missing ? createPartialVerdict(missing, notes, this.facts()) : createValidVerdict(notes, this.facts())
  }

  private hasTooManyElements = () => this.elements > this.limits.maxEntries * 100
  private facts = () => ({ tracks: this.tracks?.size ?? 0, clusters: this.clusters, blocks: this.blocks })

  private readTopLevelElement(offset: number): number | { problem: string; at: number } {
    const element = this.readNextElement(offset, this.end)
    if (typeof element === 'string') return { problem: element, at: offset }
    if (element.id === id.cluster) {
      this.clusters++
      return this.walkCluster(element)
    }
    if (element.end === undefined)
      return {
        problem: 'the file is damaged: the length of an element is unknown, but its type requires a known length',
        at: offset,
      }
    if (element.id === id.tracks && !this.tracks) {
      const tracks = readTrackNumbers(this.source, this.limits, element)
      if (typeof tracks === 'string') this.trackProblem ??= tracks
      else this.tracks = tracks
    }
    return element.end
  }

  private readNextElement(offset: number, end: number): Element | string {
    if ((++this.elements & 255) === 1) checkDeadline(this.limits)
    const element = readElement(this.source, offset)
    if (!element)
      return offset + 12 > end
        ? 'the file is truncated within an element header'
        : `the file is damaged: there is no valid element at byte ${offset}`
    const fits = element.end === undefined || element.end <= end
    // A cluster that is truncated at the end of the file is still playable, so it is not an error.
    if (!fits && element.id !== id.cluster) return `the file is damaged or truncated: the element at byte ${offset} does not fit`
    return element
  }

  private walkCluster(cluster: Element): number | { problem: string; at: number } {
    const end = Math.min(cluster.end ?? this.end, this.end)
    let at = cluster.start
    while (at < end && !this.hasTooManyElements()) {
      const element = this.readNextElement(at, end)
      if (typeof element === 'string') return { problem: element, at }
      if (cluster.end === undefined && topLevelIds.has(element.id)) return at
      if (element.end === undefined)
        return { problem: 'the file is damaged: the length of an element is unknown, but its type requires a known length', at }
      this.countBlock(element)
      at = element.end
    }
    return (cluster.end ?? end) > this.end
      ? { problem: 'the file is damaged or truncated: the last cluster extends beyond the segment', at }
      : at
  }

  private countBlock(element: Element): void {
    const block = element.id === id.group ? this.findBlock(element) : element
    if (block?.end === undefined || (block.id !== id.simpleBlock && block.id !== id.block)) return
    const number = readVint(this.source.read(block.start, 4), 0)
    // The track list may follow the clusters, so the track number can be checked only if the list was already read.
    if (!number || (this.tracks && !this.tracks.has(number.value))) return
    this.blocks++
    this.played += block.end - block.start
  }

  private findBlock(group: Element): Element | undefined {
    for (const element of readElements(this.source, this.limits, group))
      if (typeof element !== 'string' && element.id === id.block) return element
    return undefined
  }

  private findNextTopLevelElement(from: number): number {
    const window = 4096
    for (let offset = from + 1; offset < this.end; offset += window) {
      checkDeadline(this.limits)
      const bytes = this.source.read(offset, Math.min(window + 4, this.end - offset))
      for (let index = 0; index + 4 <= bytes.length && index < window; index++)
        if ((bytes[index] as number) < 0x20 && (bytes[index] as number) >= 0x10 && topLevelIds.has(bytes.readUInt32BE(index)))
          return offset + index
    }
    return this.end
  }
}
