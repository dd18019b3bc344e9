import type { Readable } from 'node:stream'
import { notFound, storageUnavailable } from '../../errors/errors.js'
import { megabyte } from '../../units.js'
import { type BlobDownloadGrant, createAttachmentHeader } from '../blob-storage.js'
import type { BucketApi, BucketObject, BucketPage, BucketRead, BucketUpload, TestWrite } from '../bucket/bucket-api.js'
import { BucketStorage } from '../bucket/bucket-storage.js'
import { readContent, readText } from '../bucket/connection.js'
import { readWithChecksum } from '../bucket/content.js'
import { BucketError, type BucketLimits, getHttpStatus, ignoreHttpStatus, toBucketError } from '../bucket/retry.js'
import { GcsAccess, type GcsOptions, type ObjectMetadata, parseObject, uploadObject } from './access.js'
import { Crc32c } from './crc32c.js'
import { type StoredObject, uploadInChunks } from './resumable.js'
import { createHmacSigner, type HmacKey, signUrl } from './sign-url.js'

const maxSingleRequestBytes = 8 * megabyte

export class GcsStorage extends BucketStorage {
  constructor(options: GcsOptions) {
    super(new GcsBucket(options), options)
  }
}

class GcsBucket implements BucketApi {
  readonly kind = 'gcs'
  readonly requiresConditions = true
  readonly description: string
  readonly bucketName: string
  readonly limits: BucketLimits
  readonly #access: GcsAccess
  readonly #hmac: HmacKey | undefined

  constructor(options: GcsOptions) {
    this.#access = new GcsAccess(options)
    this.bucketName = options.bucket
    this.limits = this.#access.limits
    this.#hmac = options.hmac
    const endpoint = options.emulatorHost ?? options.endpoint
    this.description = `gs://${options.bucket}${options.prefix ? `/${options.prefix}` : ''}${endpoint ? ` at ${this.#access.endpoint}` : ''}`
  }

  async upload(upload: BucketUpload): Promise<void> {
    const { path, content } = upload
    const stored =
      content.size <= maxSingleRequestBytes
        ? await this.#putSmallObject(upload)
        : await uploadInChunks({ ...upload, access: this.#access })
    if (stored.size === content.size && stored.crc32c === stored.expectedCrc32c) return
    await this.remove(upload, { ifGenerationMatch: stored.generation })
    throw storageUnavailable(
      'The stored object does not match the uploaded content (the size or CRC32C differs). The object was deleted. Retry the upload.',
      new Error(`Affected blob path: '${path}'.`),
    )
  }

  /** Request preconditions: https://cloud.google.com/storage/docs/request-preconditions */
  async write({ name, bytes, checksummedBytes = bytes, ifAbsent, limits }: TestWrite): Promise<void> {
    const crc32c = new Crc32c()
    crc32c.update(checksummedBytes)
    const resource = { contentType: 'text/plain', crc32c: crc32c.toString() }
    const object = { name, bytes, resource, ...(ifAbsent && { ifGenerationMatch: '0' }) }
    await this.#access.withRetries({ action: 'write a test object', ...(limits && { limits }) }, (signal) =>
      uploadObject(this.#access, object, signal),
    )
  }

  async copy(from: BucketObject, to: BucketObject): Promise<void> {
    const target = this.#access.getObjectPath(to.name).replace('/storage/v1', '')
    for (let rewriteToken: string | undefined, done = false; !done; ) {
      const query = new URLSearchParams({ ifGenerationMatch: '0', ...(rewriteToken && { rewriteToken }) })
      const url = `${this.#access.getObjectPath(from.name)}/rewriteTo${target}?${query}`
      const result = await this.#access.withRetries({ action: `copy '${from.path}'` }, async (signal) => {
        try {
          const body = await this.#access.requestJson(url, { method: 'POST', headers: {}, signal })
          return body as { done?: boolean; rewriteToken?: string }
        } catch (error) {
          if (getHttpStatus(error) === 404) throw notFound('blob', from.path)
          // Status 412 means that an earlier attempt succeeded, but its response was lost. No other upload uses this reserved
          // path.
          if (getHttpStatus(error) === 412) return { done: true }
          throw error
        }
      })
      done = result.done === true
      rewriteToken = result.rewriteToken
    }
  }

  /** Deletes a blob if it exists. With `ifGenerationMatch`, fails if another upload has replaced the blob. */
  async remove({ name, path }: BucketObject, query: { ifGenerationMatch?: string } = {}): Promise<void> {
    const url = `${this.#access.getObjectPath(name)}?${new URLSearchParams(query)}`
    await this.#access.withRetries({ action: `remove '${path}'` }, (signal) =>
      this.#access.requestJson(url, { method: 'DELETE', headers: {}, signal }).catch(ignoreHttpStatus(404)),
    )
  }

