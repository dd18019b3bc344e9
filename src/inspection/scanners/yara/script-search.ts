import type { RulePart, ScriptRule } from './rules.js'

/** Parts of script rules that matched in earlier windows of the file. */
export class SearchState {
  begun = false
  readonly parts = new Set<RulePart>()
}

type Search = (bytes: Buffer) => boolean
type FindInText = (bytes: Buffer, isText: boolean) => string | undefined

interface Window {
  bytes: Buffer
  state: SearchState
  anchors: Set<string>
}

/**
 * Number of bytes that count as the start of a file. The rules accept offsets up to 4096, and their longest anchor has four
 * bytes.
 */
const startBytes = 4096 + 4

/** Searches for all anchors in one fast pass. YARA then searches only for rule parts whose anchors occur. */
export class ScriptSearch {
  readonly #anchors: AnchorSearch
  readonly #startAnchors: string[]
  readonly #searches = new Map<RulePart, Search>()

  constructor(
    private readonly rules: ScriptRule[],
    compile: (rule: string) => Search,
  ) {
    const parts = rules.flatMap((rule) => rule.parts)
    this.#anchors = new AnchorSearch(parts.flatMap(({ anchors, atStart }) => (atStart ? [] : (anchors ?? []))))
    this.#startAnchors = parts.flatMap(({ anchors, atStart }) => (atStart ? (anchors ?? []) : []))
    for (const part of parts) {
      const { strings, condition = 'any of them' } = part
      this.#searches.set(part, compile(`rule part { strings: ${strings} condition: ${condition} }`))
    }
  }

