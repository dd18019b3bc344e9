import { inflateSync } from 'node:zlib'
import { checkDeadline, type ReaderLimits } from '../format.js'
import { type RandomAccessSource, TooLarge } from '../random-access-source.js'
import { readEncryption } from './encryption.js'
import { decodedNames } from './streams.js'

/** Larger documents are not searched for circles: PDFium has its own guard, which costs pages and not the process. */
const searchLimit = 64 * 1024 * 1024
const unpackedLimit = 64 * 1024 * 1024
/** The text of one object that is looked at. Page tree nodes with more children than fit are cut, which only misses circles. */
const objectWindow = 256 * 1024

interface Objects {
  kids: Map<number, number[]>
  roots: Set<number>
  active: Set<string>
}

const activeParts: [RegExp, string][] = [
  [/\/S\s*\/JavaScript\b/, 'JavaScript'],
  [/\/S\s*\/Launch\b/, 'launch action'],
  [/\/Type\s*\/EmbeddedFile\b/, 'attachment'],
  [/\/OpenAction\s*<<[^>]*\/S\s*\/(?:URI|GoToR|GoToE|SubmitForm|ImportData)\b/, 'opening action'],
]

export interface PageTree {
  circle: number | undefined
  activeContent: string[]
}

/**
 * Circles in the page tree, where PDFium and others stop, each after a different number of pages, and which none makes by accident;
 * and what is active. Objects are taken where they are written, the last one counts.
 */
export function surveyObjects(source: RandomAccessSource, limits: ReaderLimits): PageTree {
  const nothing: PageTree = { circle: undefined, activeContent: [] }
  let bytes: Buffer
  try {
    if (source.size > searchLimit) return nothing
    bytes = source.whole(searchLimit)
  } catch (error) {
    if (error instanceof TooLarge) return nothing
    throw error
  }
  const objects = findNodes(bytes, source, limits)
  for (const root of objects.roots) {
    const circle = walk(objects.kids, root, limits)
    if (circle !== undefined) return { circle, activeContent: [...objects.active] }
  }
  return { circle: undefined, activeContent: [...objects.active] }
}

/** Depth first without recursion: a tree may be as deep as the file is long. */
function walk(kids: Map<number, number[]>, root: number, limits: ReaderLimits): number | undefined {
  const done = new Set<number>()
  const path = new Set<number>([root])
  const stack: { node: number; next: number }[] = [{ node: root, next: 0 }]
  for (let steps = 0; stack.length > 0; steps++) {
    if ((steps & 1023) === 0) checkDeadline(limits)
    const top = stack.at(-1) as { node: number; next: number }
    const child = kids.get(top.node)?.[top.next++]
    if (child === undefined) {
      stack.pop()
      path.delete(top.node)
      done.add(top.node)
    } else if (path.has(child)) {
      return child
    } else if (!done.has(child) && kids.has(child)) {
      path.add(child)
      stack.push({ node: child, next: 0 })
    }
  }
  return undefined
}

function findNodes(bytes: Buffer, source: RandomAccessSource, limits: ReaderLimits): Objects {
  const objects: Objects = { kids: new Map(), roots: new Set(), active: new Set() }
  const encryption = readEncryption(source)
  let unpacked = 0
  for (let at = bytes.indexOf(' obj'); at >= 0; at = bytes.indexOf(' obj', at)) {
    checkDeadline(limits)
    const number = objectNumber(bytes, at)
    const bodyStart = at + 4
    at = bodyStart
    if (number === undefined) continue
    const text = bodyText(bytes, bodyStart)
    note(objects, number, text.dictionary)
    if (text.streamAt === undefined) continue
    const end = streamEnd(bytes, text.streamAt, text.dictionary)
    if (/\/Type\s*\/ObjStm\b/.test(text.dictionary) && unpacked < unpackedLimit) {
      const packed = bytes.subarray(text.streamAt, end)
      const data = encryption ? encryption.decrypt(packed, number, 0) : packed
      unpacked += noteStream(objects, data, text.dictionary, unpackedLimit - unpacked)
    }
    // What stands in a stream (a whole PDF as an attachment, say) is none of this document's objects.
    at = end
  }
  return objects
}

