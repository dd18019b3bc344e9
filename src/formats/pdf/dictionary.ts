/** A value in a dictionary: names, references and numbers, arrays and dictionaries of them. Of others is known that they are there. */
export type PdfValue = { name: string } | { reference: number } | number | PdfValue[] | PdfDictionary | undefined
export type PdfDictionary = Map<string, PdfValue>

/** Dictionaries and arrays inside each other. */
const deepest = 64
const token = /[\s\0]+|%[^\r\n]*|<<|>>|[[\]{})(]|\/[^\s\0()<>[\]{}/%]*|<[^>]*>?|>|[^\s\0()<>[\]{}/%]+/y
const reference = /[\s\0]+\d+[\s\0]+R(?![^\s\0()<>[\]{}/%])/y

/** A dictionary and the place behind it; `closed` is false where the end of the text had to end it. */
export interface ReadDictionary {
  dictionary: PdfDictionary
  end: number
  closed: boolean
}

/** The dictionary that begins at `at`, read as forgivingly as readers do: what should be a key and is none is passed over. */
export function readDictionary(text: string, at: number): ReadDictionary | undefined {
  const reader = new DictionaryReader(text, at)
  if (reader.next() !== '<<') return undefined
  const dictionary = reader.dictionary(0)
  return { dictionary, end: reader.at, closed: reader.closed }
}

/** The same for an object, `12 0 obj << ... >>`, with nothing but white space and comments before it. */
export function readObject(text: string, at: number): ReadDictionary | undefined {
  const reader = new DictionaryReader(text, at)
  const isNumber = (each: string | undefined) => /^\d+$/.test(each ?? '')
  return isNumber(reader.next()) && isNumber(reader.next()) && reader.next() === 'obj'
    ? readDictionary(text, reader.at)
    : undefined
}

class DictionaryReader {
  closed = true

  constructor(
    private readonly text: string,
    public at: number,
  ) {}

  /** The next token that is neither white space nor comment; undefined at the end. A string comes as its first bracket. */
  next(): string | undefined {
    for (;;) {
      token.lastIndex = this.at
      const found = token.exec(this.text)?.[0]
      if (found === undefined) return undefined
      this.at += found.length
      if (found === '(') this.passString()
      if (!/^[\s\0%]/.test(found)) return found
    }
  }

  dictionary(depth: number): PdfDictionary {
    const entries: PdfDictionary = new Map()
    for (let key = this.next(); key !== '>>'; key = this.next()) {
      if (key === undefined) {
        this.closed = false
        return entries
      }
      if (!key.startsWith('/')) continue
      const first = this.next()
      if (first === '>>') return entries
      entries.set(nameOf(key), this.value(first, depth))
    }
    return entries
  }

  private value(first: string | undefined, depth: number): PdfValue {
    if (first === undefined) return undefined
    if (first === '<<' && depth < deepest) return this.dictionary(depth + 1)
    if (first === '[' && depth < deepest) return this.array(depth + 1)
    if (first.startsWith('/')) return { name: nameOf(first) }
    return /^[+-]?\d+(?![\d.])/.test(first) ? this.numberOrReference(first) : undefined
  }

  private array(depth: number): PdfValue[] {
    const values: PdfValue[] = []
    for (let each = this.next(); each !== ']' && each !== '>>' && each !== undefined; each = this.next())
      values.push(this.value(each, depth))
    return values
  }

  private numberOrReference(first: string): PdfValue {
    reference.lastIndex = this.at
    if (!reference.test(this.text)) return Number.parseInt(first, 10)
    this.at = reference.lastIndex
    return { reference: Number.parseInt(first, 10) }
  }

  private passString(): void {
    for (let depth = 1; depth > 0 && this.at < this.text.length; this.at++) {
      const sign = this.text[this.at]
      if (sign === '\\') this.at++
      else if (sign === '(') depth++
      else if (sign === ')') depth--
    }
  }
}

/** `/Ro#6ft` is Root. */
const nameOf = (written: string) =>
  written.slice(1).replace(/#([0-9A-Fa-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
