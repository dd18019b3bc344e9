import type { Readable } from 'node:stream'
import type { Busboy } from 'busboy'

/**
 * Part header parser of busboy 1.6.0 (lib/types/multipart.js), shared by all parts of a form. busboy has no option for control
 * characters, so this file depends on its internals. The version is pinned, and test/api/file-names.test.ts detects changes.
 */
interface HeaderParser {
  /** Returns the position after the header, `end` if the header is incomplete, or -1 if it is malformed. */
  push(chunk: Buffer, start: number, end: number): number
  cb(header: Record<string, string[] | undefined>): void
}

const tab = 0x09
const lf = 0x0a
const cr = 0x0d
const quote = 0x22
const backslash = 0x5c

// Matches a type and its parameters in the form name=token, name="quoted \"string\"" or name*=charset'language'value.
const wellFormed =
  /^[^\s;]+(?:[ \t]*;[ \t]*(?:[^\s=;"*]*\*=[^\s;]*|[^\s=;"*]+=(?:"(?:\\.|[^"\\])*"|[\w!#$%&'*+.^`|~-]+)))*[ \t]*$/

/**
 * Makes busboy accept control characters in quoted file names instead of rejecting the form. busboy receives a tab for each of
 * them, which `sanitizeFilename` later removes. CR LF still ends a line.
 */
export class PartHeaders {
  /** True if the current part has a percent-encoded file name (`filename*`, RFC 5987), which busboy has already decoded. */
  isNameExtended = false
  #parser: HeaderParser | null = null
  #push!: HeaderParser['push']
  #isComplete = false
  #isQuoted = false
  #isEscaped = false
  /** True if the last byte was a CR inside quotes. The next byte determines whether the two bytes are a line break. */
  #heldCr = false

  /** `onMalformed` is called for a part with a malformed Content-Disposition, which busboy would silently skip. */
  constructor(parser: Busboy, onMalformed: () => void) {
    let current: HeaderParser | null = null
    Object.defineProperty(parser, '_hparser', {
      get: () => current,
      set: (headers: HeaderParser | null) => {
        current = headers
        if (headers && headers !== this.#parser) this.#attachTo(headers, onMalformed)
      },
    })
  }

  #attachTo(headers: HeaderParser, onMalformed: () => void): void {
    this.#parser = headers
    this.#push = headers.push.bind(headers)
    const onHeader = headers.cb
    headers.cb = (header) => {
      this.#isComplete = true
      const disposition = header['content-disposition']?.[0] ?? ''
      if (disposition !== '' && !wellFormed.test(disposition)) onMalformed()
      this.isNameExtended = /;[ \t]*filename\*=/i.test(disposition.replace(/"(\\.|[^"\\])*"/g, '""'))
      onHeader(header)
    }
    headers.push = (chunk, start, end) => this.#readChunk(chunk, start, end)
  }

  #readChunk(chunk: Buffer, start: number, end: number): number {
    this.#isComplete = false
    // Copy only the header, not the content that follows.
    const found = chunk.subarray(start, end).indexOf('\r\n\r\n')
    const stop = found < 0 ? end : start + found + 4
    const bytes = Buffer.from(chunk.subarray(start, stop))
    if (this.#heldCr) {
      this.#heldCr = false
      this.#isQuoted = bytes[0] !== lf
      if (this.#push(Buffer.of(this.#isQuoted ? tab : cr), 0, 1) < 0) return this.#resetState(-1)
    }
    this.#replaceControlCharacters(bytes)
    const read = this.#push(bytes, 0, bytes.length - (this.#heldCr ? 1 : 0))
    if (read < 0) return this.#resetState(-1)
    if (this.#isComplete) return this.#resetState(start + read)
    return stop < end ? this.#readChunk(chunk, stop, end) : end
  }

  #replaceControlCharacters(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!
      if (!this.#isQuoted) {
        this.#isQuoted = byte === quote
        continue
      }
      if (byte === cr && at + 1 === bytes.length) this.#heldCr = true
      else if (byte === cr && bytes[at + 1] === lf) this.#isQuoted = false
      else if (byte < 0x20 || byte === 0x7f) bytes[at] = tab
      else if (byte === quote && !this.#isEscaped) this.#isQuoted = false
      this.#isEscaped = byte === backslash && !this.#isEscaped
    }
  }

  /** Resets the state for the next header and returns `position`. */
  #resetState(position: number): number {
    this.#heldCr = false
    this.#isQuoted = false
    this.#isEscaped = false
    return position
  }
}

/**
 * Returns true if the form ended inside a file. In this case, busboy 1.6.0 waits forever for the file (`_fileStream` in
 * lib/types/multipart.js). test/unit/multipart.test.ts detects changes in busboy.
 */
export const hasOpenFile = (parser: Busboy): boolean => Boolean((parser as { _fileStream?: Readable | null })._fileStream)

/** Decodes the three escapes that the HTML standard defines for multipart/form-data file names. */
export const decodeFilename = (filename: string): string =>
  filename.replace(/%(22|0D|0A)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
