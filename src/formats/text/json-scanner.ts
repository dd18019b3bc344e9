export interface JsonFault {
  problem: string
  at: number
  tooDeep?: boolean
}

enum Expect {
  Value,
  FirstItem,
  FirstKey,
  Key,
  Colon,
  Next,
  String,
  Escape,
  Hex,
  Word,
  Minus,
  Zero,
  Integer,
  Point,
  Fraction,
  Exponent,
  ExponentSign,
  ExponentDigits,
}

const numberMayEnd = new Set<Expect>([Expect.Zero, Expect.Integer, Expect.Fraction, Expect.ExponentDigits])
const words: Record<string, string> = { t: 'true', f: 'false', n: 'null' }
const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39
const isHex = (byte: number): boolean => isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66)

/** A state machine over bytes. Only the kinds of the open brackets are kept, one byte each. */
export class JsonScanner {
  fault?: JsonFault
  values = 0
  deepest = 0
  private state = Expect.Value
  private depth = 0
  private readonly open: Uint8Array
  private inKey = false
  private word = ''
  private wordAt = 0
  private hexLeft = 0
  private position = 0

  constructor(
    private readonly maxDepth: number,
    private readonly many: boolean,
  ) {
    this.open = new Uint8Array(maxDepth + 1)
  }

  take(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length && !this.fault; at++) {
      if (this.state === Expect.String) {
        // Most bytes are inside strings: pass over them quickly.
        while (at < bytes.length && bytes[at]! >= 0x20 && bytes[at] !== 0x22 && bytes[at] !== 0x5c) at++
        if (at >= bytes.length) break
      }
      this.step(bytes[at]!, this.position + at)
    }
    this.position += bytes.length
  }

  end(): JsonFault | undefined {
    if (numberMayEnd.has(this.state)) this.valueEnded()
    const complete = this.depth === 0 && this.values > 0 && (this.state === Expect.Next || this.state === Expect.Value)
    if (complete) return undefined
    return {
      problem:
        this.values === 0 && this.state === Expect.Value && this.depth === 0
          ? 'there is no JSON value'
          : 'the JSON ends too early',
      at: this.position,
    }
  }

  private step(byte: number, at: number) {
    switch (this.state) {
      case Expect.Value:
        return this.value(byte, at)
      case Expect.FirstItem:
        return byte === 0x5d ? this.close(byte, at) : this.value(byte, at)
      case Expect.FirstKey:
        return byte === 0x7d ? this.close(byte, at) : this.key(byte, at)
      case Expect.Key:
        return this.key(byte, at)
      case Expect.Colon:
        if (byte === 0x3a) this.state = Expect.Value
        else if (!isSpace(byte)) this.fail("':' is missing after a name", at)
        return
      case Expect.Next:
        return this.next(byte, at)
      case Expect.String:
        return this.string(byte, at)
      case Expect.Escape:
        return this.escape(byte, at)
      case Expect.Hex:
        if (!isHex(byte)) return this.fail('an escape sequence is wrong', at)
        if (--this.hexLeft === 0) this.state = Expect.String
        return
      case Expect.Word:
        return this.wordByte(byte, at)
      default:
        return this.number(byte, at)
    }
  }

  private value(byte: number, at: number) {
    if (isSpace(byte)) return
    if (byte === 0x7b) return this.openBracket(1, Expect.FirstKey, at)
    if (byte === 0x5b) return this.openBracket(0, Expect.FirstItem, at)
    if (byte === 0x22) this.startString(false)
    else if (byte === 0x2d) this.state = Expect.Minus
    else if (byte === 0x30) this.state = Expect.Zero
    else if (isDigit(byte)) this.state = Expect.Integer
    else this.startWord(byte, at)
  }

  private startWord(byte: number, at: number) {
    const word = words[String.fromCharCode(byte)]
    if (!word) return this.fail('a value is missing or is no JSON', at)
    this.word = word
    this.wordAt = 1
    this.state = Expect.Word
  }

  private wordByte(byte: number, at: number) {
    if (byte !== this.word.charCodeAt(this.wordAt)) return this.fail(`'${this.word}' is misspelt`, at)
    if (++this.wordAt === this.word.length) this.valueEnded()
  }

  private key(byte: number, at: number) {
    if (byte === 0x22) this.startString(true)
    else if (!isSpace(byte)) this.fail('a name in quotes is missing', at)
  }

  private startString(inKey: boolean): void {
    this.inKey = inKey
    this.state = Expect.String
  }

  private string(byte: number, at: number) {
    if (byte === 0x5c) this.state = Expect.Escape
    else if (byte < 0x20) this.fail('a control character stands in a string', at)
    else if (!this.inKey) this.valueEnded()
    else this.state = Expect.Colon
  }

  private escape(byte: number, at: number) {
    if (byte === 0x75) {
      this.hexLeft = 4
      this.state = Expect.Hex
    } else if ('"\\/bfnrt'.includes(String.fromCharCode(byte))) this.state = Expect.String
    else this.fail('an escape sequence is wrong', at)
  }

  private number(byte: number, at: number) {
    const next = this.afterNumber(byte)
    if (next !== undefined) this.state = next
    else if (!numberMayEnd.has(this.state)) this.fail('a number is incomplete', at)
    else {
      this.valueEnded()
      this.next(byte, at)
    }
  }

  private afterNumber(byte: number): Expect | undefined {
    const digit = isDigit(byte)
    switch (this.state) {
      case Expect.Minus:
        return byte === 0x30 ? Expect.Zero : digit ? Expect.Integer : undefined
      case Expect.Integer:
        if (digit) return Expect.Integer
        return this.pointOrExponent(byte)
      case Expect.Zero:
        return this.pointOrExponent(byte)
      case Expect.Point:
        return digit ? Expect.Fraction : undefined
      case Expect.Fraction:
        return digit ? Expect.Fraction : (byte | 0x20) === 0x65 ? Expect.Exponent : undefined
      case Expect.Exponent:
        return digit ? Expect.ExponentDigits : byte === 0x2b || byte === 0x2d ? Expect.ExponentSign : undefined
      default:
        return digit ? Expect.ExponentDigits : undefined
    }
  }

  private pointOrExponent(byte: number): Expect | undefined {
    return byte === 0x2e ? Expect.Point : (byte | 0x20) === 0x65 ? Expect.Exponent : undefined
  }

  private next(byte: number, at: number) {
    if (isSpace(byte)) {
      if (this.depth === 0 && this.many && byte === 0x0a) this.state = Expect.Value
      return
    }
    if (this.depth === 0) return this.fail('something follows the JSON value', at)
    if (byte === 0x5d || byte === 0x7d) return this.close(byte, at)
    if (byte !== 0x2c) return this.fail("',' or a closing bracket is missing", at)
    this.state = this.open[this.depth - 1] === 1 ? Expect.Key : Expect.Value
  }

  private openBracket(kind: 0 | 1, state: Expect, at: number) {
    if (this.depth >= this.maxDepth) return this.fail(`JSON is nested more than ${this.maxDepth} levels deep`, at, true)
    this.open[this.depth++] = kind
    this.deepest = Math.max(this.deepest, this.depth)
    this.state = state
  }

  private close(byte: number, at: number) {
    const kind = byte === 0x7d ? 1 : 0
    if (this.open[this.depth - 1] !== kind) return this.fail('a closing bracket does not fit its opening one', at)
    this.depth--
    this.valueEnded()
  }

  private valueEnded(): void {
    this.values++
    this.state = Expect.Next
  }

  private fail(problem: string, at: number, tooDeep = false) {
    this.fault = { problem, at, tooDeep }
  }
}
