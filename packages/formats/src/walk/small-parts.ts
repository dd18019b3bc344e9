import { mayContainContainer } from '../archive/containers.js'
import { MemorySource } from '../random-access-source.js'
import type { Members } from './opener.js'

const joinedBytes = 1024 * 1024
const separator = Buffer.from('\n')

/**
 * Joins small parts of a document for one scan. The WebAssembly scan engine needs several milliseconds per scan, and documents
 * can have thousands of parts.
 */
export class SmallParts {
  readonly #members: Members
  #parts: Buffer[] = []
  #bytes = 0

  constructor(members: Members) {
    this.#members = members
  }

  async addPart(bytes: Buffer): Promise<void> {
    if (this.#members.visitsPartsSeparately || bytes.length > joinedBytes || mayContainContainer(bytes))
      return this.#members.addContent(new MemorySource(bytes))
    this.#parts.push(bytes, separator)
    this.#bytes += bytes.length
    if (this.#bytes > joinedBytes) await this.flush()
  }

  async flush(): Promise<void> {
    const bytes = Buffer.concat(this.#parts)
    this.#parts = []
    this.#bytes = 0
    if (bytes.length > 0) await this.#members.addContent(new MemorySource(bytes))
  }
}
