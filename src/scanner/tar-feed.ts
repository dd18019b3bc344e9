import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { extract } from 'tar-stream'

// Old tars have no magic, but a checksum that was right. The types do not know of it.
const tolerant = { allowUnknownFormat: true } as object

/** tar-stream, fed chunk by chunk by someone who does something else with the chunks as well. */
export class TarFeed {
  readonly #extract = extract(tolerant)
  readonly #members: Promise<void>

  constructor(member: (name: string, stream: Readable) => Promise<void>) {
    this.#members = this.#each(member)
    // Told by `push` or `end`, whichever comes next.
    this.#members.catch(() => {})
  }

  async push(chunk: Buffer): Promise<void> {
    if (this.#extract.destroyed) return this.#members
    if (!this.#extract.write(chunk)) await Promise.race([once(this.#extract, 'drain'), this.#members])
  }

  async end(): Promise<void> {
    if (!this.#extract.destroyed) this.#extract.end(null)
    await this.#members
  }

  async #each(member: (name: string, stream: Readable) => Promise<void>): Promise<void> {
    for await (const entry of this.#extract) {
      await member(entry.header.name, entry as unknown as Readable)
      entry.resume()
    }
  }
}
