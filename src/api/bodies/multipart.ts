import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import busboy from 'busboy'
import { AssayError } from '../../platform/errors/errors.js'
import type { Spooled } from '../../platform/spool/content.js'
import type { Spool } from '../../platform/spool/spool.js'
import { createUnsupportedError, rejectContentEncoding, watchBody } from './request-body.js'

/** Limits of a multipart/form-data body, and handlers for its parts. */
export interface MultipartOptions {
  spool: Spool
  idleMs: number
  limits: { fields: number; files: number; fieldSize: number }
  /** Handles a field. If it throws, the body is rejected and the rest is not read. */
  onField(name: string | undefined, value: string, truncated: boolean): void
  onFile(file: FilePart): void
  /** Called if the body has more parts than `limits` allows. */
  onTooMany(): void
  broken(why: string): AssayError
}

/**
 * A file part whose first bytes have arrived. The parser waits until the handler receives the file, reads it as text or skips it.
 */
export interface FilePart {
  name: string | undefined
  filename: string
  /**
   * Streams the file into the spool, up to `limit()` bytes. `limit` is called for every chunk, so the limit can change during the
   * transfer.
   */
  receive(limit: () => number): Promise<Spooled>
  /** Reads the file as text, truncated to the maximum length of a field. */
  readText(): Promise<{ value: string; truncated: boolean }>
  skip(): void
}

/** Reads a multipart/form-data body. The constructor throws 415 for other content types. */
export class Multipart {
  readonly #parser: busboy.Busboy
  readonly #headers: PartHeaders
  #file: Readable | undefined
  #failure: unknown
  #settle: { resolve(): void; reject(error: unknown): void } | undefined

  constructor(
    private readonly request: IncomingMessage,
    private readonly options: MultipartOptions,
  ) {
    this.#parser = this.#createParser()
    const malformed = 'a part has a malformed Content-Disposition header. Encode double quotes in file names as %22'
    this.#headers = new PartHeaders(this.#parser, () => this.stop(options.broken(malformed)))
  }

