import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { processRequest, Upload } from 'graphql-upload-ts'
import { type AssayError, badUserInput } from '../../platform/errors/errors.js'
import type { Spooled } from '../../platform/spool/content.js'
import { IncomingFile } from '../../platform/spool/content.js'
import type { Spool } from '../../platform/spool/spool.js'
import { createImpreciseNumberMessage, findImpreciseNumber, hasTooManyValues, maxJsonValues } from '../bodies/json.js'
import { type FilePart, Multipart } from '../bodies/multipart.js'

const limits = { fields: 16, files: 10, fieldSize: 1_000_000 }
/** Maximum length of the `map` form field, which assigns files to variables. */
const maxMapBytes = 10_000

interface UploadRequestOptions {
  spool: Spool
  ceiling: number
  idleMs: number
}

/**
 * Reads a request in the GraphQL multipart format. Returns the request when its first file starts to arrive. The files stream
 * into the spool while the request is executed. graphql-upload-ts is used only to parse `operations` and `map`, because it
 * would write each whole file to the temporary folder first. Throws 400 for a malformed request.
 */
export function readUploadRequest(
  request: IncomingMessage,
  response: ServerResponse,
  options: UploadRequestOptions,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const reader = new UploadRequest(request, options, resolve)
    response.once('close', () => void reader.end())
    reader.read().catch(reject)
  })
}

/** A file listed in the `map` field. The promise settles when the file starts to arrive, or can no longer arrive. */
class Expected {
  arrived = false
  arrive!: (part: { filename: string; received: Promise<Spooled> }) => void
  fail!: (error: unknown) => void
  readonly incoming: IncomingFile
  /** Returns the current size limit. Called for every chunk. The resolver can lower the limit. */
  limit: () => number

  constructor(ceiling: number) {
    const getCeiling = () => ceiling
    this.limit = getCeiling
    const part = new Promise<{ filename: string; received: Promise<Spooled> }>((resolve, reject) => {
      this.arrive = resolve
      this.fail = reject
    })
    const name = part.then(({ filename }) => filename)
    // A resolver may ignore its file, so a failed file must not cause an unhandled rejection.
    name.catch(() => {})
    this.incoming = new IncomingFile(name, async (limit) => {
      const getEffectiveLimit = () => Math.min(ceiling, limit())
      this.limit = getEffectiveLimit
      return (await part).received
    })
  }
}

class UploadRequest {
  readonly #body: Multipart
  readonly #ceiling: number
  readonly #texts: { name: string; value: string }[] = []
  readonly #expected = new Map<string, Expected>()
  readonly #received: Promise<Spooled>[] = []
  readonly #begin: (request: unknown) => void
  #beginning: Promise<void> | undefined

  constructor(request: IncomingMessage, options: UploadRequestOptions, begin: (request: unknown) => void) {
    this.#ceiling = options.ceiling
    this.#begin = begin
    this.#body = new Multipart(request, {
      ...options,
      limits,
      onField: (name, value, truncated) => this.#onField(String(name), value, truncated),
      onFile: (file) => void this.#onFile(file),
      onTooMany: () =>
        this.#body.stop(createMalformedError(`a request can contain at most ${limits.files} files and ${limits.fields} fields`)),
      broken: createMalformedError,
    })
  }

  async read(): Promise<void> {
    try {
      await this.#body.read()
      await this.#parseOnce()
      this.#failExpectedFiles(
        badUserInput([{ field: 'file', message: 'is listed in the `map` field, but the request contains no such part' }]),
      )
    } catch (error) {
      this.#failExpectedFiles(error)
      throw error
    }
  }

  /** Releases files that no resolver read. Called after the response is sent or the client has disconnected. */
  async end(): Promise<void> {
    this.#body.stop(
      badUserInput([{ field: 'file', message: 'is missing, because the request ended before the file was received' }]),
    )
    for (const received of await Promise.allSettled(this.#received))
      if (received.status === 'fulfilled') await received.value.dispose()
  }

  #failExpectedFiles(error: unknown): void {
    for (const expected of this.#expected.values()) expected.fail(error)
  }

  #onField(name: string, value: string, truncated: boolean): void {
    const error = findFieldError(name, value, truncated)
    if (error) throw error
    if ((name === 'operations' || name === 'map') && !this.#beginning) this.#texts.push({ name, value })
  }

  async #onFile(file: FilePart): Promise<void> {
    try {
      // Parse the map before reading the file.
      await this.#parseOnce()
    } catch (error) {
      return this.#body.stop(error)
    }
    const expected = this.#expected.get(file.name ?? '')
    if (!expected || expected.arrived) return file.skip()
    expected.arrived = true
    const received = file.receive(() => expected.limit())
    this.#received.push(received)
    received.then(
      ({ content }) => content ?? this.#body.stop(createMalformedError('another file in this request exceeds the size limit')),
      (error) => this.#body.stop(error),
    )
    expected.arrive({ filename: file.filename, received })
  }

  /** Parses the request once: when the first file arrives, or at the end of a body without files. */
  #parseOnce(): Promise<void> {
    this.#beginning ??= this.#parse()
    return this.#beginning
  }

  async #parse(): Promise<void> {
    const request = await parseRequest(this.#texts).catch((error) => {
      throw createMalformedError((error as Error).message)
    })
    const map = this.#texts.find(({ name }) => name === 'map')!
    for (const [field, paths] of Object.entries(JSON.parse(map.value) as Record<string, string[]>)) {
      const expected = new Expected(this.#ceiling)
      this.#expected.set(field, expected)
      for (const path of paths) replaceUpload(request, path.split('.'), expected.incoming)
    }
    this.#begin(request)
  }
}

function findFieldError(name: string, value: string, truncated: boolean): AssayError | undefined {
  if (truncated) return createMalformedError(`'${name.slice(0, 100)}' is longer than ${limits.fieldSize} bytes`)
  if (name === 'map' && value.length > maxMapBytes) return createMalformedError(`'map' is longer than ${maxMapBytes} bytes`)
  if (hasTooManyValues(Buffer.from(value))) return createMalformedError(`a field has more than ${maxJsonValues} values`)
  const inexact = name === 'operations' && findImpreciseNumber(value)
  return inexact ? badUserInput([{ field: 'operations', message: createImpreciseNumberMessage(inexact) }]) : undefined
}

/** Parses `operations` and `map` with graphql-upload-ts, which inserts an `Upload` at each path in the map. */
function parseRequest(texts: readonly { name: string; value: string }[]): Promise<unknown> {
  const boundary = `assay-${randomUUID()}`
  const parts = texts.map(
    ({ name, value }) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const fields = Object.assign(Readable.from([Buffer.from(`${parts.join('')}--${boundary}--\r\n`)]), {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  })
  const options = { maxFieldSize: limits.fieldSize, maxFiles: limits.files }
  return processRequest(fields as never, new EventEmitter() as never, options)
}

function replaceUpload(request: unknown, path: string[], file: IncomingFile): void {
  let at = request as Record<string, unknown>
  for (const step of path.slice(0, -1)) at = at[step] as Record<string, unknown>
  if (at[path.at(-1)!] instanceof Upload) at[path.at(-1)!] = file
}

const createMalformedError = (reason: string): AssayError =>
  badUserInput([{ field: 'body', message: `must follow the GraphQL multipart request specification (${reason.slice(0, 200)})` }])
