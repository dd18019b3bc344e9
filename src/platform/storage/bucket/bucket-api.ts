import type { Readable } from 'node:stream'
import type { Content } from '../../spool/content.js'
import type { BlobDownloadGrant, StoredBlob } from '../blob-storage.js'
import type { BucketLimits } from './retry.js'

/** An object of the bucket. `name` includes the prefix. `path` is for error messages. */
export interface BucketObject {
  name: string
  path: string
}

export interface BucketUpload extends BucketObject {
  content: Content
  contentType: string
  /** Identifies this upload if its response is lost and an object exists at the path. */
  id: string
  signal?: AbortSignal | undefined
}

export interface BucketRead extends BucketObject {
  range?: { start: number; end: number } | undefined
  limits?: BucketLimits
}

export interface BucketPage {
  /** Their paths are object names. */
  objects: StoredBlob[]
  nextPageToken: string | undefined
}

/** Result of a write that the bucket must reject. `unsupported`: the bucket rejects conditional writes as not implemented. */
export type TrialResult = 'stored' | 'rejected' | 'unsupported'

/** A small write whose rejection `proveBucket` examines. */
export interface TrialWrite {
  name: string
  bytes: Buffer
  /** The bytes whose checksum is sent. */
  declared: Buffer
  /** Only if no object has the name. */
  ifAbsent: boolean
}

/** Requests of one kind of bucket. Each call is bounded in time and throws `storageUnavailable`. */
export interface BucketApi {
  readonly kind: 'gcs' | 's3'
  readonly description: string
  readonly bucketName: string
  readonly limits: BucketLimits
  /** False if the operator accepts a bucket that rejects conditional writes. */
  readonly requiresConditions: boolean
  /** Stores the object and verifies its checksum. Throws `BlobExistsError` if another object has the name. */
  upload(upload: BucketUpload): Promise<void>
  /** Overwrites an object. */
  overwrite(name: string, bytes: Buffer): Promise<void>
  tryToWrite(write: TrialWrite): Promise<TrialResult>
  /** Throws `notFound`. */
  read(read: BucketRead): Promise<Readable>
  /** The bucket copies the content, so that the service transfers nothing. Throws `notFound`. */
  copy(from: BucketObject, to: BucketObject): Promise<void>
  /** Null if the object does not exist. */
  size(object: BucketObject): Promise<number | null>
  /** Also succeeds if the object does not exist. */
  remove(object: BucketObject): Promise<void>
  /** Lists objects in ascending order, after the name `after` or at the page token. */
  page(query: { prefix: string; after: string | undefined; pageToken: string | undefined }): Promise<BucketPage>
  sign(name: string, grant: BlobDownloadGrant): Promise<string>
  /** Aborts uploads that began before this time and were never completed. Returns their number. */
  abortUploads(prefix: string, before: Date): Promise<number>
  /** Throws `storageUnavailable` if the clock of this machine differs too much from that of the bucket. */
  assertClock?(): void
  close(): void
}
