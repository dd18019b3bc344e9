import type { Readable } from 'node:stream'
import contentDisposition from 'content-disposition'
import { AssayError } from '../errors/errors.js'
import type { Content } from '../spool/content.js'

/** Permission to download a file with a pre-signed URL. */
export interface DownloadGrant {
  tenantId: string
  fileId: string
  /** Id of the API key or user that creates the URL. In a local store, the URL is valid only while this credential is valid. */
  by: string
  /** True for a single-use URL. Only a local store supports such URLs. */
  once?: boolean
  expiresInSeconds: number
}

export interface BlobDownloadGrant extends DownloadGrant {
  path: string
  filename: string
  contentType: string
}

export interface StoredBlob {
  path: string
  size: number
  storedAt: Date
}

/** Thrown by `put`, which never overwrites a blob. This error indicates a bug, because each path ends with a new id. */
export class BlobExistsError extends AssayError {
  constructor(path: string) {
    super(
      'storage_unavailable',
      'The store already contains a different blob at this path. Nothing was overwritten. Retry the request.',
      {
        retryAfter: 1,
        cause: new Error(`A blob already exists at '${path}', and blobs are never overwritten.`),
      },
    )
  }
}

/** Stores blobs at paths that never come from clients. Failures throw `storageUnavailable`. test/contract tests all stores. */
export interface BlobStorage {
  readonly kind: 'local' | 'gcs' | 's3'
  /** Location of the blobs, shown at startup. It contains no secrets. */
  readonly description: string
  /**
   * Stores a blob durably. Throws `BlobExistsError` if the path is in use. The store may use the file at `content.path` as the
   * blob.
   */
  put(path: string, content: Content, options: { contentType: string; signal?: AbortSignal }): Promise<void>
  /**
   * Opens a blob, or its bytes from `start` to `end`, inclusive. Throws `notFound` if the blob does not exist. If the content is
   * truncated, the stream ends with an error.
   */
  open(path: string, range?: { start: number; end: number }): Promise<Readable>
  /** Copies a blob durably, but never overwrites an existing one. Throws `notFound` if `from` does not exist. */
  copy(from: string, to: string): Promise<void>
  /** Returns the size in bytes, or null if the blob does not exist. */
  getSize(path: string): Promise<number | null>
  /** Deletes a blob. Succeeds if the blob does not exist. */
  remove(path: string): Promise<void>
  /** Lists the blobs whose path is greater than `after`, in ascending order of UTF-8 bytes. Used only by the reconciler. */
  list(after?: string): AsyncIterable<StoredBlob>
  /** Deletes the parts of unfinished uploads that are more than a day old. Returns the number of these uploads. */
  abortUploads(): Promise<number>
  /** Creates a URL that can be used for `expiresInSeconds` to download the blob without credentials. */
  signDownload(grant: BlobDownloadGrant): Promise<string>
  /** Throws `storageUnavailable` if writing to the store or reading from it fails. */
  assertReady(): Promise<void>
  close(): Promise<void>
}

/** Returns the `Content-Disposition` header of a download (RFC 6266), with an ASCII fallback for old clients. */
export const createAttachmentHeader = (filename: string): string =>
  contentDisposition(filename, { type: 'attachment', fallback: filename.replace(/[^\x20-\x7e]/gu, '?') })