  sign(name: string, { path, filename, contentType, expiresInSeconds }: BlobDownloadGrant): Promise<string> {
    const { endpoint, bucketName: bucket } = this.#access
    const query = {
      'response-content-disposition': createAttachmentHeader(filename),
      'response-content-type': contentType,
    }
    const download = { endpoint, bucket, name, expiresInSeconds, query }
    if (this.#hmac) return signUrl(createHmacSigner(this.#hmac), download)
    return this.#access.withRetries({ action: `sign a URL for '${path}'` }, async () =>
      signUrl(await this.#access.getServiceAccountSigner(), download),
    )
  }

  /** The bucket itself deletes unfinished uploads: https://cloud.google.com/storage/docs/resumable-uploads#session-uris */
  async abortUploads(): Promise<number> {
    return 0
  }

  close(): void {
    this.#access.close()
  }

  async #putSmallObject(upload: BucketUpload): Promise<StoredObject> {
    const { name, path, content } = upload
    const crc32c = new Crc32c()
    const bytes = await readWithChecksum(content, crc32c)
    const expectedCrc32c = crc32c.toString()
    const metadata = { contentType: upload.contentType, crc32c: expectedCrc32c, metadata: { upload: upload.id } }
    const object = { name, bytes, resource: metadata, ifGenerationMatch: '0' }
    const { limits } = this.#access
    // Limit each attempt to part of the call's timeout, so that time remains for a retry.
    const attempts = { action: `store '${path}'`, attemptMs: limits.callMs * 0.6 }
    const stored = await this.#access.withRetries(attempts, (signal) => uploadObject(this.#access, object, signal))
    return { ...stored, expectedCrc32c }
  }

  async getMetadata({ name, path }: BucketObject): Promise<ObjectMetadata | null> {
    const url = this.#access.getObjectPath(name)
    const resource = await this.#access.withRetries({ action: `describe '${path}'` }, (signal) =>
      this.#access.requestJson(url, { method: 'GET', headers: {}, signal }).then(parseObject).catch(ignoreHttpStatus(404)),
    )
    return resource ?? null
  }

  async read({ name, path, range, limits = this.limits }: BucketRead): Promise<Readable> {
    const url = `${this.#access.getObjectPath(name)}?alt=media`
    const headers: Record<string, string> = range ? { Range: `bytes=${range.start}-${range.end}` } : {}
    return this.#access.withRetries({ action: `read '${path}'`, attemptMs: limits.idleMs, limits }, async (signal) => {
      const response = await this.#access.send(url, { method: 'GET', headers, signal })
      if (response.status === 200 || response.status === 206)
        return readContent(response.body, { action: `read '${path}'`, length: Number(response.headers['content-length']) })
      throw toBucketError(response, await readText(response))
    })
  }

  async listPage({ prefix, after, pageToken }: Parameters<BucketApi['listPage']>[0]): Promise<BucketPage> {
    const query = {
      prefix,
      startOffset: after,
      pageToken,
      maxResults: '1000',
      fields: 'items(name,size,timeCreated),nextPageToken',
    }
    const parameters = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))
    const path = `/storage/v1/b/${this.#access.bucketName}/o?${new URLSearchParams(parameters)}`
    return this.#access.withRetries({ action: 'list its blobs' }, async (signal) => {
      const page = await this.#access.requestJson(path, { method: 'GET', headers: {}, signal })
      // The response for a page without items is `{}`.
      if (typeof page !== 'object' || page === null) throw new BucketError(502, 'the response is not a list')
      const { items = [], nextPageToken } = page as Page
      // Emulators that are written in Go omit a size of 0.
      const objects = items.map(({ name, size, timeCreated }) => ({
        path: name,
        size: Number(size ?? 0),
        storedAt: new Date(timeCreated),
      }))
      return { objects, nextPageToken }
    })
  }
}

/** A page of the object list: https://cloud.google.com/storage/docs/json_api/v1/objects/list */
interface Page {
  items?: { name: string; size?: string; timeCreated: string }[]
  nextPageToken?: string
}
