import { broken, checkDeadline, type FormatReader, type ReaderLimits, type Source, sound, trapped } from './format.js'

const id = { ebml: 0x1a45dfa3, docType: 0x4282, segment: 0x18538067, tracks: 0x1654ae6b, track: 0xae, cluster: 0x1f43b675 }

/** The large parts of a segment. Seeing one ends a cluster of unknown length. */
const parts = new Set([0x114d9b74, 0x1549a966, id.tracks, id.cluster, 0x1c53bb6b, 0x1941a469, 0x1043a770, 0x1254c367])

interface Element {
  id: number
  start: number
  /** Undefined: its length was not known when it was written (streams). */
  end?: number
}

/** WebM and Matroska: the EBML elements down to the blocks, all of them inside the file. Unknown lengths, as streams have them, pass. */
export const readWebm: FormatReader = (source, limits) => {
  const header = elementAt(source, 0)
  if (header?.id !== id.ebml || header.end === undefined)
    return broken('does not start with the header of a WebM or Matroska file')
  const type = docType(source, limits, header)
  if (type !== 'webm' && type !== 'matroska')
    return broken(`is an EBML file of type '${type.replace(/[^ -~]/g, '?').slice(0, 20)}', neither webm nor matroska`)
  let at = header.end
  // Readers skip what stands between the header and the segment (Void, CRC-32).
  for (let skipped = 0; skipped < 16; skipped++) {
    const element = elementAt(source, at)
    if (!element) return broken('has no segment: it is truncated')
    if (element.id === id.segment) return new SegmentWalk(source, limits, element).run()
    if (element.end === undefined || element.end > source.size) break
    at = element.end
  }
  return broken('has no segment: players cannot open it')
}

class SegmentWalk {
  private tracks = 0
  private clusters = 0
  private elements = 0
  private readonly end: number

  constructor(
    private readonly source: Source,
    private readonly limits: ReaderLimits,
    private readonly segment: Element,
  ) {
    this.end = Math.min(segment.end ?? source.size, source.size)
  }

  run() {
    const { segment, source } = this
    if (segment.end !== undefined && segment.end > source.size)
      return this.broken(`is truncated: ${source.size} of ${segment.end} bytes are there`)
    for (let at = segment.start; at < this.end; ) {
      const element = this.next(at, this.end)
      if (typeof element === 'string') return this.broken(element)
      if (element.id === id.tracks) this.tracks += this.countTracks(element)
      if (element.id === id.cluster) this.clusters++
      const inside = element.id === id.cluster ? this.walkCluster(element) : element.end
      if (typeof inside === 'string') return this.broken(inside)
      if (inside === undefined) return this.broken('an element of unknown length stands where none may')
      if (this.elements > this.limits.maxEntries * 100)
        return trapped('element_flood', `has more than ${this.limits.maxEntries * 100} elements`)
      at = inside
    }
    if (this.tracks === 0) return this.broken('has no tracks')
    const notes = this.clusters === 0 ? ['has no sound or picture in it'] : []
    if (this.end < source.size) notes.push(`${source.size - this.end} bytes after the end of the segment`)
    return sound(notes, this.facts())
  }

  private facts = () => ({ tracks: this.tracks, clusters: this.clusters })
  private broken = (problem: string) => broken(problem, this.facts())

  /** The element at `at`, which must fit before `end`. */
  private next(at: number, end: number): Element | string {
    if ((++this.elements & 255) === 1) checkDeadline(this.limits)
    const element = elementAt(this.source, at)
    if (!element)
      return at + 12 > end
        ? 'is cut off in the head of an element'
        : `is damaged: at byte ${at} stands something that is no element`
    if (element.end !== undefined && element.end > end) return `is damaged or truncated: the element at byte ${at} does not fit`
    return element
  }

  private countTracks(tracks: Element): number {
    let count = 0
    for (let at = tracks.start; at < (tracks.end ?? 0); ) {
      const element = this.next(at, tracks.end ?? 0)
      if (typeof element === 'string' || element.end === undefined) return count
      if (element.id === id.track) count++
      at = element.end
    }
    return count
  }

  /** Where the cluster ends: at its length, or before the next large part. */
  private walkCluster(cluster: Element): number | string {
    const end = cluster.end ?? this.end
    let at = cluster.start
    while (at < end) {
      const element = this.next(at, end)
      if (typeof element === 'string') return element
      if (cluster.end === undefined && parts.has(element.id)) return at
      if (element.end === undefined) return 'an element of unknown length stands where none may'
      at = element.end
    }
    return at
  }
}

function docType(source: Source, limits: ReaderLimits, header: Element): string {
  for (let at = header.start; at < (header.end ?? 0); ) {
    checkDeadline(limits)
    const element = elementAt(source, at)
    if (element?.end === undefined) return ''
    if (element.id === id.docType)
      return source
        .read(element.start, Math.min(element.end - element.start, 32))
        .toString('latin1')
        .replace(/\0+$/, '')
    at = element.end
  }
  // The specification's default.
  return 'matroska'
}

/** Id and length at `at`: numbers whose first byte tells, by its leading zeros, how long they are. */
function elementAt(source: Source, at: number): Element | undefined {
  const head = source.read(at, 12)
  const first = head[0]
  if (!first) return undefined
  const idLength = Math.clz32(first) - 23
  const second = head[idLength]
  if (idLength > 4 || !second) return undefined
  const sizeLength = Math.clz32(second) - 23
  if (head.length < idLength + sizeLength) return undefined
  let size = second & (0xff >> sizeLength)
  let unknown = size === 0xff >> sizeLength
  for (let index = 1; index < sizeLength; index++) {
    const byte = head[idLength + index] as number
    size = size * 256 + byte
    if (byte !== 0xff) unknown = false
  }
  const start = at + idLength + sizeLength
  return { id: head.readUIntBE(0, idLength), start, ...(unknown ? {} : { end: start + size }) }
}
