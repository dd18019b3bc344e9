import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import busboy from 'busboy'
import { AssayError, badUserInput, type FieldFault } from '../errors.js'
import { IncomingFile } from '../graphql/upload.js'
import type { Spool, Spooled } from '../spool.js'
import { clientGone, unsupported } from './body.js'
import type { RawValue } from './variables.js'

const mostFieldBytes = 64 * 1024

export interface MultipartOptions {
  spool: Spool
  /** Bytes that no upload may exceed, whatever its context. */
  ceiling: number
  /** The names that may be sent beside the file. */
  fields: readonly string[]
  /** Bytes that the context of that key allows: from then on the stream is held to it. Undefined where there is no such context. */
  limitOf: (contextKey: string) => Promise<number | undefined>
}

export interface MultipartForm {
  values: Map<string, RawValue>
  faults: FieldFault[]
  /** What was received of the file; its owner disposes of it. */
  spooled: Spooled | undefined
  /** True where the file was cut off at a limit: the rest of the body was not read. */
  cut: boolean
}

/**
 * Reads an upload (spec §4): one file and a few small fields, in any order. The file streams into the spool as it comes.
 * Throws 415 for what is not multipart, 400 for what is broken.
 */
export async function readMultipart(request: IncomingMessage, options: MultipartOptions): Promise<MultipartForm> {
  return new MultipartReader(request, options).read()
}

class MultipartReader {
  readonly #request: IncomingMessage
  readonly #options: MultipartOptions
  readonly #form: MultipartForm = { values: new Map(), faults: [], spooled: undefined, cut: false }
  #limit: number
  #files = 0
  #file: Readable | undefined
  #receiving: Promise<void> = Promise.resolve()
  #lookup: Promise<void> = Promise.resolve()

  constructor(request: IncomingMessage, options: MultipartOptions) {
    this.#request = request
    this.#options = options
    this.#limit = options.ceiling
  }

  async read(): Promise<MultipartForm> {
    const parser = this.#parser()
    try {
      await new Promise<void>((resolve, reject) => {
        const fail = (error: Error) => reject(error)
        parser.on('file', (name, stream, info) => this.#onFile(name, stream, info.filename, () => resolve()))
        parser.on('field', (name, value, info) => this.#onField(name, value, info.valueTruncated))
        for (const event of ['filesLimit', 'fieldsLimit', 'partsLimit'] as const)
          parser.on(event, () => this.#fault('body', 'must be one file and at most 16 fields'))
        parser.once('error', (error) => fail(broken(error as Error)))
        parser.once('close', resolve)
        // A client that hangs up ends neither the parser nor the file's stream by itself.
        this.#request.once('aborted', () => fail(clientGone()))
        this.#request.once('error', () => fail(clientGone()))
        this.#request.pipe(parser)
      })
      await this.#receiving
      await this.#lookup
    } catch (error) {
      this.#request.unpipe(parser)
      this.#file?.destroy(error as Error)
      await this.#receiving.catch(() => {})
      await this.#form.spooled?.dispose()
      throw error
    }
    if (this.#form.cut) {
      this.#request.unpipe(parser)
      parser.destroy()
    }
    if (this.#files === 0 && !this.#form.faults.some(({ field }) => field === 'file')) this.#fault('file', 'is required')
    return this.#form
  }

  #parser(): busboy.Busboy {
    const type = this.#request.headers['content-type'] ?? ''
    if (!/^multipart\/form-data\s*;/i.test(type)) throw unsupported('An upload must be multipart/form-data with a boundary.')
    try {
      return busboy({
        headers: this.#request.headers,
        preservePath: true,
        defParamCharset: 'utf8',
        highWaterMark: 256 * 1024,
        fileHwm: 256 * 1024,
        limits: { fields: 16, files: 2, parts: 18, fieldSize: mostFieldBytes, fieldNameSize: 256, headerPairs: 32 },
      })
    } catch (error) {
      throw broken(error as Error)
    }
  }

  #onFile(name: string, stream: Readable, filename: string | undefined, stop: () => void): void {
    this.#files++
    stream.on('error', () => {})
    if (name !== 'file' || this.#files > 1) {
      this.#fault(
        name === 'file' ? 'file' : name || 'body',
        name === 'file' ? 'must be given once' : 'is not a part of this request',
      )
      stream.resume()
      return
    }
    if (!filename) {
      this.#fault('file', 'must have a file name')
      stream.resume()
      return
    }
    this.#file = stream
    this.#receiving = this.#options.spool
      .take(stream as AsyncIterable<Buffer>, () => this.#limit)
      .then((spooled) => {
        this.#form.spooled = spooled
        this.#form.values.set('file', {
          value: new IncomingFile(filename, (limit) => Promise.resolve(within(spooled, limit()))),
          from: 'text',
        })
        if (spooled.content) return
        this.#form.cut = true
        stop()
      })
    this.#receiving.catch(stop)
  }

  #onField(name: string, value: string, truncated: boolean): void {
    if (name === 'file') return this.#fault('file', 'must be a file, with a file name')
    if (!this.#options.fields.includes(name)) return this.#fault(name.slice(0, 100), 'is not a part of this request')
    if (this.#form.values.has(name)) return this.#fault(name, 'must be given once')
    if (truncated) return this.#fault(name, `must be at most ${mostFieldBytes} bytes`)
    this.#form.values.set(name, name === 'metadata' ? this.#json(name, value) : { value, from: 'text' })
    if (name === 'context')
      this.#lookup = this.#options.limitOf(value).then(
        // An unknown context keeps nothing, so that nothing more need be received.
        (limit) => void (this.#limit = Math.min(limit ?? 0, this.#options.ceiling)),
        () => {},
      )
  }

  #json(name: string, text: string): RawValue {
    try {
      return { value: JSON.parse(text), from: 'json' }
    } catch {
      this.#fault(name, 'must be a JSON object')
      return { value: {}, from: 'json' }
    }
  }

  #fault(field: string, message: string): void {
    if (!this.#form.faults.some((fault) => fault.field === field)) this.#form.faults.push({ field, message })
  }
}

const within = (spooled: Spooled, limit: number): Spooled =>
  spooled.content && spooled.sizeBytes <= limit ? spooled : { sizeBytes: spooled.sizeBytes, dispose: () => spooled.dispose() }

const broken = (error: Error): AssayError =>
  error instanceof AssayError
    ? error
    : badUserInput([
        { field: 'body', message: `must be a well-formed multipart/form-data body (${error.message.slice(0, 100)})` },
      ])
