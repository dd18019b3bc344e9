import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import busboy from 'busboy'
import { AssayError } from '../errors.js'
import type { Follow } from './content.js'
import { refuseEncoding, unsupported } from './json.js'
import type { Spool, Spooled } from './spool.js'
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
  take(limit: () => number, follow?: Follow): Promise<Spooled>
  /** Its text, cut after the bytes that a field may have. */
  text(): Promise<{ value: string; truncated: boolean }>
  skip(): void
}

/** Reads one body of multipart/form-data, once. Throws 415 for another one. */
export class Multipart {
  readonly #request: IncomingMessage
  readonly #options: MultipartOptions
  readonly #parser: busboy.Busboy
  #file: Readable | undefined
  #failure: unknown
  #settle: { resolve(): void; reject(error: unknown): void } | undefined

  constructor(request: IncomingMessage, options: MultipartOptions) {
    this.#request = request
    this.#options = options
    this.#parser = this.#open()
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
    this.#parser.on('file', (name, stream, { filename }) => {
      // The parser ends a file that was cut short with an error of its own, besides that of the form.
      stream.on('error', (error) => fail(this.#toBroken(error)))
      this.#file = stream
      this.#stopWhereThrown(() => this.#options.onFile(this.#part(name, filename ?? '', stream)))
    })
    for (const event of ['filesLimit', 'fieldsLimit', 'partsLimit'] as const)
      this.#parser.on(event, () => this.#stopWhereThrown(() => this.#options.onTooMany()))
    // It may come twice: of a header, and of the form that has no end.
    this.#parser.on('error', (error) => fail(this.#toBroken(error as Error)))
    this.#parser.once('close', () => this.stop())
    this.#request.pipe(this.#parser)
    try {
      await ended
    } catch (error) {
      // A client that hangs up ends neither the parser nor the file's stream by itself.
      this.#file?.destroy(error as Error)
      throw error
    } finally {
      unwatch()
      this.#request.unpipe(this.#parser)
      this.#parser.destroy()
    }
  }

  /** Nothing more is read, and `read` settles: with `error`, where there is one. */
  stop(error?: unknown): void {
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

  #part(name: string | undefined, filename: string, stream: Readable): FilePart {
    return {
      name,
      filename,
      take: (limit, follow) => {
        const expected = Number(this.#request.headers['content-length'] ?? 0)
        return this.#options.spool.take(stream, limit, { expected, follow }).catch((error) => {
          throw error instanceof AssayError ? error : (this.#failure ?? error)
        })
      },
      text: () => textOf(stream, this.#options.limits.fieldSize),
      skip: () => void stream.resume(),
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

function textOf(stream: Readable, mostBytes: number): Promise<{ value: string; truncated: boolean }> {
  const chunks: Buffer[] = []
  let length = 0
  stream.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length <= mostBytes) chunks.push(chunk)
  })
  return new Promise((resolve) =>
    stream.once('close', () => resolve({ value: Buffer.concat(chunks).toString('utf8'), truncated: length > mostBytes })),
  )
}
