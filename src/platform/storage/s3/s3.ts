import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandInput,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { notFound, storageUnavailable } from '../../errors/errors.js'
import { type BlobDownloadGrant, BlobExistsError, createAttachmentHeader } from '../blob-storage.js'
import type {
  BucketApi,
  BucketMetadata,
  BucketObject,
  BucketPage,
  BucketRead,
  BucketUpload,
  TestWrite,
} from '../bucket/bucket-api.js'
import { BucketStorage } from '../bucket/bucket-storage.js'
import { readContent } from '../bucket/connection.js'
import { updateChecksum } from '../bucket/content.js'
import { BucketError, type BucketLimits, ignoreHttpStatus } from '../bucket/retry.js'
import { S3Access, type S3Options } from './access.js'
import {
  copyObject,
  getPartSize,
  maxSingleRequestBytes,
  sendContentPart,
  toBody,
  uploadParts,
  withPayloadHash,
} from './multipart.js'

/** Stores blobs in an Amazon S3 bucket, or in a compatible store. */
export class S3Storage extends BucketStorage {
  constructor(options: S3Options) {
    super(new S3Bucket(options), options)
  }
}

class S3Bucket implements BucketApi {
  readonly kind = 's3'
  readonly requiresConditions: boolean
  readonly description: string
  readonly bucketName: string
  readonly limits: BucketLimits
  readonly #access: S3Access
  /** Names of objects that this process is writing. Used only if the store does not support conditional writes. */
  readonly #writing = new Set<string>()

  constructor(options: S3Options) {
    this.#access = new S3Access(options)
    this.limits = this.#access.limits
    this.bucketName = options.bucket
    this.requiresConditions = options.unconditionalWrites !== true
    this.description = `s3://${options.bucket}${options.prefix ? `/${options.prefix}` : ''} at ${options.endpoint ?? options.region}`
  }

  upload(upload: BucketUpload): Promise<void> {
    return this.requiresConditions ? this.#store(upload) : this.#storeIfAbsent(upload)
  }

  async write({ name, bytes, checksummedBytes = bytes, ifAbsent, limits = this.limits }: TestWrite): Promise<void> {
    const input = { ...this.#getObjectParameters(name), Body: bytes, ...(ifAbsent && { IfNoneMatch: '*' }) }
    await this.#access.withRetries({ action: 'write a test object', limits }, (signal) =>
      this.#access.send(withPayloadHash(new PutObjectCommand(input), computeSha256(checksummedBytes)), signal),
    )
  }

