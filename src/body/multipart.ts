import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import busboy from 'busboy'
import { AssayError, badUserInput, type FieldFault } from '../errors.js'
import { IncomingFile, spooledWithin } from './incoming-file.js'
import { refuseEncoding, unsupported } from './json.js'
import { losesDigitsMessage, numberThatLosesDigits } from './json-numbers.js'
import type { RawValue } from './raw-value.js'
import type { Spool, Spooled } from './spool.js'
import { unknownNames } from './unknown-names.js'
import { watchBody } from './watch-body.js'

const mostFieldBytes = 64 * 1024

export interface MultipartOptions {
  spool: Spool
  /** Bytes that no upload may exceed, whatever its context. */
  ceiling: number
  /** How long the client may send nothing. */
  idleMs: number
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
  #fields: Promise<unknown> = Promise.resolve()

  constructor(request: IncomingMessage, options: MultipartOptions) {
    this.#request = request
    this.#options = options
    this.#limit = options.ceiling
  }

  async read(): Promise<MultipartForm> {
    const parser = this.#parser()
    let unwatch = () => {}
    try {
      await new Promise<void>((resolve, reject) => {
        unwatch = watchBody(this.#request, this.#options, reject)
        parser.on('file', (name, stream, info) => this.#onFile(name, stream, info.filename, () => resolve()))
        parser.on('field', (name, value, info) => this.#onField(name, value, info.valueTruncated))
        for (const event of ['filesLimit', 'fieldsLimit', 'partsLimit'] as const)
          parser.on(event, () => this.#fault('body', 'must be one file and at most 16 fields'))
        // A broken body may be told twice: of a header, and of the form that has no end.
        parser.on('error', (error) => reject(broken(error as Error)))
        parser.once('close', resolve)
        this.#request.pipe(parser)
      })
      await this.#receiving
      await this.#fields
      await this.#lookup
    } catch (error) {
      // A client that hangs up ends neither the parser nor the file's stream by itself.
      this.#file?.destroy(error as Error)
      await this.#receiving.catch(() => {})
      await this.#form.spooled?.dispose()
      throw error
    } finally {
      unwatch()
      this.#request.unpipe(parser)
      parser.destroy()
    }
    if (this.#files === 0 && !this.#form.faults.some(({ field }) => field === 'file')) this.#fault('file', 'is required')
    return this.#form
  }

  #parser(): busboy.Busboy {
    refuseEncoding(this.#request)
    const type = this.#request.headers['content-type'] ?? ''
    if (!/^multipart\/form-data\s*(;|$)/i.test(type)) throw unsupported('An upload must be multipart/form-data with a boundary.')
    try {
      return busboy({
        headers: this.#request.headers,
        preservePath: true,
        defParamCharset: 'utf8',
        highWaterMark: 256 * 1024,
        fileHwm: 256 * 1024,
        limits: { fields: 16, files: 18, parts: 18, fieldSize: mostFieldBytes, fieldNameSize: 256, headerPairs: 32 },
      })
    } catch (error) {
      throw broken(error as Error)
    }
  }

  #onFile(name: string | undefined, stream: Readable, filename: string | undefined, stop: () => void): void {
    stream.on('error', () => {})
    if (name !== 'file') {
      // Browsers send a part with a content type of its own as a Blob, which has a file name: it is a value all the same.
      if (name !== undefined && this.#options.fields.includes(name)) this.#fieldOf(name, stream)
      else this.#unknown(name, stream)
      return
    }
    this.#files++
    if (this.#files > 1) {
      this.#fault('file', 'must be given once')
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
      .take(stream, () => this.#limit)
      .then((spooled) => {
        this.#form.spooled = spooled
        this.#form.values.set('file', {
          value: new IncomingFile(filename, (limit) => Promise.resolve(spooledWithin(spooled, limit()))),
          from: 'text',
        })
        if (spooled.content) return
        this.#form.cut = true
        stop()
      })
    this.#receiving.catch(stop)
  }

  #fieldOf(name: string, stream: Readable): void {
    const chunks: Buffer[] = []
    let length = 0
    stream.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= mostFieldBytes) chunks.push(chunk)
    })
    const ended = new Promise<void>((resolve) => stream.once('close', resolve))
    this.#fields = Promise.all([this.#fields, ended]).then(() =>
      this.#onField(name, Buffer.concat(chunks).toString('utf8'), length > mostFieldBytes),
    )
  }

  #unknown(name: string | undefined, stream: Readable): void {
    if (name === undefined || name === '') this.#fault('body', 'must name each of its parts')
    else this.#refuseUnknown(name)
    stream.resume()
  }

  #refuseUnknown(name: string): void {
    const [fault] = unknownNames([name], ['file', ...this.#options.fields], 'a part of this request')
    if (fault) this.#fault(fault.field, fault.message)
  }

  #onField(name: string | undefined, value: string, truncated: boolean): void {
    if (name === undefined) return void this.#fault('body', 'must name each of its parts')
    if (name === 'file') return void this.#fault('file', 'must be a file, with a file name')
    if (!this.#options.fields.includes(name)) return void this.#refuseUnknown(name)
    if (this.#form.values.has(name)) return void this.#fault(name, 'must be given once')
    if (truncated) return void this.#fault(name, `must be at most ${mostFieldBytes} bytes`)
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
      const value = JSON.parse(text)
      const inexact = numberThatLosesDigits(text)
      if (inexact) {
        this.#fault(name, losesDigitsMessage(inexact))
        return { value: {}, from: 'json' }
      }
      // Elsewhere null counts as left out; a part that was sent was not.
      if (value !== null) return { value, from: 'json' }
    } catch {}
    this.#fault(name, 'must be a JSON object')
    return { value: {}, from: 'json' }
  }

  #fault(field: string, message: string): void {
    if (!this.#form.faults.some((fault) => fault.field === field)) this.#form.faults.push({ field, message })
  }
}

const broken = (error: Error): AssayError =>
  error instanceof AssayError
    ? error
    : badUserInput([
        { field: 'body', message: `must be a well-formed multipart/form-data body (${error.message.slice(0, 100)})` },
      ])
