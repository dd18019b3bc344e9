import type { Readable } from 'node:stream'
import { AssayError } from '../errors/errors.js'
import type { Content } from '../spool/content.js'

/** Permission to download a file with a pre-signed URL. */
export interface DownloadGrant {
  tenantId: string
  fileId: string
  /** API key or user. If it is revoked, the URL of a local store becomes invalid too. */
  by: string
  /** Single use. Only a local store supports it. */
  once?: boolean
  expiresInSeconds: number
}

/** Additional data for the URL of a bucket. */
export interface BlobDownloadGrant extends DownloadGrant {
  path: string
  filename: string
  contentType: string
}

/** An entry of `BlobStorage.list`. */
export interface StoredBlob {
  path: string
  size: number
  storedAt: Date
}

/** Thrown by `put`, which never overwrites a blob. Each path ends with a new id, so this is a bug. */
export class BlobExistsError extends AssayError {
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
 * Stores blobs. Paths have forward slashes, are valid in any bucket, and never come from clients. Errors of the store become
 * `storageUnavailable` within a bounded time. `blobStorageContract` in test/contract defines the behaviour.
 */
export interface BlobStorage {
  readonly kind: 'local' | 'gcs' | 's3'
  /** Location of the blobs for the banner, without secrets. */
  readonly description: string
  /**
   * The blob is durable when it resolves. Throws `BlobExistsError`. May turn `content.path` into the blob, so do not write to it
   * afterwards.
   */
  put(path: string, content: Content, options: { contentType: string; signal?: AbortSignal }): Promise<void>
  /** Opens the blob, or its bytes from `start` to `end`, inclusive. Throws `notFound`. A truncated stream ends with an error. */
  open(path: string, range?: { start: number; end: number }): Promise<Readable>
  /** Copies a blob. Like `put`, it is durable and never overwrites. Throws `notFound`. */
  copy(from: string, to: string): Promise<void>
  /** Size in bytes. Null if the blob does not exist. */
  size(path: string): Promise<number | null>
  /** Also succeeds if the blob does not exist. */
  remove(path: string): Promise<void>
  /** Lists the blobs with a path after `after`, ascending by UTF-8 bytes. Only for the reconciler. */
  list(after?: string): AsyncIterable<StoredBlob>
  /** Deletes the stored parts of uploads that ended more than a day ago without an object. Returns the number of these uploads. */
  abortUploads(): Promise<number>
  /** Creates a URL that downloads the blob without credentials for `expiresInSeconds`. */
  signDownload(grant: BlobDownloadGrant): Promise<string>
  /** Throws `storageUnavailable` if the store is not writable and readable. */
  ready(): Promise<void>
  close(): Promise<void>
}
