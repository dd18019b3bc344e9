import { unlink } from 'node:fs/promises'
import { AssayError } from '../../platform/errors/errors.js'
import type { Content } from '../../platform/spool/content.js'
import { createFileContent, createMemoryContent } from '../../platform/spool/content.js'
import type { Spool } from '../../platform/spool/spool.js'
import type { BlobStorage } from '../../platform/storage/blob-storage.js'
import { LocalStorage } from '../../platform/storage/local/local.js'
import type { DueFile } from './rescan-queue.js'

interface OpenedContent {
  content: Content
  dispose(): Promise<void>
}

type StoredFile = Pick<DueFile, 'blobPath' | 'sizeBytes' | 'checksum'>

// Files up to this size are scanned in memory, without a worker.
const maxBytesInMemory = 64 * 1024

/** Opens stored files for a scanner, which may read each of them several times. */
export class StoredContents {
  /** `inSpool` means that the scanner runs in a sandbox that can read only the spool. */
  constructor(private readonly parts: { storage: BlobStorage; spool: Spool; inSpool: boolean }) {}

  /** Opens a stored file. Returns undefined if its content is missing or differs from the uploaded content. */
  async open(file: StoredFile): Promise<OpenedContent | undefined> {
    try {
      return this.parts.storage instanceof LocalStorage
        ? await this.#openLocal(this.parts.storage, file)
        : await this.#fetchToSpool(file)
    } catch (error) {
      if (error instanceof AssayError && error.code === 'not_found') return undefined
      throw error
    }
  }

  /** Throws if the store or the spool is unavailable, so that the failure is not attributed to a single file. */
  async assertReady(): Promise<void> {
    await Promise.all([this.parts.storage.assertReady(), this.parts.spool.assertReady()])
  }

  async #openLocal(storage: LocalStorage, { blobPath, sizeBytes, checksum }: StoredFile): Promise<OpenedContent | undefined> {
    if ((await storage.getSize(blobPath)) !== sizeBytes) return undefined
    if (sizeBytes <= maxBytesInMemory) {
      const bytes = Buffer.concat(await (await storage.open(blobPath)).toArray())
      return { content: createMemoryContent(bytes, checksum), dispose: async () => {} }
    }
    const path = storage.getFilePath(blobPath)
    if (!this.parts.inSpool) return { content: createFileContent(path, sizeBytes, checksum), dispose: async () => {} }
    const linked = await this.parts.spool.createHardLink(path)
    if (!linked) return this.#fetchToSpool({ blobPath, sizeBytes, checksum })
    return { content: createFileContent(linked, sizeBytes, checksum), dispose: () => unlink(linked) }
  }

  async #fetchToSpool({ blobPath, sizeBytes, checksum }: StoredFile): Promise<OpenedContent | undefined> {
    const { content, dispose } = await this.parts.spool.receive(await this.parts.storage.open(blobPath), () => sizeBytes, {
      expectedBytes: sizeBytes,
    })
    if (content?.sha256 === checksum) return { content, dispose }
    await dispose()
    return undefined
  }
}
