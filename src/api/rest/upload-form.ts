import type { IncomingMessage } from 'node:http'
import type { Actor } from '../../platform/actor.js'
import { type FieldError, invalidField } from '../../platform/errors/errors.js'
import type { Spooled } from '../../platform/spool/content.js'
import { IncomingFile } from '../../platform/spool/content.js'
import type { Spool } from '../../platform/spool/spool.js'
import { megabyte } from '../../platform/units.js'
import { createImpreciseNumberMessage, findImpreciseNumber } from '../bodies/json.js'
import { type FilePart, Multipart } from '../bodies/multipart.js'
import { sendContinue } from '../bodies/request-body.js'
import { findUnknownNames, type RawValue, type RestRequest } from './variables.js'

const limits = { fields: 16, files: 16, fieldSize: 64 * 1024 }

export interface FixedContext {
  context: string
  maxBytes: number
}

interface UploadFormOptions {
  spool: Spool
  /** Maximum upload size in bytes across all contexts. */
  ceiling: number
  idleMs: number
  /** Names of the fields that may accompany the file. */
  fields: readonly string[]
  /** Fixed context and maximum file size in bytes. Undefined if the form selects the context. */
  fixed?: FixedContext | undefined
  /**
   * Returns the context's rules, or undefined if the context does not exist. Their maximum file size applies to the rest of the
   * upload.
   */
  getRules: (contextKey: string) => Promise<Rules | undefined>
}

/** A REST upload with one file and a few small fields in any order. The file streams into the spool. */
export class UploadForm {
  readonly values = new Map<string, RawValue>()
  readonly errors: FieldError[] = []
  /** True if the file exceeded a limit, and the rest of the body was therefore not read. */
  isTruncated = false
  #limit: number
  #spooled: Spooled | undefined
  #files = 0
  readonly #pending: Promise<unknown>[] = []

  constructor(private readonly options: UploadFormOptions) {
    this.#limit = Math.min(options.ceiling, options.fixed?.maxBytes ?? options.ceiling)
    if (options.fixed) this.values.set('context', { value: options.fixed.context, format: 'text' })
  }

  async dispose(): Promise<void> {
    await this.#spooled?.dispose()
  }

  /** Reads an upload form. Throws 415 if the body is not multipart, and 400 if it is malformed. */
  async read(request: IncomingMessage): Promise<void> {
    const body = new Multipart(request, {
      ...this.options,
      limits,
      onField: (name, value, truncated) => this.#onField(name, value, truncated),
      onFile: (file) => this.#onFile(file, (error) => body.stop(error)),
      onTooMany: () => this.#addError('body', `must contain one file and at most ${limits.fields} fields`),
      broken: (why) => invalidField('body', `must be a well-formed multipart/form-data body (${why.slice(0, 100)})`),
    })
    try {
      await body.read()
      // Iterate over the live array, because another promise can be added while one is awaited.
      for (const pending of this.#pending) await pending
    } finally {
      await Promise.allSettled(this.#pending)
    }
    if (this.#files === 0 && !this.errors.some(({ field }) => field === 'file')) this.#addError('file', 'is required')
  }

  #onFile(file: FilePart, stop: (error?: unknown) => void): void {
    if (file.name !== 'file') {
      // A field may also have a file name, because browsers can set the content type of a value only by sending it as a Blob.
      if (file.name !== undefined && this.options.fields.includes(file.name))
        this.#pending.push(file.readText().then(({ value, truncated }) => this.#onField(file.name, value, truncated)))
      else {
        this.#addUnknownFieldError(file.name)
        file.skip()
      }
      return
    }
    this.#files++
    if (this.#files > 1 || !file.filename) {
      this.#addError('file', this.#files > 1 ? 'must not be sent more than once' : 'must have a file name')
      file.skip()
      return
    }
    const receiving = this.#receiveFile(file).then(() => this.isTruncated && stop())
    receiving.catch(stop)
    this.#pending.push(receiving)
  }

  async #receiveFile(file: FilePart): Promise<void> {
    const spooled = await file.receive(() => this.#limit)
    this.#spooled = spooled
    this.isTruncated = !spooled.content
    const incoming = new IncomingFile(file.filename, async () => spooled)
    this.values.set('file', { value: incoming, format: 'text' })
  }

  #onField(name: string | undefined, value: string, truncated: boolean): void {
    if (name === 'file') this.#addError('file', 'must be a file with a file name')
    else if (name === undefined || !this.options.fields.includes(name)) this.#addUnknownFieldError(name)
    else if (this.values.has(name)) this.#addError(name, 'must not be sent more than once')
    else if (truncated) this.#addError(name, `must be at most ${limits.fieldSize} bytes`)
    else this.#addValue(name, value)
  }

  #addValue(name: string, value: string): void {
    this.values.set(name, name === 'metadata' ? this.#parseJson(name, value) : { value, format: 'text' })
    if (name === 'context')
      this.#pending.push(
        this.options.getRules(value).then(
          (rules) => {
            // If the context is unknown or disabled, set the limit to 0, because nothing will be stored.
            const maxMb = rules?.status === 'active' ? rules.maxFileSizeMb : 0
            this.#limit = Math.min(maxMb * megabyte, this.options.ceiling)
          },
          () => {},
        ),
      )
  }

  #parseJson(name: string, text: string): RawValue {
    let value: unknown = null
    try {
      value = JSON.parse(text)
    } catch {}
    const inexact = findImpreciseNumber(text)
    // In a JSON body, null is treated as omitted. In a form, a part that contains `null` was sent explicitly, so it is invalid.
    if (value === null) this.#addError(name, 'must be a JSON object')
    else if (inexact) this.#addError(name, createImpreciseNumberMessage(inexact))
    else return { value, format: 'json' }
    return { value: {}, format: 'json' }
  }

  #addUnknownFieldError(name: string | undefined): void {
    const [error] = name
      ? findUnknownNames([name], ['file', ...this.options.fields], 'a part of this request')
      : [{ field: 'body', message: 'must contain a `name` parameter in the Content-Disposition header of each part' }]
    if (error) this.#addError(error.field, error.message)
  }

  #addError(field: string, message: string): void {
    if (!this.errors.some((error) => error.field === field)) this.errors.push({ field, message })
  }
}

interface Rules {
  status: 'active' | 'disabled'
  maxFileSizeMb: number
}

export interface Contexts {
  findWithCache(actor: Actor, contextKey: string): Promise<Rules | undefined>
}

/** Receives the parts of an upload or a dry run, passes them to `work`, and releases them afterwards. */
export async function readUpload<T>(
  { spool, contexts }: { spool: Spool; contexts: Contexts },
  { request, response, call, operation }: RestRequest,
  actor: Actor,
  work: (raw: Map<string, RawValue>) => Promise<T>,
  fixed?: FixedContext,
): Promise<T> {
  const { bodies } = call.admission
  sendContinue(request, response)
  const form = new UploadForm({
    spool,
    ceiling: bodies.ceiling,
    idleMs: bodies.idleMs,
    fields: operation.variables.map(({ name }) => name).filter((name) => name !== 'file' && !(fixed && name === 'context')),
    fixed,
    getRules: (contextKey) => contexts.findWithCache(actor, contextKey),
  })
  try {
    await form.read(request)
    if (form.isTruncated && !form.values.has('context')) throw bodies.createTooLargeError(bodies.ceiling + 1)
    call.inputErrors.push(...form.errors)
    return await work(form.values)
  } finally {
    await form.dispose()
  }
}
