export class JsonSyntaxError extends Error {
  constructor(
    readonly problem: string,
    readonly at: number,
    readonly tooDeep: boolean,
  ) {
    super(problem)
  }
}

const [quote, comma, minus, point, colon, backslash] = [0x22, 0x2c, 0x2d, 0x2e, 0x3a, 0x5c]
const [newline, zero, closeArray, closeObject] = [0x0a, 0x30, 0x5d, 0x7d]
const words = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), word]))
const escapes = Buffer.from('"\\/bfnrtu')
const hexDigits = Buffer.from('0123456789abcdefABCDEF')
const isWhitespace = (byte: number): boolean => byte === 0x20 || byte === newline || byte === 0x0d || byte === 0x09
const isDigit = (byte: number): boolean => byte >= zero && byte <= 0x39

/** Validates JSON without building values. It stores only the open brackets. */
export class JsonScanner {
  values = 0
  deepest = 0
  readonly #chunks: Iterator<Uint8Array>
  readonly #maxDepth: number
  readonly #many: boolean
  #bytes: Uint8Array = Buffer.alloc(0)
  #at = 0
  #start = 0

  /** If `many` is true, accepts any number of values, one per line. */
  constructor(chunks: Iterable<Uint8Array>, { maxDepth, many }: { maxDepth: number; many: boolean }) {
    this.#chunks = chunks[Symbol.iterator]()
    this.#maxDepth = maxDepth
    this.#many = many
  }

  scan(): void {
    const open: number[] = []
    for (;;) {
      const byte = this.#skipSpace()
      if (byte < 0 && open.length === 0 && this.values > 0) return
      const closing = byte === 0x5b ? closeArray : byte === 0x7b ? closeObject : 0
      if (closing === 0) this.#readScalar(byte)
      else {
        if (open.length >= this.#maxDepth) this.#throwError(`JSON is nested more than ${this.#maxDepth} levels deep`, true)
        this.#at++
        this.deepest = Math.max(this.deepest, open.push(closing))
        if (this.#skipSpace() !== closing) {
          if (closing === closeObject) this.#readMemberName()
          continue
        }
      }
      if (this.#readToNextValueOrEnd(open)) return
    }
  }

  /** Reads closing brackets up to the next value. Returns true at the end of the file. */
  #readToNextValueOrEnd(openBrackets: number[]): boolean {
    for (;;) {
      const line = this.#lines
      const byte = this.#skipSpace()
      const closing = openBrackets.at(-1)
      if (byte === closing) {
        this.#at++
        this.values++
        openBrackets.pop()
      } else if (closing === undefined) {
        if (byte < 0) return true
        if (this.#many && this.#lines > line) return false
        this.#throwError('unexpected text follows the JSON value')
      } else {
        if (byte === closeArray || byte === closeObject) this.#throwError('a closing bracket does not match its opening bracket')
        this.#expectByte(comma, "',' or a closing bracket is missing")
        if (closing === closeObject) this.#readMemberName()
        return false
      }
    }
  }
  #lines = 0

  #readMemberName(): void {
    if (this.#skipSpace() !== quote) this.#throwError('a quoted name is missing')
    this.#readString()
    this.#skipSpace()
    this.#expectByte(colon, "':' is missing after a name")
  }

  #readScalar(byte: number): void {
    const word = words.get(byte)
    if (byte === quote) this.#readString()
    else if (byte === minus || isDigit(byte)) this.#readNumber()
    else if (word) for (let at = 0; at < word.length; at++) this.#expectByte(word.charCodeAt(at), `'${word}' is misspelled`)
    else
      this.#throwError(
        byte < 0 && this.values === 0 && this.deepest === 0
          ? 'the JSON value is missing'
          : 'a value is missing or is not valid JSON',
      )
    this.values++
  }

  #readString(): void {
    this.#at++
    for (;;) {
      const bytes = this.#bytes
      let at = this.#at
      // Fast path for string content, which makes up most of the bytes.
      while (at < bytes.length && bytes[at]! >= 0x20 && bytes[at] !== quote && bytes[at] !== backslash) at++
      this.#at = at
      const byte = this.#peekByte()
      if (byte === quote) break
      if (byte === backslash) this.#readEscape()
      else if (byte < 0x20) this.#throwError('a string contains a control character')
    }
    this.#at++
  }

  #readEscape(): void {
    this.#at++
    const kind = this.#peekByte()
    if (!escapes.includes(kind)) this.#throwError('an escape sequence is invalid')
    this.#at++
    for (let digit = kind === 0x75 ? 4 : 0; digit > 0; digit--) {
      if (!hexDigits.includes(this.#peekByte())) this.#throwError('an escape sequence is invalid')
      this.#at++
    }
  }

  #readNumber(): void {
    if (this.#peekByte() === minus) this.#at++
    if (this.#peekByte() === zero) this.#at++
    else this.#readDigits()
    if (this.#peekByte() === point) {
      this.#at++
      this.#readDigits()
    }
    if ((this.#peekByte() | 0x20) !== 0x65) return
    this.#at++
    if (this.#peekByte() === minus || this.#peekByte() === 0x2b) this.#at++
    this.#readDigits()
  }

  #readDigits(): void {
    if (!isDigit(this.#peekByte())) this.#throwError('a number is incomplete')
    do this.#at++
    while (isDigit(this.#peekByte()))
  }

  #skipSpace(): number {
    for (let byte = this.#peekByte(); ; byte = this.#peekByte()) {
      if (!isWhitespace(byte)) return byte
      if (byte === newline) this.#lines++
      this.#at++
    }
  }

  #expectByte(byte: number, problem: string): void {
    if (this.#peekByte() !== byte) this.#throwError(problem)
    this.#at++
  }

  #peekByte(): number {
    const byte = this.#bytes[this.#at]
    if (byte !== undefined) return byte
    for (;;) {
      const { done, value } = this.#chunks.next()
      if (done) return -1
      this.#start += this.#at
      this.#bytes = value
      this.#at = 0
      if (value.length > 0) return value[0]!
    }
  }

  #throwError(problem: string, isTooDeep = false): never {
    const isEnd = this.#peekByte() < 0 && (this.values > 0 || problem !== 'the JSON value is missing')
    throw new JsonSyntaxError(isEnd ? 'the JSON ends unexpectedly' : problem, this.#start + this.#at, isTooDeep)
  }
}