  /**
   * Reads the body. Resolves after the last part or a call to `stop`. Rejects if the body is malformed or the client disconnects.
   */
  async read(): Promise<void> {
    const ended = new Promise<void>((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
    const stopWithError = (error: unknown) => this.stop(error)
    const unwatch = watchBody(this.request, this.options, stopWithError)
    this.#parser.on('field', (name, value, { valueTruncated }) =>
      this.#runOrStopOnError(() => this.options.onField(name, value, valueTruncated)),
    )
    this.#parser.on('file', (name, stream, { filename }) => this.#onFile(name, stream, filename ?? ''))
    for (const event of ['filesLimit', 'fieldsLimit', 'partsLimit'] as const)
      this.#parser.on(event, () => this.#runOrStopOnError(() => this.options.onTooMany()))
    // Do not remove this listener after the first error. busboy can emit a second one, and an error event without a listener
    // would be thrown.
    this.#parser.on('error', (error) => stopWithError(this.#toMalformedError(error as Error)))
    this.#parser.once('close', () => this.stop())
    // Forward data without `pipe`, because `pipe` pauses the connection after every 64 KiB. These pauses took two thirds of the
    // time of a 1 MiB upload.
    const onData = (chunk: Buffer) => {
      this.#parser.write(chunk)
      if (this.#parser.writableLength > 0) this.request.pause()
    }
    this.#parser.on('drain', () => this.request.resume())
    const onEnd = () => {
      // This callback runs after busboy has parsed all previous chunks. A file that is still open is therefore incomplete.
      this.#parser.write(Buffer.alloc(0), () => {
        if (hasOpenFile(this.#parser)) this.stop(this.#toMalformedError(new Error('Unexpected end of form')))
      })
      this.#parser.end()
    }
    this.request.on('data', onData).once('end', onEnd)
    try {
      await ended
    } catch (error) {
      // After a disconnect, neither the parser nor the file stream ends, so destroy the file stream.
      this.#file?.destroy(error as Error)
      throw error
    } finally {
      unwatch()
      this.request.off('data', onData).off('end', onEnd).pause()
      this.#parser.removeAllListeners('drain')
      this.#parser.destroy()
    }
  }

  /** Stops reading the body. `read` then rejects with `error`, or resolves if `error` is undefined. */
  stop(error?: unknown): void {
    this.#failure ??= error
    if (error === undefined) this.#settle?.resolve()
    else this.#settle?.reject(error)
  }

  #runOrStopOnError(callback: () => void): void {
    try {
      callback()
    } catch (error) {
      this.stop(error)
    }
  }

  #onFile(name: string | undefined, stream: Readable, encodedFilename: string): void {
    const filename = this.#headers.isNameExtended ? encodedFilename : decodeFilename(encodedFilename)
    this.#file = stream
    stream.once('close', () => {
      if (this.#file === stream) this.#file = undefined
    })
    // If a file is truncated, busboy emits an error both on the file stream and on the form. Only the first error is reported.
    stream.on('error', (error) => this.stop(this.#failure ?? this.#toMalformedError(error)))
    this.#runOrStopOnError(() => this.options.onFile(this.#createPart(name, filename, stream)))
  }

  #createPart(name: string | undefined, filename: string, stream: Readable): FilePart {
    const expectedBytes = Number(this.request.headers['content-length'] ?? 0)
    return {
      name,
      filename,
      receive: (limit) =>
        this.options.spool.receive(stream, limit, { expectedBytes }).catch((error) => {
          throw this.#failure ?? error
        }),
      readText: () => readText(stream, this.options.limits.fieldSize),
      skip: () => void stream.resume(),
    }
  }

  #createParser(): busboy.Busboy {
    rejectContentEncoding(this.request)
    const { headers } = this.request
    if (!/^multipart\/form-data\s*(;|$)/i.test(headers['content-type'] ?? ''))
      throw createUnsupportedError('An upload must be multipart/form-data with a boundary.')
    const { limits } = this.options
    try {
      return busboy({
        headers,
        preservePath: true,
        defParamCharset: 'utf8',
        // With a value of 1, the stream emits `drain` after every chunk, so that a paused request is always resumed.
        highWaterMark: 1,
        fileHwm: 64 * 1024,
        limits: { ...limits, parts: limits.fields + limits.files, fieldNameSize: 256, headerPairs: 32 },
      })
    } catch (error) {
      throw this.#toMalformedError(error as Error)
    }
  }

  #toMalformedError(error: Error): AssayError {
    return error instanceof AssayError ? error : this.options.broken(error.message)
  }
}

/**
 * Reads the stream as text, up to `maxBytes`. Ignores stream errors, because the stream's error listener rejects the whole body.
 */
async function readText(stream: Readable, maxBytes: number): Promise<{ value: string; truncated: boolean }> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of stream) {
      length += chunk.length
      if (length <= maxBytes) chunks.push(chunk)
    }
  } catch {}
  return { value: Buffer.concat(chunks).toString('utf8'), truncated: length > maxBytes }
}

/**
 * Part header parser of busboy 1.6.0 (lib/types/multipart.js), shared by all parts of a form. busboy has no option for control
 * characters, so this code depends on its internals. The version is pinned, and test/api/file-names.test.ts detects changes.
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
class PartHeaders {
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
  constructor(parser: busboy.Busboy, onMalformed: () => void) {
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
    // Copy the header, because its bytes will be changed. Do not copy the content that follows it.
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
const hasOpenFile = (parser: busboy.Busboy): boolean => Boolean((parser as { _fileStream?: Readable | null })._fileStream)

/** Decodes the three escapes that the HTML standard defines for multipart/form-data file names. */
const decodeFilename = (filename: string): string =>
  filename.replace(/%(22|0D|0A)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
