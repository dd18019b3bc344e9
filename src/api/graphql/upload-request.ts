import type { IncomingMessage, ServerResponse } from 'node:http'
import { type AssayError, invalidField } from '../../platform/errors/errors.js'
import { IncomingFile, type Spooled } from '../../platform/spool/content.js'
import type { Spool } from '../../platform/spool/spool.js'
import { createImpreciseNumberMessage, findImpreciseNumber, hasTooManyValues, maxJsonValues } from '../bodies/json.js'
import { type FilePart, Multipart } from '../bodies/multipart.js'

const limits = { fields: 16, files: 10, fieldSize: 1_000_000 }
/** Maximum length of the `map` form field, which assigns files to variables. */
const maxMapBytes = 10_000

interface UploadRequestOptions {
  spool: Spool
  /** Maximum size of a file in bytes. */
  ceiling: number
  idleMs: number
}

/**
 * Reads a request in the GraphQL multipart format (https://github.com/jaydenseric/graphql-multipart-request-spec). Returns the
 * request when its `map` field has arrived. The files stream into the spool while the request is executed. Throws 400 for a
 * malformed request.
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

/** A file listed in the `map` field. The resolver can use this object before the file arrives. */
class Expected {
  arrived = false
  arrive!: (part: { filename: string; received: Promise<Spooled> }) => void
  fail!: (error: unknown) => void
  readonly incoming: IncomingFile
  /** Returns the current size limit. Called for every chunk, because the resolver can lower the limit while the file arrives. */
  limit: () => number

  constructor(ceiling: number) {
    const getCeiling = () => ceiling
    this.limit = getCeiling
    const part = new Promise<{ filename: string; received: Promise<Spooled> }>((resolve, reject) => {
      this.arrive = resolve
      this.fail = reject
    })
    const name = part.then(({ filename }) => filename)
    // A resolver may ignore its file, so a file that fails to arrive must not cause an unhandled rejection.
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
  readonly #begin: (request: object) => void
  readonly #received: Promise<Spooled>[] = []
  #operations: object | undefined
  /** Files by part name. Undefined until the `map` field arrives. */
  #expected: Map<string, Expected> | undefined

  constructor(request: IncomingMessage, options: UploadRequestOptions, begin: (request: object) => void) {
    this.#ceiling = options.ceiling
    this.#begin = begin
    this.#body = new Multipart(request, {
      ...options,
      limits,
      onField: (name, value, truncated) => this.#onField(String(name), value, truncated),
      onFile: (file) => this.#onFile(file),
      onTooMany: () =>
        this.#body.stop(createMalformedError(`a request can contain at most ${limits.files} files and ${limits.fields} fields`)),
      broken: createMalformedError,
    })
  }

  async read(): Promise<void> {
    try {
      await this.#body.read()
      if (!this.#expected) throw createMalformedError("the fields 'operations' and 'map' are required")
      this.#failMissingFiles(invalidField('file', 'is listed in the `map` field, but the request contains no such part'))
    } catch (error) {
      this.#failMissingFiles(error)
      throw error
    }
  }

  #failMissingFiles(error: unknown): void {
    for (const expected of this.#expected?.values() ?? []) expected.fail(error)
  }

  /** Releases files that no resolver read. Called after the response is sent or the client has disconnected. */
  async end(): Promise<void> {
    this.#body.stop(invalidField('file', 'is missing, because the request ended before the file was received'))
    for (const received of await Promise.allSettled(this.#received))
      if (received.status === 'fulfilled') await received.value.dispose()
  }

  #onField(name: string, value: string, truncated: boolean): void {
    const error = findFieldError(name, value, truncated)
    if (error) throw error
    if (this.#expected) return
    if (name === 'operations') this.#operations = parseObject(name, value)
    if (name !== 'map') return
    if (!this.#operations) throw createMalformedError("'map' must follow 'operations'")
    this.#expected = this.#insertFiles(this.#operations, parseObject(name, value))
    // Begin after parsing the rest of the chunk, so that a small malformed form is rejected before its request is executed.
    setImmediate(this.#begin, this.#operations)
  }

  #insertFiles(operations: object, map: Record<string, unknown>): Map<string, Expected> {
    const files = Object.entries(map)
    if (files.length > limits.files) throw createMalformedError(`'map' must list at most ${limits.files} files`)
    return new Map(
      files.map(([name, paths]) => {
        const expected = new Expected(this.#ceiling)
        if (!Array.isArray(paths)) throw createMalformedError("'map' must contain a list of paths for each file")
        for (const path of paths) insertFile(operations, String(path), expected.incoming)
        return [name, expected]
      }),
    )
  }

  #onFile(file: FilePart): void {
    if (!this.#expected) throw createMalformedError("files must follow 'map'")
    const expected = this.#expected.get(file.name ?? '')
    if (!expected || expected.arrived) {
      file.skip()
      return
    }
    expected.arrived = true
    const received = file.receive(() => expected.limit())
    this.#received.push(received)
    received.then(
      ({ content }) => content ?? this.#body.stop(createMalformedError('another file in this request exceeds the size limit')),
      (error) => this.#body.stop(error),
    )
    expected.arrive({ filename: file.filename, received })
  }
}

function findFieldError(name: string, value: string, truncated: boolean): AssayError | undefined {
  if (truncated) return createMalformedError(`'${name.slice(0, 100)}' is longer than ${limits.fieldSize} bytes`)
  if (name === 'map' && value.length > maxMapBytes) return createMalformedError(`'map' is longer than ${maxMapBytes} bytes`)
  if (hasTooManyValues(Buffer.from(value))) return createMalformedError(`a field contains more than ${maxJsonValues} JSON values`)
  const inexact = name === 'operations' && findImpreciseNumber(value)
  return inexact ? invalidField('operations', createImpreciseNumberMessage(inexact)) : undefined
}

function parseObject(name: string, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {}
  throw createMalformedError(`'${name}' must be a JSON object`)
}

/** Replaces the null at a path such as `variables.file` or `variables.files.0` with the file. */
function insertFile(operations: object, path: string, file: IncomingFile): void {
  const steps = path.split('.')
  const name = steps.pop()!
  const parent = steps.reduce(getMember, operations)
  if (getMember(parent, name) !== null)
    throw createMalformedError(`the path '${path}' in 'map' must refer to a null value in 'operations'`)
  Object.assign(parent as object, { [name]: file })
}

const getMember = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? value[name as never] : undefined

const createMalformedError = (reason: string): AssayError =>
  invalidField('body', `must follow the GraphQL multipart request specification (${reason.slice(0, 200)})`)
