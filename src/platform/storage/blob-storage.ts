import type { Readable } from 'node:stream'
import { AssayError } from '../errors/errors.js'
import type { Content } from '../spool/content.js'

/** Who may download which file by a pre-signed URL, and for how long. */
export interface DownloadGrant {
  tenantId: string
  fileId: string
  /** The API key or the user that asks; a local store's URL dies with it. */
  by: string
  /** Of use once: a local store's URL alone can be. */
  once?: boolean
  expiresInSeconds: number
}

/** What a bucket's URL must carry besides. */
export interface BlobGrant extends DownloadGrant {
  path: string
  filename: string
  contentType: string
}

/** A blob as the store lists it. */
export interface StoredBlob {
  path: string
  size: number
  storedAt: Date
}

/** Nothing is ever overwritten: `put` found the path taken. Paths end in a new id, so this is a fault of the program. */
export class BlobExists extends AssayError {
  constructor(path: string) {
    super(
      'storage_unavailable',
      'The store already contains another blob with the path of this one. Nothing was overwritten. Retry the request.',
      {
        retryAfter: 1,
        cause: new Error(`A blob already exists at '${path}', and blobs are never overwritten.`),
      },
    )
  }
}

/**
 * Where blobs live. Paths are Assay's own (never a client's), forward slashes, valid in any bucket.
 * Whatever fails for the store's reasons throws `storageUnavailable`, in bounded time. What a store is,
 * `blobStorageContract` in test/contract says.
 */
export interface BlobStorage {
  readonly kind: 'local' | 'gcs'
  /** For the banner: where the blobs are, without secrets. */
  readonly description: string
  /** Durable and whole when it resolves; never overwrites (throws `BlobExists`). May take `content.path` as the blob itself: do not write to it afterwards. */
  put(path: string, content: Content, options: { contentType: string; signal?: AbortSignal }): Promise<void>
  /** The bytes, or `start` to `end` inclusive, as far as there are any. Throws `notFound('blob', path)`; a stream that is cut short ends in an error. */
  open(path: string, range?: { start: number; end: number }): Promise<Readable>
  /** The same blob at another path, durable and whole when it resolves; as `put`, it never overwrites. Throws `notFound('blob', from)`. */
  copy(from: string, to: string): Promise<void>
  /** Size in bytes, or null where there is no such blob. */
  size(path: string): Promise<number | null>
  /** Succeeds also where there is nothing. */
  remove(path: string): Promise<void>
  /** Every blob whose path sorts after `after`, ascending by UTF-8 bytes (collation "C"). For the reconciler only. */
  list(after?: string): AsyncIterable<StoredBlob>
  /** A URL that gives the blob to its holder, for `expiresInSeconds`. */
  signDownload(grant: BlobGrant): Promise<string>
  /** Throws `storageUnavailable` where the store cannot be written and read now. */
  ready(): Promise<void>
  close(): Promise<void>
}
