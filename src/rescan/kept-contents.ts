import { createReadStream } from 'node:fs'
import type { Content } from '../body/content.js'
import type { Spool } from '../body/spool.js'
import { memoryContent } from '../body/spooled-content.js'
import { AssayError } from '../errors.js'
import type { BlobStorage } from '../storage/blob-storage.js'
import { LocalStorage } from '../storage/local/local.js'
import type { DueFile } from './rescan-queue.js'

interface Opened {
  content: Content
  dispose(): Promise<void>
}

/** Contents of kept files for a scanner, which may open them several times: where they lie on a disk, or fetched from the bucket. */
export class KeptContents {
  readonly #storage: BlobStorage
  readonly #spool: Spool

  constructor(parts: { storage: BlobStorage; spool: Spool }) {
    this.#storage = parts.storage
    this.#spool = parts.spool
  }

  /** Undefined where there is none, or another one. Throws `storageUnavailable`. */
  async open({ blobPath, sizeBytes, checksum }: DueFile): Promise<Opened | undefined> {
    try {
      return this.#storage instanceof LocalStorage
        ? await inPlace(this.#storage, { blobPath, sizeBytes, checksum })
        : await this.#fetched({ blobPath, sizeBytes, checksum })
    } catch (error) {
      if (error instanceof AssayError && error.code === 'not_found') return undefined
      throw error
    }
  }

  async #fetched({ blobPath, sizeBytes, checksum }: Kept): Promise<Opened | undefined> {
    const { content, dispose } = await this.#spool.take(await this.#storage.open(blobPath), () => sizeBytes, {
      expected: sizeBytes,
    })
    if (content?.sha256 === checksum) return { content, dispose }
    await dispose()
    return undefined
  }
}

type Kept = Pick<DueFile, 'blobPath' | 'sizeBytes' | 'checksum'>

async function inPlace(storage: LocalStorage, { blobPath, sizeBytes, checksum }: Kept): Promise<Opened | undefined> {
  if ((await storage.size(blobPath)) !== sizeBytes) return undefined
  const dispose = async () => {}
  if (sizeBytes <= inMemory) {
    const bytes = Buffer.concat(await (await storage.open(blobPath)).toArray())
    return { content: memoryContent(bytes, checksum), dispose }
  }
  const path = storage.fileOf(blobPath)
  const stream: Content['stream'] = (range) => createReadStream(path, { ...range, highWaterMark: 256 * 1024 })
  return { content: { size: sizeBytes, sha256: checksum, path, stream }, dispose }
}

// Up to here the embedded engine looks at a content in memory where it is.
const inMemory = 64 * 1024
