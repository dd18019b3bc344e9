import { readdir, readFile } from 'node:fs/promises'
import type { Request, Response } from 'express'

/** Build output folder. Tests that run from source also use it. */
const dist = new URL('../../../dist/', import.meta.url)

const suffixes = { br: '.br', gzip: '.gz', identity: '' }

/** Built files for a page, uncompressed and compressed. All of them are kept in memory, because they are few and small. */
export class BuiltFiles {
  readonly #files: ReadonlyMap<string, Buffer>

  private constructor(files: ReadonlyMap<string, Buffer>) {
    this.#files = files
  }

  /** Reads the files in `folder`, a path relative to dist/. */
  static async read(folder: string): Promise<BuiltFiles> {
    const url = new URL(`${folder}/`, dist)
    const names = await readdir(url)
    return new BuiltFiles(
      new Map(await Promise.all(names.map(async (name) => [name, await readFile(new URL(name, url))] as const))),
    )
  }

  has(name: string): boolean {
    return !/\.(br|gz)$/.test(name) && this.#files.has(name)
  }

  /** Sends a file in the best encoding that the client accepts. The caller sets all other headers. */
  send(name: string, request: Request, response: Response): void {
    const encoding = (request.acceptsEncodings(['br', 'gzip', 'identity']) || 'identity') as keyof typeof suffixes
    response.vary('Accept-Encoding').type(name)
    if (encoding !== 'identity') response.set('Content-Encoding', encoding)
    response.send(this.#files.get(name + suffixes[encoding]))
  }
}
