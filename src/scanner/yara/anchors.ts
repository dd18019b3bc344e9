import { vectorCode } from '../../formats/vector-code.js'

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
const filterBits = 16
const filterBytes = 1 << filterBits
/** In bytes without order two of them stand together every 64 KiB; beyond so many, one look at all the rest costs less. */
const mostLooks = 64
const spread = 0x9e3779b1
const lookedAtBytes = 16
const chunkBytes = 64 * 1024
const hitsAt = chunkBytes + filterBytes

// Locals: 1 where it is, 2 where the next hit goes, 3 the slots of four words.
const openFilter = () =>
  vectorCode({
    i32: 2,
    v128: 1,
    bytes: hitsAt + chunkBytes / wordBytes,
    code: `i32.const ${hitsAt}
      local.set 2
      block
      loop
      local.get 1
      local.get 0
      i32.ge_u
      br_if 1
      local.get 1
      v128.load 0
      v128.const ${alike(fold)}
      v128.or
      v128.const ${alike(spread)}
      i32x4.mul
      i32.const ${32 - filterBits}
      i32x4.shr_u
      local.tee 3
      i32x4.extract_lane 0
      i32.load8_u ${chunkBytes}
      local.get 3
      i32x4.extract_lane 1
      i32.load8_u ${chunkBytes}
      i32.or
      local.get 3
      i32x4.extract_lane 2
      i32.load8_u ${chunkBytes}
      i32.or
      local.get 3
      i32x4.extract_lane 3
      i32.load8_u ${chunkBytes}
      i32.or
      if
      local.get 2
      local.get 1
      i32.store 0
      local.get 2
      i32.const ${wordBytes}
      i32.add
      local.set 2
      end
      local.get 1
      i32.const ${lookedAtBytes}
      i32.add
      local.set 1
      br 0
      end
      end
      local.get 2`,
  })

/** The bytes of four times the same word. */
const alike = (word: number) =>
  Array(4)
    .fill([0, 8, 16, 24].map((by) => (word >>> by) & 255))
    .flat()
    .join(' ')

/**
 * Searches for all strings at once, in any case, at some GB/s: a word at a time where a string is long enough for that, and by
 * what it begins with before its first letter where it is short (`<?`). Where one of several short ones that begin alike stands,
 * all of them are told.
 */
export class AnchorSearch {
  readonly #filter: Uint8Array
  readonly #quick = openFilter()
  readonly #words = new Map<number, { sought: Sought; offset: number }[]>()
  readonly #short: Short[]

  constructor(anchors: Anchor[]) {
    this.#filter = this.#quick?.memory.subarray(chunkBytes, chunkBytes + filterBytes) ?? new Uint8Array(filterBytes)
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
      const word = wordAt(sought.lower, offset) | fold
      this.#filter[slotOf(word)] = 1
      this.#words.set(word, [...(this.#words.get(word) ?? []), { sought, offset }])
    }
  }

  /** Four words a turn: nearly all of them are in no string, which one test tells. */
  #searchWords(bytes: Buffer, found: Set<Anchor>): void {
    const quick = this.#quick
    const whole = quick ? bytes.length - (bytes.length % lookedAtBytes) : 0
    for (let start = 0; quick && start < whole; start += chunkBytes) {
      const end = quick.run(bytes.copy(quick.memory, 0, start, Math.min(start + chunkBytes, whole)))
      for (let hit = hitsAt; hit < end; hit += wordBytes) {
        const at = start + wordAt(quick.memory, hit)
        for (let each = at; each < at + lookedAtBytes; each += wordBytes) this.#look(bytes, each, found)
      }
    }
    for (let at = whole; at + wordBytes <= bytes.length; at += wordBytes) this.#look(bytes, at, found)
  }

  #look(bytes: Buffer, at: number, found: Set<Anchor>): void {
    const word = wordAt(bytes, at) | fold
    if (this.#filter[slotOf(word)] === 0) return
    for (const { sought, offset } of this.#words.get(word) ?? [])
      if (!found.has(sought.anchor) && standsAt(bytes, at - offset, sought)) found.add(sought.anchor)
  }
}

// In a content that is full of such words, 0.7 of what `readInt32LE` takes.
const wordAt = (bytes: Buffer, at: number): number =>
  bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)

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
