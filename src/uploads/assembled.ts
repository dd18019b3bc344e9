import { Readable } from 'node:stream'
import { chunks } from '../body/chunks.js'
import { storageUnavailable } from '../errors.js'
import type { BlobStorage } from '../storage/blob-storage.js'
import type { Part } from './resumable-upload.service.js'

/** The bytes of the parts, one after another. */
export const assembled = (storage: Pick<BlobStorage, 'open'>, parts: Part[]): Readable =>
  Readable.from(bytesOf(storage, parts), { objectMode: false, highWaterMark: 256 * 1024 })

/** Throws `storageUnavailable` where one is not whole. */
export async function* bytesOf(storage: Pick<BlobStorage, 'open'>, parts: Part[]): AsyncGenerator<Buffer> {
  for (const { path, size } of parts) {
    let left = size
    try {
      for await (const chunk of chunks(await storage.open(path))) {
        left -= chunk.length
        yield chunk
      }
    } catch (error) {
      throw incomplete(path, error)
    }
    if (left !== 0) throw incomplete(path, new Error(`${left} of its ${size} bytes did not come`))
  }
}

const incomplete = (path: string, cause: unknown) =>
  storageUnavailable('A part of the upload cannot be read at the moment.', new Error(`'${path}'`, { cause }))
