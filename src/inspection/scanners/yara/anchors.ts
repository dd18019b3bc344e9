/** A string that shows at little cost where a dearer search is worth its while. */
export interface Anchor {
  text: string
  nocase?: boolean
  /** Of a short one: only looked for where it begins so many bytes from the start of what is searched, or less. */
  within?: number
}

interface Sought {
  anchor: Anchor
  /** The same string in both cases: a byte that is either of them fits. */
  lower: Buffer
  upper: Buffer
}

interface Short {
  start: Buffer
  end: number
  longest: number
  anchors: Anchor[]
  pattern: RegExp
}

/** A string of so many bytes, wherever it stands, has in it a word of four that lies on a border of four. */
const shortestWithWord = 7
const wordBytes = 4
/** Sets the one bit in which upper and lower case differ; what else it makes equal is told apart afterwards. */
const fold = 0x20202020
const filterBits = 14
/** In bytes without order two of them stand together every 64 KiB; beyond so many, one look at all the rest costs less. */
const mostLooks = 64
const spread = 0x9e3779b1

/**
 * Searches for all strings at once, in any case, at some GB/s: a word at a time where a string is long enough for that, and by
 * what it begins with before its first letter where it is short (`<?`). Where one of several short ones that begin alike stands,
 * all of them are told.
 */
export class AnchorSearch {
  readonly #filter = new Uint8Array(1 << filterBits)
  readonly #words = new Map<number, { sought: Sought; offset: number }[]>()
  readonly #short: Short[]

  constructor(anchors: Anchor[]) {
    const isLong = ({ text }: Anchor) => text.length >= shortestWithWord
    for (const anchor of anchors.filter(isLong)) this.#addWords(soughtOf(anchor))
    this.#short = shortOf(anchors.filter((anchor) => !isLong(anchor)))
  }

  in(bytes: Buffer): Set<Anchor> {
    const found = new Set<Anchor>()
    this.#searchWords(bytes, found)
    for (const short of this.#short) if (standsIn(bytes, short)) for (const anchor of short.anchors) found.add(anchor)
    return found
  }

  #addWords(sought: Sought): void {
    for (let offset = 0; offset < wordBytes; offset++) {
      // As the processor has it, like those that it is compared with.
      const word = (new Int32Array(Uint8Array.from(sought.lower.subarray(offset, offset + wordBytes)).buffer)[0] as number) | fold
      this.#filter[slotOf(word)] = 1
      this.#words.set(word, [...(this.#words.get(word) ?? []), { sought, offset }])
    }
  }

  /** Four words a turn: nearly all of them are in no string, and one test tells. */
  #searchWords(bytes: Buffer, found: Set<Anchor>): void {
    if (bytes.length < shortestWithWord) return
    const filter = this.#filter
    const start = -bytes.byteOffset & (wordBytes - 1)
    const words = new Int32Array(bytes.buffer, bytes.byteOffset + start, Math.max(0, bytes.length - start) >> 2)
    const turns = words.length & ~3
    for (let at = 0; at < turns; at += 4) {
      const first = slotOf((words[at] as number) | fold)
      const second = slotOf((words[at + 1] as number) | fold)
      const third = slotOf((words[at + 2] as number) | fold)
      const fourth = slotOf((words[at + 3] as number) | fold)
      if (((filter[first] as number) | filter[second]! | filter[third]! | filter[fourth]!) === 0) continue
      for (let each = at; each < at + 4; each++) this.#look(bytes, words[each] as number, start + each * wordBytes, found)
    }
    for (let at = turns; at < words.length; at++) this.#look(bytes, words[at] as number, start + at * wordBytes, found)
  }

  #look(bytes: Buffer, word: number, at: number, found: Set<Anchor>): void {
    if (this.#filter[slotOf(word | fold)] === 0) return
    for (const { sought, offset } of this.#words.get(word | fold) ?? [])
      if (!found.has(sought.anchor) && standsAt(bytes, at - offset, sought)) found.add(sought.anchor)
  }
}

const slotOf = (word: number): number => Math.imul(word, spread) >>> (32 - filterBits)

function soughtOf(anchor: Anchor): Sought {
  const { text, nocase } = anchor
  const [lower, upper] = nocase ? [text.toLowerCase(), text.toUpperCase()] : [text, text]
  return { anchor, lower: Buffer.from(lower, 'latin1'), upper: Buffer.from(upper, 'latin1') }
}

function shortOf(anchors: Anchor[]): Short[] {
  const groups = new Map<string, Anchor[]>()
  for (const anchor of anchors) {
    const start = /^[^a-z]{0,2}/i.exec(anchor.text)![0]
    if (!start) throw new Error(`The anchor '${anchor.text}' is too short for one that begins with a letter.`)
    const group = `${start} ${anchor.within}`
    groups.set(group, [...(groups.get(group) ?? []), anchor])
  }
  return [...groups].map(([group, alike]) => {
    const longest = Math.max(...alike.map(({ text }) => text.length))
    return {
      start: Buffer.from(group.slice(0, group.indexOf(' '))),
      end: (alike[0]!.within ?? Number.POSITIVE_INFINITY) + longest,
      longest,
      anchors: alike,
      pattern: new RegExp(alike.map(({ text }) => text.replace(/[^\w]/g, '\\$&')).join('|'), 'i'),
    }
  })
}

function standsIn(bytes: Buffer, { start, end, longest, anchors, pattern }: Short): boolean {
  const searched = end < bytes.length ? bytes.subarray(0, end) : bytes
  const first = searched.indexOf(start)
  if (first < 0 || anchors[0]!.text.length === start.length) return first >= 0
  for (let at = first, looks = mostLooks; at >= 0; at = searched.indexOf(start, at + 1)) {
    const end = looks-- > 0 ? at + longest : searched.length
    if (pattern.test(searched.toString('latin1', at, end))) return true
    if (end === searched.length) return false
  }
  return false
}

function standsAt(bytes: Buffer, at: number, { lower, upper }: Sought): boolean {
  if (at < 0 || at + lower.length > bytes.length) return false
  for (let each = 0; each < lower.length; each++) {
    const byte = bytes[at + each]
    if (byte !== lower[each] && byte !== upper[each]) return false
  }
  return true
}
