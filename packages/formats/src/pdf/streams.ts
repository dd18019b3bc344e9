import type { RandomAccessSource } from '../random-access-source.js'

export interface PdfStream {
  number: number
  generation: number
  dictionary: string
  filters: string[]
  start: number
  end: number
}

const keyword = Buffer.from('stream')
const endKeyword = Buffer.from('endstream')
const windowBytes = 1024 * 1024
const maxDictionaryBytes = 4 * 1024

/**
 * Yields all streams in file order, even if the cross-reference table does not list them, because readers repair damaged tables.
 * Calls `step` between reads.
 */
export function* findStreams(source: RandomAccessSource, step: () => void): Generator<PdfStream> {
  const ends = new StreamEndFinder(source)
  for (let at = 0; at < source.size; ) {
    step()
    const bytes = source.read(at, windowBytes)
    // Search the data of streams too. If it were skipped, a fake `stream` keyword in a string could hide the next stream.
    for (let found = bytes.indexOf(keyword); found >= 0; found = bytes.indexOf(keyword, found + keyword.length)) {
      const stream = readStream(source, at + found, ends)
      if (stream) yield stream
    }
    at += Math.max(1, bytes.length - keyword.length + 1)
  }
}

function readStream(source: RandomAccessSource, keywordOffset: number, endFinder: StreamEndFinder): PdfStream | undefined {
  const [first, second] = source.read(keywordOffset + keyword.length, 2)
  if (first !== 0x0a && first !== 0x0d) return undefined
  const start = keywordOffset + keyword.length + (first === 0x0d && second === 0x0a ? 2 : 1)
  const from = Math.max(0, keywordOffset - maxDictionaryBytes)
  const before = source.read(from, keywordOffset - from).toString('latin1')
  if (!/>>\s*(?:%[^\r\n]*[\r\n]\s*)?$/.test(before.slice(-256))) return undefined
  const objectAt = Math.max(0, before.lastIndexOf('obj'))
  const object = /(\d+)\s+(\d+)\s+$/.exec(before.slice(Math.max(0, objectAt - 32), objectAt))
  const dictionary = before.slice(objectAt)
  return {
    number: Number(object?.[1] ?? 0),
    generation: Number(object?.[2] ?? 0),
    dictionary,
    filters: parseFilters(dictionary),
    start,
    end: endFinder.findEnd(start, dictionary),
  }
}

function parseFilters(dictionary: string): string[] {
  const declared = /\/(?:Filter|F)\s*(\[[^\]]*\]|\/[^\s/<>[\]()]+)/.exec(decodeNames(dictionary))?.[1] ?? ''
  return [...declared.matchAll(/\/([^\s/<>[\]()]+)/g)].map(([, name]) => name!)
}

/** Decodes hexadecimal escapes in names, such as `/Fl#61te` for `/Flate`. */
export const decodeNames = (text: string): string =>
  !text.includes('#')
    ? text
    : text.replace(/#([0-9A-Fa-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

class StreamEndFinder {
  readonly #source: RandomAccessSource
  #last = { from: 0, at: -1 }

  constructor(source: RandomAccessSource) {
    this.#source = source
  }

  findEnd(start: number, dictionary: string): number {
    const { size } = this.#source
    const length = Number(/\/Length\s+(\d{1,15})(?!\s+\d+\s+R)/.exec(dictionary)?.[1] ?? Number.NaN)
    if (start + length <= size && /^\s*endstream/.test(this.#source.read(start + length, 16).toString('latin1')))
      return start + length
    if (start < this.#last.from || start > this.#last.at) this.#last = { from: start, at: this.#findNextKeyword(start) }
    return this.#last.at
  }

  #findNextKeyword(start: number): number {
    for (let at = start; at < this.#source.size; at += windowBytes - endKeyword.length) {
      const found = this.#source.read(at, windowBytes).indexOf(endKeyword)
      if (found >= 0) return at + found
    }
    return this.#source.size
  }
}
