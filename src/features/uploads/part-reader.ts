import { Readable } from 'node:stream'
import { storageUnavailable } from '../../platform/errors/errors.js'
import type { Content } from '../../platform/spool/content.js'
import type { BlobStorage } from '../../platform/storage/blob-storage.js'
import type { Part } from './resumable-upload.service.js'

/** Returns a stream of the parts, followed by `appended`. The stream fails with `storageUnavailable` if a part is incomplete. */
export const readParts = (storage: Pick<BlobStorage, 'open'>, parts: Part[], appended?: Content): Readable =>
  Readable.from(streamParts(storage, parts, appended), { objectMode: false, highWaterMark: 256 * 1024 })

async function* streamParts(storage: Pick<BlobStorage, 'open'>, parts: Part[], appended?: Content): AsyncGenerator<Buffer> {
  for (const { path, size } of parts) {
    let left = size
    try {
      for await (const chunk of await storage.open(path)) {
        left -= chunk.length
        yield chunk
      }
    } catch (error) {
      throw createIncompletePartError(path, error)
    }
    if (left !== 0) throw createIncompletePartError(path, new Error(`${left} of the part's ${size} bytes are missing.`))
  }
  if (appended) yield* appended.stream()
}

const createIncompletePartError = (path: string, cause: unknown) =>
  storageUnavailable('A stored part of the upload cannot be read. Retry later.', new Error(`'${path}'`, { cause }))
