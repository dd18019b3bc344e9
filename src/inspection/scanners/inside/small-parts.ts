import { MemorySource } from '@assay/formats'
import { mayHold } from '@assay/formats/archive'
import type { Looker } from './looker.js'

const togetherBytes = 1024 * 1024
const between = Buffer.from('\n')

/**
 * Looks at many small parts of one file together, since a look at each costs the WebAssembly engine some milliseconds: documents have
 * thousands. What is large, or a container itself, is looked at by itself.
 */
export class SmallParts {
  readonly #look: Looker
  #parts: Buffer[] = []
  #bytes = 0

  constructor(look: Looker) {
    this.#look = look
  }

  async add(bytes: Buffer): Promise<void> {
    if (bytes.length > togetherBytes || mayHold(bytes)) return this.#look.part(new MemorySource(bytes))
    this.#parts.push(bytes, between)
    this.#bytes += bytes.length
    if (this.#bytes > togetherBytes) await this.flush()
  }

  async flush(): Promise<void> {
    const bytes = Buffer.concat(this.#parts)
    this.#parts = []
    this.#bytes = 0
    if (bytes.length > 0) await this.#look.part(new MemorySource(bytes))
  }
}