  /** Returns the signature of the first rule whose parts have all matched, in `bytes` or in earlier windows. */
  find(bytes: Buffer, state: SearchState): string | undefined {
    const anchors = this.#anchors.findAnchors(bytes)
    if (!state.begun) {
      const start = bytes.toString('latin1', 0, startBytes).toLowerCase()
      for (const anchor of this.#startAnchors) if (start.includes(anchor)) anchors.add(anchor)
    }
    state.begun = true
    if (anchors.size === 0 && state.parts.size === 0) return undefined
    return this.rules.find((rule) => this.#matches(rule, { bytes, state, anchors }))?.signature
  }

  #matches({ parts }: ScriptRule, window: Window): boolean {
    const { state, bytes } = window
    for (const part of parts) {
      if (state.parts.has(part)) continue
      if (mayMatch(part, parts, window) && this.#searches.get(part)!(bytes)) state.parts.add(part)
      else if (part.atStart) return false
    }
    return parts.every((part) => state.parts.has(part))
  }
}

function mayMatch({ anchors }: RulePart, parts: RulePart[], window: Window): boolean {
  return anchors ? anchors.some((anchor) => window.anchors.has(anchor)) : parts.some((part) => window.state.parts.has(part))
}

interface Anchor {
  text: string
  /** The text in lower case. A byte matches if it equals the byte at the same position in `lower` or `upper`. */
  lower: Buffer
  upper: Buffer
}

interface ShortAnchor extends Anchor {
  /** One or two non-letters at the start of the anchor, which are rare in most text. */
  start: string
  pattern: RegExp
}

/** A string of at least this length contains an aligned four-byte word, whatever its offset. */
const minBytesWithWord = 7
const wordBytes = 4
/**
 * Sets the case bit of each byte, so that upper-case and lower-case letters compare as equal. Some other pairs of bytes then also
 * compare as equal, so each match is verified.
 */
const fold = 0x20202020
const filterBits = 14
// Maximum number of positions to compare with a short anchor. A regular expression searches the rest, because it is faster for
// many positions.
const maxComparisons = 64
const spread = 0x9e3779b1

/**
 * Searches for all anchors in one pass at several GB/s, in any letter case. The search looks up aligned 4-byte words of the data
 * in a table of words from long anchors. Regular expressions search for short anchors, such as `<?=`.
 */
export class AnchorSearch {
  readonly #filter = new Uint8Array(1 << filterBits)
  readonly #words = new Map<number, { anchor: Anchor; offset: number }[]>()
  readonly #short: ShortAnchor[] = []

  constructor(anchors: string[]) {
    for (const text of new Set(anchors)) {
      const anchor = { text, lower: Buffer.from(text.toLowerCase()), upper: Buffer.from(text.toUpperCase()) }
      if (text.length < minBytesWithWord) this.#short.push(toShortAnchor(anchor))
      else this.#addWords(anchor)
    }
  }

  findAnchors(bytes: Buffer): Set<string> {
    const found = new Set<string>()
    this.#searchWords(bytes, found)
    for (const short of this.#short) if (containsShortAnchor(bytes, short)) found.add(short.text)
    return found
  }

  #addWords(anchor: Anchor): void {
    for (let offset = 0; offset < wordBytes; offset++) {
      // Read the word in the processor's byte order, in which the content's words are also read.
      const [first] = new Int32Array(Uint8Array.from(anchor.lower.subarray(offset, offset + wordBytes)).buffer)
      const word = first! | fold
      this.#filter[getSlot(word)] = 1
      this.#words.set(word, [...(this.#words.get(word) ?? []), { anchor, offset }])
    }
  }

  /** Tests four words per step, which is fast because hardly any word of the content is part of an anchor. */
  #searchWords(bytes: Buffer, found: Set<string>): void {
    if (bytes.length < minBytesWithWord) return
    const filter = this.#filter
    const start = -bytes.byteOffset & (wordBytes - 1)
    const words = new Int32Array(bytes.buffer, bytes.byteOffset + start, Math.max(0, bytes.length - start) >> 2)
    const fourfold = words.length & ~3
    for (let at = 0; at < fourfold; at += 4) {
      const first = getSlot((words[at] as number) | fold)
      const second = getSlot((words[at + 1] as number) | fold)
      const third = getSlot((words[at + 2] as number) | fold)
      const fourth = getSlot((words[at + 3] as number) | fold)
      if (((filter[first] as number) | filter[second]! | filter[third]! | filter[fourth]!) === 0) continue
      for (let each = at; each < at + 4; each++) this.#matchWord(bytes, words[each] as number, start + each * wordBytes, found)
    }
    for (let at = fourfold; at < words.length; at++) this.#matchWord(bytes, words[at] as number, start + at * wordBytes, found)
  }

  #matchWord(bytes: Buffer, word: number, position: number, found: Set<string>): void {
    if (this.#filter[getSlot(word | fold)] === 0) return
    for (const { anchor, offset } of this.#words.get(word | fold) ?? [])
      if (!found.has(anchor.text) && hasAnchorAt(bytes, position - offset, anchor)) found.add(anchor.text)
  }
}

const getSlot = (word: number): number => Math.imul(word, spread) >>> (32 - filterBits)

function toShortAnchor(anchor: Anchor): ShortAnchor {
  const { text } = anchor
  const start = /^[^a-z]{1,2}/i.exec(text)?.[0]
  if (!start)
    throw new Error(
      `The anchor '${text}' is too short. An anchor that begins with a letter must have at least ${minBytesWithWord} characters.`,
    )
  return { ...anchor, start, pattern: new RegExp(text.replace(/\W/g, '\\$&'), 'i') }
}

function containsShortAnchor(bytes: Buffer, anchor: ShortAnchor): boolean {
  let at = bytes.indexOf(anchor.start)
  for (let count = 0; at >= 0 && count < maxComparisons; count++) {
    if (hasAnchorAt(bytes, at, anchor)) return true
    at = bytes.indexOf(anchor.start, at + 1)
  }
  return at >= 0 && anchor.pattern.test(bytes.toString('latin1', at))
}

function hasAnchorAt(bytes: Buffer, offset: number, { lower, upper }: Anchor): boolean {
  if (offset < 0 || offset + lower.length > bytes.length) return false
  for (let each = 0; each < lower.length; each++) {
    const byte = bytes[offset + each]
    if (byte !== lower[each] && byte !== upper[each]) return false
  }
  return true
}

/** Compressed form of `Attribute VB_`, which begins each macro module in an Office document ([MS-OVBA], 2.4.1). */
const marker = Buffer.from('Attribut\0e VB', 'latin1')
// Node.js finds patterns of up to six bytes many times faster than longer ones, so search only for the end of the marker.
const sought = marker.subarray(-6)
const before = marker.length - sought.length
const zeroInSought = sought.indexOf(0)
const maxModules = 200
const maxMacroBytes = 1024 * 1024

function* findMacroSources(bytes: Buffer): Iterable<Buffer> {
  // Search for a zero byte first. Most text contains none, and this search is many times faster than the search for the marker.
  const zero = bytes.indexOf(0)
  if (zero < 0) return
  let count = 0
  for (
    let end = bytes.indexOf(sought, Math.max(0, zero - zeroInSought));
    end >= 0;
    end = bytes.indexOf(sought, end + sought.length)
  ) {
    const at = end - before
    if (at < 0 || bytes.compare(marker, 0, marker.length, at, at + marker.length) !== 0) continue
    if (++count > maxModules) return
    // The marker follows the container signature (1), a chunk header of two bytes, and the flags of the first eight tokens.
    if (at >= 4 && bytes[at - 4] === 1 && bytes[at - 1] === 0) yield decompressChunks(bytes.subarray(at - 3))
  }
}

function decompressChunks(chunks: Buffer): Buffer {
  const unpacked: number[] = []
  for (let at = 0; at + 2 <= chunks.length && unpacked.length < maxMacroBytes; ) {
    const header = chunks.readUInt16LE(at)
    if (((header >> 12) & 7) !== 3) break
    const end = Math.min(chunks.length, at + (header & 0xfff) + 3)
    if (header & 0x8000) decompressChunk(chunks.subarray(at + 2, end), unpacked)
    else unpacked.push(...chunks.subarray(at + 2, end))
    at = end
  }
  return Buffer.from(unpacked)
}

function decompressChunk(chunk: Buffer, unpacked: number[]): void {
  const start = unpacked.length
  for (let at = 0; at < chunk.length; ) {
    const flags = chunk[at++] as number
    for (let bit = 0; bit < 8 && at < chunk.length; bit++) {
      if (!((flags >> bit) & 1)) {
        unpacked.push(chunk[at++] as number)
        continue
      }
      if (at + 2 > chunk.length) return
      const token = chunk.readUInt16LE(at)
      at += 2
      // The number of unpacked bytes determines how many of the 16 bits encode the distance.
      const distanceBits = Math.max(4, Math.ceil(Math.log2(Math.max(1, unpacked.length - start))))
      const length = (token & (0xffff >> distanceBits)) + 3
      const from = unpacked.length - (token >> (16 - distanceBits)) - 1
      if (from < start) return
      for (let copied = 0; copied < length; copied++) unpacked.push(unpacked[from + copied] as number)
    }
  }
}

/** Returns the signature that `find` reports for the first matching macro in an Office document. */
export function findInMacros(bytes: Buffer, find: FindInText): string | undefined {
  for (const macro of findMacroSources(bytes)) {
    const signature = find(macro, true)
    if (signature !== undefined) return signature
  }
  return undefined
}
