import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Request, Response } from 'express'

const brotli = promisify(brotliCompress)
const zip = promisify(gzip)

const encoders: Record<'br' | 'gzip', (content: Buffer) => Promise<Buffer>> = {
  br: (content) =>
    brotli(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: content.length } }),
  gzip: (content) => zip(content, { level: 9 }),
}

/** Static text, compressed once on first use, so that unauthenticated requests cause no compression work. */
export class Compressed {
  readonly #load: () => Promise<Buffer>
  readonly #encoded = new Map<string, Promise<Buffer>>()

  constructor(load: () => Promise<Buffer>) {
    this.#load = load
  }

  static file = (path: string): Compressed => new Compressed(() => readFile(path))

  /** Sends the text in the best encoding that the client accepts. The caller sets all other headers. */
  async send(request: Request, response: Response): Promise<void> {
    const encoding = request.acceptsEncodings(['br', 'gzip', 'identity'])
    response.vary('Accept-Encoding')
    if (encoding !== 'br' && encoding !== 'gzip') return void response.send(await this.#load())
    response.set('Content-Encoding', encoding).send(await this.#compress(encoding))
  }

  #compress(encoding: 'br' | 'gzip'): Promise<Buffer> {
    const known = this.#encoded.get(encoding)
    if (known) return known
    const made = this.#load().then(encoders[encoding])
    this.#encoded.set(encoding, made)
    made.catch(() => this.#encoded.delete(encoding))
    return made
  }
}