  async read({ name, path, range, limits = this.limits }: BucketRead): Promise<Readable> {
    const input = { ...this.#getObjectParameters(name), ...(range && { Range: `bytes=${range.start}-${range.end}` }) }
    const action = `read '${path}'`
    return this.#access.withRetries({ action, attemptMs: limits.idleMs, limits }, async (signal) => {
      const { Body, ContentLength } = await this.#access.send(new GetObjectCommand(input), signal)
      return readContent(Body as Readable, { action, length: ContentLength ?? Number.NaN })
    })
  }

  async copy(from: BucketObject, to: BucketObject): Promise<void> {
    const source = await this.getMetadata(from)
    if (source === null) throw notFound('blob', from.path)
    // Check before copying, because not all stores support conditional copies. The path is reserved and random, so no other upload uses it.
    if ((await this.getMetadata(to)) !== null) throw new BlobExistsError(to.path)
    await copyObject({ access: this.#access, from, to, size: source.size })
  }

  getMetadata({ name, path }: BucketObject): Promise<BucketMetadata | null> {
    const parameters = this.#getObjectParameters(name)
    return this.#access.withRetries({ action: `describe '${path}'` }, async (signal) => {
      const found = await this.#access.send(new HeadObjectCommand(parameters), signal).catch(ignoreHttpStatus(404))
      if (!found) return null
      if (found.ContentLength === undefined) throw new BucketError(502, 'the response contains no size')
      return { size: found.ContentLength, upload: found.Metadata?.upload }
    })
  }

  async remove({ name, path }: BucketObject): Promise<void> {
    const command = new DeleteObjectCommand(this.#getObjectParameters(name))
    await this.#access.withRetries({ action: `remove '${path}'` }, (signal) =>
      this.#access.send(command, signal).catch(ignoreHttpStatus(404)),
    )
  }

  listPage({ prefix, after, pageToken }: Parameters<BucketApi['listPage']>[0]): Promise<BucketPage> {
    const input = {
      Bucket: this.bucketName,
      Prefix: prefix,
      EncodingType: 'url' as const,
      ...(after !== undefined && { StartAfter: after }),
      ...(pageToken !== undefined && { ContinuationToken: pageToken }),
    }
    return this.#access.withRetries({ action: 'list its blobs' }, async (signal) => {
      const page = await this.#access.send(new ListObjectsV2Command(input), signal)
      if (page.IsTruncated && !page.NextContinuationToken)
        throw new BucketError(502, 'the response is a truncated list without a token for the next page')
      const objects = (page.Contents ?? []).map(({ Key = '', Size = 0, LastModified }) => ({
        path: decodeKey(Key),
        size: Size,
        storedAt: LastModified ?? new Date(0),
      }))
      return { objects, nextPageToken: page.IsTruncated ? page.NextContinuationToken : undefined }
    })
  }

  sign(name: string, grant: BlobDownloadGrant): Promise<string> {
    const command = new GetObjectCommand({
      ...this.#getObjectParameters(name),
      ResponseContentDisposition: createAttachmentHeader(grant.filename),
      ResponseContentType: grant.contentType,
    })
    return this.#access.withRetries({ action: `sign a URL for '${grant.path}'` }, () =>
      getSignedUrl(this.#access.client, command, { expiresIn: grant.expiresInSeconds }),
    )
  }

  async abortUploads(prefix: string, before: Date): Promise<number> {
    let aborted = 0
    let marker: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {}
    while (marker) {
      const input: ListMultipartUploadsCommandInput = { Bucket: this.bucketName, Prefix: prefix, EncodingType: 'url', ...marker }
      const page = await this.#access.withRetries({ action: 'list unfinished uploads' }, (signal) =>
        this.#access.send(new ListMultipartUploadsCommand(input), signal),
      )
      for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
        if (!Key || !UploadId || !Initiated || Initiated > before) continue
        const abort = new AbortMultipartUploadCommand({ Bucket: this.bucketName, Key: decodeKey(Key), UploadId })
        // Ignore status 404, because it means that another replica has already aborted the upload.
        await this.#access.withRetries({ action: 'abort an unfinished upload' }, (signal) =>
          this.#access.send(abort, signal).catch(ignoreHttpStatus(404)),
        )
        aborted++
      }
      const { NextKeyMarker, NextUploadIdMarker } = page
      marker =
        page.IsTruncated && NextKeyMarker
          ? { KeyMarker: decodeKey(NextKeyMarker), ...(NextUploadIdMarker && { UploadIdMarker: NextUploadIdMarker }) }
          : undefined
    }
    return aborted
  }

  assertClock(): void {
    this.#access.assertClock()
  }

  close(): void {
    this.#access.close()
  }

  #getObjectParameters(name: string): { Bucket: string; Key: string } {
    return { Bucket: this.bucketName, Key: name }
  }

  /**
   * Stores an object without conditional writes. Detects an existing object only if it is complete or if this process is writing
   * it.
   */
  async #storeIfAbsent(upload: BucketUpload): Promise<void> {
    const { name, path } = upload
    if (this.#writing.has(name)) throw new BlobExistsError(path)
    this.#writing.add(name)
    try {
      if ((await this.getMetadata(upload)) !== null) throw new BlobExistsError(path)
      await this.#store(upload)
    } finally {
      this.#writing.delete(name)
    }
  }

  #store(upload: BucketUpload): Promise<void> {
    return upload.content.size <= maxSingleRequestBytes ? this.#putSmallObject(upload) : this.#putLargeObject(upload)
  }

  async #putSmallObject(upload: BucketUpload): Promise<void> {
    const { name, path, content, contentType, id } = upload
    const hash = await hashContent(upload)
    const input = {
      ...this.#getObjectParameters(name),
      ContentLength: content.size,
      ContentType: contentType,
      Metadata: { upload: id },
      ...(this.requiresConditions && { IfNoneMatch: '*' }),
    }
    // Limit each attempt to a part of the call's timeout, so that time remains for a retry.
    const attempts = { action: `store '${path}'`, attemptMs: this.limits.callMs * 0.6 }
    await this.#access.withRetries(attempts, async (signal) => {
      const body = toBody(content, { start: 0, end: content.size })
      try {
        await this.#access.send(withPayloadHash(new PutObjectCommand({ ...input, Body: body.value }), hash), signal)
      } finally {
        body.close()
      }
    })
  }

  #putLargeObject(upload: BucketUpload): Promise<void> {
    const { name, path, content, contentType, id, signal } = upload
    const access = this.#access
    const action = `store '${path}'`
    return uploadParts({
      access,
      name,
      action,
      signal,
      sendPart: (part) => sendContentPart({ access, upload, action }, part),
      size: content.size,
      partSize: getPartSize(content.size),
      create: { ContentType: contentType, Metadata: { upload: id } },
      ifAbsent: this.requiresConditions,
    })
  }
}

/**
 * Returns the SHA-256 of the content. Hashes a temporary file again, and throws `storageUnavailable` if it has changed since it
 * was received.
 */
async function hashContent({ content, path }: BucketUpload): Promise<string> {
  if (content.bytes) return content.sha256
  const hash = createHash('sha256')
  await updateChecksum(content, { start: 0, end: content.size }, hash)
  const found = hash.digest('hex')
  if (found === content.sha256) return found
  throw storageUnavailable(
    "The upload's temporary file has changed. Nothing was stored. Retry the upload.",
    new Error(`Affected blob path: '${path}'.`),
  )
}

// With `encoding-type=url`, '+' represents a space.
const decodeKey = (key: string) => decodeURIComponent(key.replaceAll('+', ' '))

const computeSha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
