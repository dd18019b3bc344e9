import {
  checkDeadline,
  createInvalidVerdict,
  createPartialVerdict,
  createValidVerdict,
  type FormatReader,
  type FormatVerdict,
  type ReaderLimits,
} from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { findNextPage, type Page, readPage } from './ogg-page.js'
import { findEndOfId3Tags } from './tags.js'

interface Codec {
  name: string
  /** Pattern for the start of the first page of a stream. */
  first: RegExp
  /** Pattern for the start of the second page. Undefined if it varies. */
  second?: RegExp
  /** Number of header packets. Undefined if it varies. */
  headers?: number
}

const codecs: Codec[] = [
  { name: 'vorbis', first: /^\x01vorbis/, second: /^\x03vorbis/, headers: 3 },
  { name: 'opus', first: /^OpusHead/, second: /^OpusTags/, headers: 2 },
  { name: 'speex', first: /^Speex {3}/, headers: 2 },
  { name: 'flac', first: /^\x7fFLAC/ },
  { name: 'theora', first: /^\x80theora/, second: /^\x81theora/, headers: 3 },
  { name: 'skeleton', first: /^fishead/ },
]
const maxStreams = 1000

/** Checks an Ogg file. The headers must be intact. Like players, skips damaged pages if most pages are intact. */
export const readOgg: FormatReader = (source, limits) => new PageWalker(source, limits).checkPages()

function findEndOfZeroBytes(source: RandomAccessSource, offset: number): number {
  const zeros = source.read(offset, 64 * 1024)
  const end = zeros.findIndex((byte) => byte !== 0)
  return offset + (end < 0 ? zeros.length : end)
}

class PageWalker {
  private readonly streams: string[] = []
  private readonly awaited = new Map<number, RegExp | undefined>()
  private readonly known = new Map<number, number>()
  private pages = 0
  private bodies = 0
  private played = 0
  private ended = false
  private good = 0
  private lost = 0
  private damage: string | undefined

  constructor(
    private readonly source: RandomAccessSource,
    private readonly limits: ReaderLimits,
  ) {}

  checkPages(): FormatVerdict {
    const { source, limits } = this
    for (let at = findEndOfId3Tags(source); at < source.size; ) {
      checkDeadline(limits)
      const page = readPage(source, limits, at)
      if (typeof page !== 'string') {
        const problem = this.checkPage(page)
        if (problem) return createInvalidVerdict(problem, this.facts())
        at += page.length
        continue
      }
      const padded = this.pages > 0 && page === 'no page' ? findEndOfZeroBytes(source, at) : at
      if (padded > at) {
        at = padded
        continue
      }
      if (this.pages === 0) return createInvalidVerdict('the file does not start with an Ogg page', this.facts())
      if (this.played === 0) return createInvalidVerdict(`the Ogg is damaged after page ${this.pages}: ${page}`, this.facts())
      const next = findNextPage(source, limits, at)
      if (next < 0 && this.ended && page === 'no page')
        return this.createVerdict([`${source.size - at} bytes follow the last page`])
      const end = next < 0 ? source.size : next
      // A page that is truncated at the end of the file does not count as damaged data.
      if (page !== 'truncated' || next >= 0) this.lost += end - at
      this.damage ??=
        page === 'truncated' && next < 0
          ? 'the file is truncated within its last page'
          : `the file is damaged after page ${this.pages}`
      at = end
    }
    return this.createVerdict([])
  }

  private checkPage(page: Page): string | undefined {
    if (this.pages === 0 && !page.first) return 'the Ogg does not start with the first page of a stream'
    if (page.first) this.openStream(page)
    else {
      this.bodies++
      if (this.played === 0 && !this.known.has(page.serial) && this.known.size < maxStreams)
        return `the Ogg has pages of stream ${page.serial} before that stream starts`
      const second = this.awaited.get(page.serial)
      if (second && !second.test(page.start))
        return `the Ogg lacks a header of its ${this.streams[0]} stream, so players cannot open it`
      this.awaited.delete(page.serial)
    }
    const missing = (this.known.get(page.serial) ?? Number.POSITIVE_INFINITY) - page.packets
    if (this.known.has(page.serial)) this.known.set(page.serial, missing)
    if (page.hasPosition || missing < 0) this.played++
    this.ended = page.last
    this.pages++
    this.good += page.length
    return undefined
  }

  private openStream(page: Page): void {
    const codec = codecs.find(({ first }) => first.test(page.start))
    if (this.streams.length < 64) this.streams.push(codec?.name ?? 'unknown')
    if (this.known.size >= maxStreams) return
    this.known.set(page.serial, codec?.headers ?? Number.POSITIVE_INFINITY)
    this.awaited.set(page.serial, codec?.second)
  }

  private facts = () => ({ streams: [...new Set(this.streams)], pages: this.pages })

  private createVerdict(notes: string[]): FormatVerdict {
    if (this.bodies === 0 || (this.played === 0 && !this.ended))
      return createInvalidVerdict('the Ogg is truncated before its audio', this.facts())
    if (this.lost > this.good)
      return createInvalidVerdict(`the Ogg is damaged: ${this.lost} bytes do not belong to any page`, this.facts())
    if (this.damage) return createPartialVerdict(this.damage, notes, this.facts())
    return createValidVerdict(this.ended ? notes : [...notes, 'the end marker is missing, which players tolerate'], this.facts())
  }
}
