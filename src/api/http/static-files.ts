import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Request, RequestHandler, Response } from 'express'
import { notFound } from '../../platform/errors/errors.js'

const brotli = promisify(brotliCompress)
const zip = promisify(gzip)

type Encoding = 'br' | 'gzip' | 'identity'

const encoders: Record<Encoding, (content: Buffer) => Promise<Buffer>> = {
  br: (content) =>
    brotli(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: content.length } }),
  gzip: (content) => zip(content, { level: 9 }),
  identity: async (content) => content,
}

/** Static text, compressed once on first use, so that later requests cause no compression work. */
export class StaticFile {
  readonly #encoded = new Map<Encoding, Promise<Buffer>>()
  #etag: string | undefined

  constructor(private readonly load: () => Promise<Buffer>) {}

  static at = (path: string | URL): StaticFile => new StaticFile(() => readFile(path))

  /** Sends the text in the best encoding that the client accepts. The caller sets all other headers. */
  async send(request: Request, response: Response): Promise<void> {
    const encoding = (request.acceptsEncodings(['br', 'gzip', 'identity']) || 'identity') as Encoding
    response.vary('Accept-Encoding')
    const content = await this.#encode(encoding)
    if (encoding !== 'identity') response.set('Content-Encoding', encoding)
    response.send(content)
  }

  /** Sends the text with an entity tag, or 304 if the client already has it. */
  async sendIfModified(request: Request, response: Response): Promise<void> {
    this.#etag ??= createEtag(await this.#encode('identity'))
    response.set('ETag', this.#etag)
    if (request.fresh) response.status(304).end()
    else await this.send(request, response)
  }

  #encode(encoding: Encoding): Promise<Buffer> {
    const known = this.#encoded.get(encoding)
    if (known) return known
    const made = (encoding === 'identity' ? this.load() : this.#encode('identity')).then(encoders[encoding])
    this.#encoded.set(encoding, made)
    made.catch(() => this.#encoded.delete(encoding))
    return made
  }
}

const createEtag = (content: Buffer) => `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`

/** Folder that contains the build output. Tests that run from source also use it. */
const dist = new URL('../../../dist/', import.meta.url)

/** Reads all files in a folder of dist/ into memory, so that a new build does not affect the running service. */
export async function readBuiltFiles(folder: string): Promise<Map<string, StaticFile>> {
  const url = new URL(`${folder}/`, dist)
  const names = await readdir(url)
  const contents = await Promise.all(names.map((name) => readFile(new URL(name, url))))
  return new Map(names.map((name, index) => [name, new StaticFile(async () => contents[index]!)]))
}

/** Serves files whose names contain a content hash, so that they never change. */
export const serveHashedFiles =
  (files: ReadonlyMap<string, StaticFile>): RequestHandler<{ file: string }> =>
  (request, response) => {
    const { file } = request.params
    const found = files.get(file)
    if (!found) throw notFound('page', request.path)
    return found.send(request, response.type(file).set('Cache-Control', 'public, max-age=31536000, immutable'))
  }

/** Returns the Content-Security-Policy of a page that loads resources only from `sources`. */
export const createContentSecurityPolicy = (...sources: string[]): string =>
  ["default-src 'none'", ...sources, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"].join('; ')

/** Returns true if a browser navigates to the URL. Scripts and other clients get JSON. */
export const acceptsHtml = (request: Request): boolean =>
  (request.method === 'GET' || request.method === 'HEAD') && request.accepts(['json', 'html']) === 'html'
