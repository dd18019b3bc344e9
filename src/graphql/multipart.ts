import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import busboy from 'busboy'
import { processRequest, Upload } from 'graphql-upload-ts'
import { IncomingFile, spooledWithin } from '../body/incoming-file.js'
import { refuseEncoding, unsupported } from '../body/json.js'
import { losesDigitsMessage, numberThatLosesDigits } from '../body/json-numbers.js'
import { hasTooManyValues, mostJsonValues } from '../body/json-size.js'
import type { Spool, Spooled } from '../body/spool.js'
import { watchBody } from '../body/watch-body.js'
import { AssayError, badUserInput } from '../errors.js'

const mostFiles = 10
const mostFieldBytes = 1_000_000
/** Of the map, which names a place in the variables for each file. */
const mostMapBytes = 10_000

export interface GraphqlMultipartOptions {
  spool: Spool
  /** Bytes that no file may exceed, whatever its context. */
  ceiling: number
  /** How long the client may send nothing. */
  idleMs: number
}

/**
 * Reads the multipart request specification. What `operations` and `map` mean is graphql-upload-ts's to say; the files are ours,
 * since it would write every one of them, however small or unwanted, whole to the system's temporary folder. Gives the request as
 * soon as its files begin: they go on streaming into the spool while it runs. Throws 400 for what is broken.
 */
export function readMultipartRequest(
  request: IncomingMessage,
  response: ServerResponse,
  options: GraphqlMultipartOptions,
): Promise<unknown> {
  return new Reader(request, response, options).read()
}

interface Part {
  filename: string
  /** Asked for with every chunk: the context's, once the resolver knows it. */
  limit: () => number
  received: Promise<Spooled>
}

/** A file that the map announces: there, once its part begins. */
class Expected {
  readonly part: Promise<Part>
  arrive!: (part: Part) => void
  fail!: (error: unknown) => void
  arrived = false

  constructor() {
    this.part = new Promise((resolve, reject) => {
      this.arrive = (part) => {
        this.arrived = true
        resolve(part)
      }
      this.fail = reject
    })
    // Told where it is asked for; nobody may ask.
    this.part.catch(() => {})
  }

  /** As the resolvers see it. */
  incoming(): IncomingFile {
    const name = this.part.then(({ filename }) => filename)
    name.catch(() => {})
    return new IncomingFile(name, async (limit) => {
      const part = await this.part
      const ceiling = part.limit()
      part.limit = () => Math.min(ceiling, limit())
      return spooledWithin(await part.received, limit())
    })
  }
}

class Reader {
  readonly #request: IncomingMessage
  readonly #options: GraphqlMultipartOptions
  readonly #texts: { name: string; value: string }[] = []
  readonly #expected = new Map<string, Expected>()
  readonly #parser: busboy.Busboy
  readonly #received: Promise<Spooled>[] = []
  #stream: Readable | undefined
  #beginning: Promise<void> | undefined
  #unwatch = () => {}
  #resolve!: (body: unknown) => void
  #reject!: (error: unknown) => void

