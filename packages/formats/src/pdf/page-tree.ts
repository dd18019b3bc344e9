import { inflateToBuffer } from '../archive/inflate.js'
import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import { readEncryption } from './encryption.js'
import { decodeNames, findStreams } from './streams.js'

/** Maximum size in bytes of a document whose objects are searched. In larger documents, PDFium drops the pages of a cycle. */
const searchLimit = 64 * 1024 * 1024
const unpackedLimit = 64 * 1024 * 1024
/**
 * Maximum number of bytes to read per object. Truncating a larger page tree node can hide a cycle, but cannot cause a false
 * report.
 */
const objectWindow = 256 * 1024

const maxGeneration = 65_535

interface Objects {
  kids: Map<number, number[]>
  roots: Set<number>
  active: Set<string>
  /** Object number of a page that most programs ignore because of its invalid generation number. */
  hiddenPage?: number
}

const activeParts: [RegExp, string][] = [
  [/\/S\s*\/JavaScript\b/, 'JavaScript'],
  [/\/S\s*\/Launch\b/, 'launch action'],
  [/\/Type\s*\/EmbeddedFile\b/, 'attachment'],
  [/\/OpenAction\s*<<[^>]*\/S\s*\/(?:URI|GoToR|GoToE|SubmitForm|ImportData)\b/, 'opening action'],
]

export interface PageTree {
  cycle: number | undefined
  hiddenPage: number | undefined
  activeContent: string[]
}

/**
 * Finds active content in the objects, and cycles in the page tree. No regular program creates a cycle, and readers disagree
 * about where to stop. Later definitions of an object override earlier ones.
 */
export function analyzePageTree(source: RandomAccessSource, limits: ReaderLimits): PageTree {
  const objects: Objects = { kids: new Map(), roots: new Set(), active: new Set() }
  if (source.size <= searchLimit) collectObjects(objects, source, limits)
  const circles = [...objects.roots].map((root) => findCycle(objects.kids, root, limits))
  const { hiddenPage, active } = objects
  return { cycle: circles.find((circle) => circle !== undefined), hiddenPage, activeContent: [...active] }
}

/** Searches depth-first for a cycle, without recursion, because the tree may be arbitrarily deep. */
function findCycle(kids: Map<number, number[]>, root: number, limits: ReaderLimits): number | undefined {
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

/**
 * Collects the objects outside of streams and in object streams. Other streams are skipped, because the objects of an attached
 * PDF do not count.
 */
function collectObjects(objects: Objects, source: RandomAccessSource, limits: ReaderLimits): void {
  const encryption = readEncryption(source)
  let [from, unpacked] = [0, 0]
  for (const { number, dictionary, start, end } of findStreams(source, () => checkDeadline(limits))) {
    if (start < from) continue
    addPlainObjects(objects, source.read(from, start - from).toString('latin1'))
    from = end
    if (!/\/Type\s*\/ObjStm\b/.test(dictionary) || unpacked >= unpackedLimit) continue
    const packed = source.read(start, end - start)
    const data = encryption ? encryption.decrypt(packed, number, 0) : packed
    unpacked += addObjectStream(objects, data, dictionary, unpackedLimit - unpacked)
  }
  addPlainObjects(objects, source.read(from, source.size - from).toString('latin1'))
}

/** Adds uncompressed objects in file order. An object without `endobj` ends at the next object. */
function addPlainObjects(objects: Objects, text: string): void {
  const heads = [...text.matchAll(/(?<!\d)(\d{1,10})\s+(\d{1,20})\s+obj\b/g)]
  for (const [index, head] of heads.entries()) {
    const start = head.index + head[0].length
    const body = text.slice(start, Math.min(heads[index + 1]?.index ?? text.length, start + objectWindow))
    const [number, written] = [Number(head[1]), body.split(/\bendobj\b/, 1)[0]!]
    if (Number(head[2]) > maxGeneration && /\/Type\s*\/Page\b/.test(written)) objects.hiddenPage = number
    addObject(objects, number, written)
  }
}

function addObject(objects: Objects, number: number, body: string): void {
  const dictionary = decodeNames(body)
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

/** Adds the objects of an object stream and returns its unpacked size. Skips streams with unusual filters. */
function addObjectStream(objects: Objects, packed: Buffer, dictionary: string, limit: number): number {
  if (!/\/Filter\s*\[?\s*\/FlateDecode\b/.test(dictionary) || /\/DecodeParms\b/.test(dictionary)) return 0
  const text = inflateToBuffer('zlib', packed, Math.min(limit, 16 * 1024 * 1024))?.toString('latin1')
  if (text === undefined) return packed.length
  const first = Number(/\/First\s+(\d{1,9})/.exec(dictionary)?.[1] ?? 0)
  const numbers = text.slice(0, first).match(/\d+/g) ?? []
  for (let index = 0; index + 1 < numbers.length; index += 2) {
    const start = first + Number(numbers[index + 1])
    const end = index + 3 < numbers.length ? first + Number(numbers[index + 3]) : text.length
    addObject(objects, Number(numbers[index]), text.slice(start, Math.min(end, start + objectWindow)))
  }
  return text.length
}