function objectNumber(bytes: Buffer, at: number): number | undefined {
  const match = /(?:^|[^\d])(\d{1,10})\s+\d{1,5}$/.exec(bytes.toString('latin1', Math.max(0, at - 24), at))
  return match ? Number(match[1]) : undefined
}

/** An object's text to its end, its stream, or (where the end mark was forgotten) the next object. */
function bodyText(bytes: Buffer, start: number): { dictionary: string; streamAt?: number } {
  for (let window = 1024; ; window *= 4) {
    const text = bytes.toString('latin1', start, start + window)
    const end = text.search(/\bendobj\b|>>\s*stream\r?\n|\d obj\b/)
    if (end < 0 && window < objectWindow && start + window < bytes.length) continue
    if (end < 0) return { dictionary: text }
    const stream = /^>>\s*stream\r?\n/.exec(text.slice(end))
    return stream
      ? { dictionary: text.slice(0, end), streamAt: start + end + stream[0].length }
      : { dictionary: text.slice(0, end) }
  }
}

function streamEnd(bytes: Buffer, start: number, dictionary: string): number {
  const length = /\/Length\s+(\d{1,10})(?!\s+\d+\s+R)/.exec(dictionary)
  const claimed = length ? start + Number(length[1]) : -1
  if (claimed >= start && /^\s*endstream/.test(bytes.toString('latin1', claimed, claimed + 16))) return claimed
  const mark = bytes.indexOf('endstream', start)
  return mark < 0 ? bytes.length : mark
}

function note(objects: Objects, number: number, written: string): void {
  const dictionary = decodedNames(written)
  objects.kids.delete(number)
  for (const [pattern, what] of activeParts) if (pattern.test(dictionary)) objects.active.add(what)
  if (/\/Type\s*\/Catalog\b/.test(dictionary)) {
    const root = /\/Pages\s+(\d{1,10})\s+\d{1,5}\s+R/.exec(dictionary)
    if (root) objects.roots.add(Number(root[1]))
  }
  if (!/\/Type\s*\/Pages\b/.test(dictionary)) return
  const list = /\/Kids\s*\[/.exec(dictionary)
  if (!list) return
  const start = list.index + list[0].length
  const end = dictionary.indexOf(']', start)
  const children = dictionary.slice(start, end < 0 ? undefined : end).matchAll(/(\d{1,10})\s+\d{1,5}\s+R/g)
  objects.kids.set(
    number,
    [...children].map((match) => Number(match[1])),
  )
}

/** The objects of an object stream; gives back how many bytes it unpacked to. Encrypted and oddly packed ones are left out. */
function noteStream(objects: Objects, packed: Buffer, dictionary: string, limit: number): number {
  if (!/\/Filter\s*\[?\s*\/FlateDecode\b/.test(dictionary) || /\/DecodeParms\b/.test(dictionary)) return 0
  let text: string
  try {
    text = inflateSync(packed, { maxOutputLength: Math.min(limit, 16 * 1024 * 1024) }).toString('latin1')
  } catch {
    return packed.length
  }
  const first = Number(/\/First\s+(\d{1,9})/.exec(dictionary)?.[1] ?? 0)
  const numbers = text.slice(0, first).match(/\d+/g) ?? []
  for (let index = 0; index + 1 < numbers.length; index += 2) {
    const start = first + Number(numbers[index + 1])
    const end = index + 3 < numbers.length ? first + Number(numbers[index + 3]) : text.length
    note(objects, Number(numbers[index]), text.slice(start, Math.min(end, start + objectWindow)))
  }
  return text.length
}