  constructor(request: IncomingMessage, response: ServerResponse, options: GraphqlMultipartOptions) {
    this.#request = request
    this.#options = options
    this.#parser = openParser(request)
    // Whatever no resolver asked for is given back when the answer has gone out, or its client has.
    response.once('close', () => void this.#end(clientGoneOrDone()))
  }

  read(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#unwatch = watchBody(this.#request, this.#options, (error) => this.#fail(error))
      this.#parser.on('field', (name, value, { valueTruncated }) => this.#onField(name, value, valueTruncated))
      this.#parser.on('file', (name, stream, { filename }) => this.#onFile(name, stream, filename ?? ''))
      this.#parser.once('filesLimit', () => this.#fail(broken(`at most ${mostFiles} files may be sent`)))
      this.#parser.on('error', (error) => this.#fail(broken((error as Error).message)))
      this.#parser.once('close', () => void this.#complete())
      this.#request.pipe(this.#parser)
    })
  }

  #onField(name: string | undefined, value: string, truncated: boolean): void {
    const fault = faultOfField(String(name), value, truncated)
    if (fault) this.#fail(fault)
    else if ((name === 'operations' || name === 'map') && !this.#beginning) this.#texts.push({ name, value })
  }

  #onFile(name: string | undefined, stream: Readable, filename: string): void {
    let cutShort: unknown
    stream.on('error', (error) => {
      cutShort = error
    })
    this.#stream = stream
    // Until the map is understood the part waits, unread.
    void this.#begin().then(() => {
      const expected = this.#expected.get(name ?? '')
      if (!expected || expected.arrived) return void stream.resume()
      const part: Part = { filename, limit: () => this.#options.ceiling, received: undefined as never }
      part.received = this.#options.spool
        .take(stream, () => part.limit())
        .catch((error) => {
          throw error === cutShort && !(error instanceof AssayError) ? broken((error as Error).message) : error
        })
      this.#received.push(part.received)
      part.received.then(
        ({ content }) => content ?? this.#fail(broken('another file of this request was too large')),
        (error) => this.#fail(error),
      )
      expected.arrive(part)
    })
  }

  /** What is asked, once: when the first file begins, or at the end where there is none. */
  #begin(): Promise<void> {
    this.#beginning ??= this.#understand()
    return this.#beginning
  }

  async #understand(): Promise<void> {
    try {
      const body = await requestOf(this.#texts)
      const map = this.#texts.find(({ name }) => name === 'map')!
      for (const [field, paths] of Object.entries(JSON.parse(map.value) as Record<string, string[]>)) {
        const expected = new Expected()
        this.#expected.set(field, expected)
        for (const path of paths) replace(body, path.split('.'), expected)
      }
      this.#resolve(body)
    } catch (error) {
      this.#fail(broken((error as Error).message))
    }
  }

  async #complete(): Promise<void> {
    await this.#begin()
    this.#unwatch()
    const missing = badUserInput([{ field: 'file', message: 'is announced by the map, but not in the request' }])
    for (const expected of this.#expected.values()) expected.fail(missing)
  }

  /** Nothing more is read: of what is not there yet, nothing will come. */
  #fail(error: unknown): void {
    this.#unwatch()
    this.#request.unpipe(this.#parser)
    this.#stream?.destroy(error as Error)
    for (const expected of this.#expected.values()) expected.fail(error)
    this.#reject(error)
    this.#parser.destroy()
  }

  async #end(error: AssayError): Promise<void> {
    this.#fail(error)
    for (const received of this.#received) {
      await received.then(
        (spooled) => spooled.dispose(),
        () => {},
      )
    }
  }
}

function faultOfField(name: string, value: string, truncated: boolean): AssayError | undefined {
  if (truncated) return broken(`'${name.slice(0, 100)}' is longer than ${mostFieldBytes} bytes`)
  if (name === 'map' && value.length > mostMapBytes) return broken(`'map' is longer than ${mostMapBytes} bytes`)
  if (hasTooManyValues(Buffer.from(value))) return broken(`a field has more than ${mostJsonValues} values`)
  const inexact = name === 'operations' && numberThatLosesDigits(value)
  return inexact ? badUserInput([{ field: 'operations', message: losesDigitsMessage(inexact) }]) : undefined
}

function openParser(request: IncomingMessage): busboy.Busboy {
  refuseEncoding(request)
  if (!/^multipart\/form-data\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw unsupported('A GraphQL upload must be multipart/form-data with a boundary.')
  try {
    return busboy({
      headers: request.headers,
      preservePath: true,
      defParamCharset: 'utf8',
      highWaterMark: 256 * 1024,
      fileHwm: 256 * 1024,
      limits: { fieldSize: mostFieldBytes, fields: 16, files: mostFiles, parts: mostFiles + 16, headerPairs: 32 },
    })
  } catch (error) {
    throw broken((error as Error).message)
  }
}

/** The request with an `Upload` at each place of the map, as graphql-upload-ts reads and checks it. */
function requestOf(texts: readonly { name: string; value: string }[]): Promise<unknown> {
  const boundary = `assay-${randomUUID()}`
  const parts = texts.map(
    ({ name, value }) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const fields = Object.assign(Readable.from([Buffer.from(`${parts.join('')}--${boundary}--\r\n`)]), {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  })
  const options = { maxFieldSize: mostFieldBytes, maxFiles: mostFiles }
  return processRequest(fields as never, new EventEmitter() as never, options)
}

function replace(body: unknown, path: string[], expected: Expected): void {
  let at = body as Record<string, unknown>
  for (const step of path.slice(0, -1)) at = at[step] as Record<string, unknown>
  if (at[path.at(-1)!] instanceof Upload) at[path.at(-1)!] = expected.incoming()
}

const clientGoneOrDone = () => badUserInput([{ field: 'file', message: 'was not received before the request ended' }])

const broken = (why: string): AssayError =>
  badUserInput([{ field: 'body', message: `must follow the GraphQL multipart request specification (${why.slice(0, 200)})` }])
