import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import busboy from 'busboy'
import { AssayError } from '../../platform/errors/errors.js'
import type { Spooled } from '../../platform/spool/intake.js'
import { PartChunks } from '../../platform/spool/part-chunks.js'
import type { Spool } from '../../platform/spool/spool.js'
import { boundaryOf, contentIn, openEnd } from './boundary.js'
import { refuseEncoding, unsupported } from './json.js'
import { decodeFilename, PartHeaders } from './part-headers.js'
import { watchBody } from './watch-body.js'

/** What a body of multipart/form-data may hold, and what is done with its parts as they come. */
export interface MultipartOptions {
  spool: Spool
  idleMs: number
  limits: { fields: number; files: number; fieldSize: number }
  /** Throws where the body is refused: nothing more of it is read. */
  onField(name: string | undefined, value: string, truncated: boolean): void
  onFile(file: FilePart): void
  /** More parts than `limits` allow. */
  onTooMany(): void
  broken(why: string): AssayError
}

/** A file that has begun to arrive. Nothing after it is read until it is taken, read or skipped. */
export interface FilePart {
  name: string | undefined
  filename: string
  /** Streams it into the spool, up to `limit()` bytes, which is asked for with every chunk. */
  take(limit: () => number): Promise<Spooled>
  /** Its text, cut after the bytes that a field may have. */
  text(): Promise<{ value: string; truncated: boolean }>
  skip(): void
}

/** Reads one body of multipart/form-data, once. Throws 415 for another one. */
export class Multipart {
  readonly #request: IncomingMessage
  readonly #options: MultipartOptions
  readonly #parser: busboy.Busboy
  readonly #headers: PartHeaders
  /** What ends a part; undefined where only the parser knows. */
  readonly #boundary: Buffer | undefined
  #file: PartChunks | undefined
  /** Whether what comes next begins no later than a boundary: the parser holds nothing that may become one. */
  #isPlain = false
  #isStopped = false
  #failure: unknown
  #settle: { resolve(): void; reject(error: unknown): void } | undefined

  constructor(request: IncomingMessage, options: MultipartOptions) {
    this.#request = request
    this.#options = options
    this.#parser = this.#open()
    const malformed = 'Malformed Content-Disposition of a part: a quote in a file name must be sent as %22'
    this.#headers = new PartHeaders(this.#parser, () => this.stop(options.broken(malformed)))
    this.#boundary = boundaryOf(request.headers['content-type'] ?? '')
  }

