import { checkDeadline, type ReaderLimits, type Source } from '../format.js'
import { readDictionary, readObject } from './dictionary.js'
import { namesRoot, xrefStreamNamesRoot } from './xref-stream.js'

/** Readers search for the start of the cross-reference from the end; the widest of them this far, bytes after the end included. */
const tailWindow = 32 * 1024
/** Where a linearized file keeps its first section, behind the first object. */
const headWindow = 1024
/** A trailer is looked at this far for its root. */
const trailerWindow = 16 * 1024
/** Words that could be trailers; beyond that they are believed to hold one. */
const mostTrailers = 200
const [dictionarySign, commentSign] = Buffer.from('<%')

/**
 * True where the document's root is named where the usual readers look for it: in the first cross-reference stream, or in a
 * trailer, wherever it stands. A wrong cross-reference table is repaired from its trailer; for a cross-reference stream
 * that is damaged there is nothing to repair it from, except guesses, which only some readers make.
 */
export function rootCanBeFound(source: Source, headerAt: number, limits: ReaderLimits): boolean {
  const tail = Buffer.from(source.read(Math.max(0, source.size - tailWindow), tailWindow))
  const search = new TrailerSearch(limits)
  if (search.in(tail)) return true
  const starts = new Set([0, headerAt].flatMap((offset) => sectionStarts(source, tail, headerAt, offset)))
  return [...starts].some((start) => xrefStreamNamesRoot(source, start)) || search.everywhere(source)
}

/** The last startxref, and the first section of a linearized file. */
function sectionStarts(source: Source, tail: Buffer, headerAt: number, offset: number): number[] {
  const last = [...tail.toString('latin1').matchAll(/startxref\s*(\d{1,15})/g)].at(-1)
  const starts = last ? [Number(last[1]) + offset] : []
  const head = source.read(headerAt, headWindow).toString('latin1')
  const first = readObject(head, 0)
  if (first?.dictionary.has('Linearized')) starts.push(headerAt + head.indexOf('endobj', first.end) + 'endobj'.length)
  return starts
}

class TrailerSearch {
  private tried = 0

  constructor(private readonly limits: ReaderLimits) {}

  everywhere(source: Source): boolean {
    let end = Buffer.alloc(0)
    for (const chunk of source.chunks()) {
      checkDeadline(this.limits)
      const window = Buffer.concat([end, chunk])
      if (this.in(window)) return true
      end = window.subarray(-trailerWindow)
    }
    return false
  }

  in(bytes: Buffer): boolean {
    for (let at = bytes.indexOf('trailer'); at >= 0; at = bytes.indexOf('trailer', at + 1)) {
      const start = passSpace(bytes, at + 'trailer'.length)
      if (bytes[start] !== dictionarySign && bytes[start] !== commentSign) continue
      const trailer = readDictionary(bytes.toString('latin1', start, at + trailerWindow), 0)
      if ((trailer && namesRoot(trailer.dictionary)) || ++this.tried > mostTrailers) return true
    }
    return false
  }
}

function passSpace(bytes: Buffer, start: number): number {
  let at = start
  while (at < bytes.length && (bytes[at] as number) <= 0x20) at++
  return at
}
