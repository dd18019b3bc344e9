import type { Readable } from 'node:stream'
import type { Content } from '../../spool/content.js'
import type { BlobDownloadGrant, StoredBlob } from '../blob-storage.js'
import type { BucketLimits } from './retry.js'

/** An object in the bucket. `name` is its full name, including the prefix. `path` is its blob path, for error messages. */
export interface BucketObject {
  name: string
  path: string
}

export interface BucketUpload extends BucketObject {
  content: Content
  contentType: string
  /** Unique id of this upload. After a lost response, the id shows whether the stored object is from this upload. */
  id: string
  signal?: AbortSignal | undefined
}

export interface BucketRead extends BucketObject {
  range?: { start: number; end: number } | undefined
  limits?: BucketLimits
}

export interface BucketPage {
  /** Objects on the page. Their `path` is the object name, including the prefix. */
  objects: StoredBlob[]
  nextPageToken: string | undefined
}

export interface TestWrite {
  name: string
  bytes: Buffer
  /** Bytes whose checksum the request declares. Defaults to `bytes`. */
  checksummedBytes?: Buffer
  ifAbsent?: boolean
  limits?: BucketLimits
}

export interface BucketMetadata {
  size: number
  upload?: unknown
}

/** Sends requests to one kind of bucket. Each call has a timeout, and failed calls throw `storageUnavailable`. */
export interface BucketApi {
  readonly kind: 'gcs' | 's3'
  readonly description: string
  readonly bucketName: string
  readonly limits: BucketLimits
  /** False if the operator accepts a bucket that lacks conditional writes. */
  readonly requiresConditions: boolean
  /** Stores an object and verifies its checksum. Throws `BlobExistsError` if another object has this name. */
  upload(upload: BucketUpload): Promise<void>
  /** Stores a small object. Replaces an existing one unless `ifAbsent` is true. */
  write(write: TestWrite): Promise<void>
  read(read: BucketRead): Promise<Readable>
  /** Copies an object within the bucket, without downloading its content. Throws `notFound`. */
  copy(from: BucketObject, to: BucketObject): Promise<void>
  getMetadata(object: BucketObject): Promise<BucketMetadata | null>
  /** Deletes an object. Succeeds if the object does not exist. */
  remove(object: BucketObject): Promise<void>
  /**
   * Returns one page of objects, sorted by name: the page that `pageToken` identifies, or the first page of names greater than
   * `after`.
   */
  listPage(query: { prefix: string; after: string | undefined; pageToken: string | undefined }): Promise<BucketPage>
  sign(name: string, grant: BlobDownloadGrant): Promise<string>
  /** Aborts unfinished uploads that started before this time. Returns the number of aborted uploads. */
  abortUploads(prefix: string, before: Date): Promise<number>
  /** Throws `storageUnavailable` if this machine's clock and the bucket's clock differ too much. */
  assertClock?(): void
  close(): void
}