  /** Resolves when the body has been read, or was stopped; rejects where it is broken, or its client is gone. */
  async read(): Promise<void> {
    const ended = new Promise<void>((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
    const fail = (error: unknown) => this.stop(error)
    const unwatch = watchBody(this.#request, this.#options, fail)
    this.#parser.on('field', (name, value, { valueTruncated }) =>
      this.#stopWhereThrown(() => this.#options.onField(name, value, valueTruncated)),
    )
    this.#parser.on('file', (name, stream, { filename: encoded = '' }) => {
      const filename = this.#headers.isNameExtended ? encoded : decodeFilename(encoded)
      const chunks = this.#chunksOf(stream)
      this.#file = chunks
      this.#stopWhereThrown(() => this.#options.onFile(this.#part(name, filename, chunks)))
    })
    for (const event of ['filesLimit', 'fieldsLimit', 'partsLimit'] as const)
      this.#parser.on(event, () => this.#stopWhereThrown(() => this.#options.onTooMany()))
    // It may come twice: of a header, and of the form that has no end.
    this.#parser.on('error', (error) => fail(this.#toBroken(error as Error)))
    this.#parser.once('close', () => this.stop())
    const onData = (chunk: Buffer) => this.#read(chunk)
    const onEnd = () => {
      this.#parser.end()
      // Of some forms that end early it says nothing at all.
      setImmediate(() => this.#isStopped || fail(this.#toBroken(new Error('Unexpected end of form'))))
    }
    this.#request.on('data', onData).once('end', onEnd)
    try {
      await ended
    } catch (error) {
      // A client that hangs up ends neither the parser nor the file by itself.
      this.#file?.fail(error)
      throw error
    } finally {
      unwatch()
      this.#request.off('data', onData).off('end', onEnd).pause()
      this.#parser.destroy()
    }
  }

  /** Nothing more is read, and `read` settles: with `error`, where there is one. */
  stop(error?: unknown): void {
    this.#isStopped = true
    this.#failure ??= error
    if (error === undefined) this.#settle?.resolve()
    else this.#settle?.reject(error)
  }

  #stopWhereThrown(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.stop(error)
    }
  }

  /**
   * What is content of a file for certain passes the parser by: its search takes several times as long as `indexOf`, and its streams
   * as long as everything else that is done with a chunk.
   */
  #read(chunk: Buffer): void {
    if (this.#isStopped) return
    const boundary = this.#boundary
    const passing = boundary && this.#isPlain && this.#file?.isOpen ? contentIn(chunk, boundary) : 0
    if (passing > 0) this.#file!.push(passing === chunk.length ? chunk : chunk.subarray(0, passing))
    if (passing < chunk.length) {
      const rest = chunk.subarray(passing)
      this.#parser.write(rest)
      // A shorter one may go on with what the parser holds of those before it.
      this.#isPlain = boundary !== undefined && rest.length >= boundary.length && openEnd(rest, boundary) === rest.length
    }
    if (this.#file && !this.#file.isReady) this.#request.pause()
  }

  /** What the parser finds of a file goes to its reader, and not through the stream that it opens for it. */
  #chunksOf(stream: Readable): PartChunks {
    const chunks = new PartChunks(() => void (this.#isStopped || this.#request.resume()))
    const push = stream.push.bind(stream)
    stream.push = (chunk: Buffer | null) => {
      if (chunk) chunks.push(chunk)
      else {
        chunks.end()
        push(null)
        stream.resume()
      }
      return true
    }
    // The parser ends a file that was cut short with an error of its own, besides that of the form.
    stream.on('error', (error) => {
      this.stop(this.#toBroken(error))
      chunks.fail(this.#failure)
    })
    return chunks
  }

  #part(name: string | undefined, filename: string, chunks: PartChunks): FilePart {
    return {
      name,
      filename,
      take: (limit) => {
        const expected = Number(this.#request.headers['content-length'] ?? 0)
        const intake = this.#options.spool.begin(limit, { expected })
        chunks.into(intake)
        return intake.result
      },
      text: () => textOf(chunks, this.#options.limits.fieldSize),
      skip: () => chunks.into({ write: () => undefined, end: () => {}, fail: () => {} }),
    }
  }

  #open(): busboy.Busboy {
    refuseEncoding(this.#request)
    const { headers } = this.#request
    if (!/^multipart\/form-data\s*(;|$)/i.test(headers['content-type'] ?? ''))
      throw unsupported('An upload must be multipart/form-data with a boundary.')
    const { limits } = this.#options
    try {
      return busboy({
        headers,
        preservePath: true,
        defParamCharset: 'utf8',
        highWaterMark: 64 * 1024,
        fileHwm: 64 * 1024,
        limits: { ...limits, parts: limits.fields + limits.files, fieldNameSize: 256, headerPairs: 32 },
      })
    } catch (error) {
      throw this.#toBroken(error as Error)
    }
  }

  #toBroken(error: Error): AssayError {
    return error instanceof AssayError ? error : this.#options.broken(error.message)
  }
}

function textOf(part: PartChunks, mostBytes: number): Promise<{ value: string; truncated: boolean }> {
  const chunks: Buffer[] = []
  let length = 0
  const write = (chunk: Buffer) => {
    length += chunk.length
    if (length <= mostBytes) chunks.push(chunk)
    return undefined
  }
  return new Promise((resolve) => {
    const end = () => resolve({ value: Buffer.concat(chunks).toString('utf8'), truncated: length > mostBytes })
    part.into({ write, end, fail: end })
  })
}
