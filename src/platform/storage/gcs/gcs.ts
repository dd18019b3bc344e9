import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { notFound, storageUnavailable } from '../../errors/errors.js'
import { faultPoint } from '../../fault-points.js'
import type { Content } from '../../spool/content.js'
import { megabyte } from '../../units.js'
import { attachmentHeader } from '../attachment.js'
import { assertBlobPath, reservedPrefix } from '../blob-path.js'
import { type BlobDownloadGrant, BlobExistsError, type BlobStorage, type StoredBlob } from '../blob-storage.js'
import { readContent, readText } from '../bucket/connection.js'
import {
  BucketError,
  type BucketLimits,
  getCauseStatus,
  getMessage,
  getStatus,
  toBucketError,
  unavailable,
} from '../bucket/retry.js'
import { GcsAccess } from './access.js'
import type { GcsOptions } from './client.js'
import { parseObject, readWithChecksum } from './content.js'
import { Crc32c } from './crc32c.js'
import { type HmacKey, signUrl } from './hmac-url.js'
import { type StoredObject, uploadResumable } from './resumable.js'
import { uploadObject } from './upload-object.js'

const probeText = 'Assay writes this text to check that it can write.'
const probeIntervalMs = 10 * 60_000

/** Larger uploads take several requests. */
const maxSingleRequestBytes = 8 * megabyte

/** Blobs in a bucket of Google Cloud Storage. */
export class GcsStorage implements BlobStorage {
  readonly kind = 'gcs'
  readonly description: string
  readonly #access: GcsAccess
  readonly #prefix: string
  readonly #signingEndpoint: string | undefined
  readonly #hmac: HmacKey | undefined
  #probedAt: number | undefined

  constructor(options: GcsOptions) {
    this.#access = new GcsAccess(options)
    this.#prefix = options.prefix ? `${options.prefix}/` : ''
    this.#signingEndpoint = options.signingEndpoint
    this.#hmac = options.hmac
    const endpoint = options.emulatorHost ?? options.endpoint
    this.description = `gs://${options.bucket}${options.prefix ? `/${options.prefix}` : ''}${endpoint ? ` at ${this.#access.endpoint}` : ''}`
  }

  async put(path: string, content: Content, options: { contentType: string; signal?: AbortSignal }): Promise<void> {
    assertBlobPath(path)
    const name = this.#name(path)
    // Identifies this upload if its response is lost and an object exists at the path.
    const upload = { contentType: options.contentType, id: randomUUID() }
    const stored =
      content.size <= maxSingleRequestBytes
        ? await this.#putSmall(name, { path, content, upload, signal: options.signal })
        : await uploadResumable({
            name,
            path,
            content,
            upload,
            signal: options.signal,
            access: this.#access,
            getMetadata: () => this.#getMetadata(path),
          })
    faultPoint('bucket.stored')
    if (stored.size === content.size && stored.crc32c === stored.expectedCrc32c && !options.signal?.aborted) return
    await this.#delete(path, { ifGenerationMatch: stored.generation })
    options.signal?.throwIfAborted()
    throw storageUnavailable(
      'The bucket changed the content (the size or CRC32C differs). The object was deleted.',
      new Error(`The blob path is '${path}'.`),
    )
  }

  async open(path: string, range?: { start: number; end: number }): Promise<Readable> {
    assertBlobPath(path)
    if (range && range.start > range.end) throw new RangeError(`The range from ${range.start} to ${range.end} is empty.`)
    return this.#read(this.#name(path), { path, range })
  }

  /** The bucket copies the content itself, so the service transfers nothing. */
  async copy(from: string, to: string): Promise<void> {
    assertBlobPath(from)
    assertBlobPath(to)
    const target = this.#access.objectPath(this.#name(to)).replace('/storage/v1', '')
    for (let rewriteToken: string | undefined, done = false; !done; ) {
      const query = new URLSearchParams({ ifGenerationMatch: '0', ...(rewriteToken && { rewriteToken }) })
      const url = `${this.#access.objectPath(this.#name(from))}/rewriteTo${target}?${query}`
      const result = await this.#access.call({ action: `copy '${from}'` }, async (signal) => {
        try {
          const body = await this.#access.json(url, { method: 'POST', headers: {}, signal })
          return body as { done?: boolean; rewriteToken?: string }
        } catch (error) {
          if (getStatus(error) === 404) throw notFound('blob', from)
          // The response to an earlier attempt was lost. No other upload uses this reserved path.
          if (getStatus(error) === 412) return { done: true }
          throw error
        }
      })
      done = result.done === true
      rewriteToken = result.rewriteToken
    }
    faultPoint('bucket.stored')
  }

  async size(path: string): Promise<number | null> {
    assertBlobPath(path)
    return (await this.#getMetadata(path))?.size ?? null
  }

  async remove(path: string): Promise<void> {
    assertBlobPath(path)
    faultPoint('bucket.removing')
    await this.#delete(path)
    faultPoint('bucket.removed')
  }

  async *list(after?: string): AsyncGenerator<StoredBlob> {
    let pageToken: string | undefined
    do {
      const page = await this.#page(after, pageToken)
      for (const { name, size, timeCreated } of page.items ?? []) {
        const path = name.slice(this.#prefix.length)
        // The bucket also lists the object named `startOffset` itself.
        if (path === after || path.startsWith(reservedPrefix) || path.endsWith('/')) continue
        // Emulators in Go omit a size of 0.
        yield { path, size: Number(size ?? 0), storedAt: new Date(timeCreated) }
      }
      pageToken = page.nextPageToken
    } while (pageToken)
  }

  async signDownload(grant: BlobDownloadGrant): Promise<string> {
    // Use the same time for both. Otherwise rounding could shorten the lifetime by a second.
    const now = Date.now()
    if (this.#hmac) return this.#signWithHmac(this.#hmac, grant, new Date(now))
    const [url] = await this.#access.call({ action: `sign a URL for '${grant.path}'` }, () =>
      this.#access.file(this.#name(grant.path)).getSignedUrl({
        version: 'v4',
        action: 'read',
        accessibleAt: now,
        expires: now + grant.expiresInSeconds * 1000,
        responseDisposition: attachmentHeader(grant.filename),
        responseType: grant.contentType,
        ...(this.#signingEndpoint && { signingEndpoint: this.#signingEndpoint }),
      }),
    )
    return url
  }

  #signWithHmac(key: HmacKey, grant: BlobDownloadGrant, now: Date): string {
    return signUrl(key, {
      endpoint: this.#access.endpoint,
      bucket: this.#access.bucketName,
      name: this.#name(grant.path),
      expiresInSeconds: grant.expiresInSeconds,
      now,
      query: { 'response-content-disposition': attachmentHeader(grant.filename), 'response-content-type': grant.contentType },
    })
  }

  async ready(): Promise<void> {
    try {
      await this.#probe()
    } catch (error) {
      this.#probedAt = undefined
      const status = getCauseStatus(error)
      if (status === undefined || ![400, 401, 403, 404].includes(status)) throw error
      // This error is permanent. The operator must fix it, so it contains the message of the bucket.
      const message = getMessage(((error as Error).cause as Error).cause)
      throw storageUnavailable(`The bucket '${this.#access.bucketName}' rejected the request: ${message}`, error)
    }
  }

  /** Writes one object every ten minutes and reads it each time. With versioning, every object with another name would be retained. */
  async #probe(): Promise<void> {
    const name = this.#name(`${reservedPrefix}ready`)
    const limits = { ...this.#access.limits, callMs: Math.min(5000, this.#access.limits.callMs) }
    if (this.#probedAt === undefined || performance.now() - this.#probedAt > probeIntervalMs) {
      const resource = { contentType: 'text/plain' }
      const object = { name, bytes: Buffer.from(probeText), resource }
      await this.#access.call({ action: 'write a probe', limits }, (signal) => uploadObject(this.#access, object, signal))
      this.#probedAt = performance.now()
    }
    const text = await readAll(await this.#read(name, { path: 'a probe', limits }))
    if (text.toString() !== probeText) throw storageUnavailable('The bucket does not return the content that was written to it.')
  }

  async close(): Promise<void> {
    this.#access.close()
  }

  #name(path: string): string {
    return this.#prefix + path
  }

  async #putSmall(name: string, put: Upload): Promise<StoredObject> {
    const { path, content, upload } = put
    const crc32c = new Crc32c()
    const bytes = await readWithChecksum(content, crc32c)
    const expectedCrc32c = crc32c.toString()
    const metadata = { contentType: upload.contentType, crc32c: expectedCrc32c, metadata: { upload: upload.id } }
    const object = { name, bytes, resource: metadata, ifGenerationMatch: '0' }
    const { limits } = this.#access
    let isSecond = false
    // Leave time for a retry. An aborted call still waits for the response, because a cancelled request might succeed.
    const attempts = { action: `store '${path}'`, attemptMs: limits.callMs * 0.6 }
    return this.#access.call(attempts, async (signal) => {
      try {
        return { ...(await uploadObject(this.#access, object, signal)), expectedCrc32c }
      } catch (error) {
        const status = getStatus(error)
        const existing = status === 412 ? await this.#getMetadata(path) : null
        if (existing) {
          if (existing.upload !== upload.id) throw new BlobExistsError(path)
          return { ...existing, expectedCrc32c }
        }
        // The object does not exist, or the bytes changed during the transfer. Retry once.
        if (status !== 412 && status !== 400) throw error
        if (isSecond) throw unavailable(`store '${path}'`, error)
        isSecond = true
        throw new BucketError(503, getMessage(error))
      }
    })
  }

  async #getMetadata(path: string) {
    return this.#access.call({ action: `describe '${path}'` }, async (signal) => {
      try {
        return parseObject(
          await this.#access.json(this.#access.objectPath(this.#name(path)), { method: 'GET', headers: {}, signal }),
        )
      } catch (error) {
        if (getStatus(error) === 404) return null
        throw error
      }
    })
  }

  async #read(
    name: string,
    read: { path: string; range?: { start: number; end: number }; limits?: BucketLimits },
  ): Promise<Readable> {
    const { path, range, limits = this.#access.limits } = read
    const url = `${this.#access.objectPath(name)}?alt=media`
    const headers: Record<string, string> = range ? { Range: `bytes=${range.start}-${range.end}` } : {}
    return this.#access.call({ action: `read '${path}'`, attemptMs: limits.idleMs, limits }, async (signal) => {
      const response = await this.#access.send(url, { method: 'GET', headers, signal })
      if (response.status === 200 || response.status === 206)
        return readContent(response, { action: `read '${path}'`, length: Number(response.headers['content-length']) })
      const text = await readText(response)
      if (response.status === 404) throw notFound('blob', path)
      if (response.status === 416) return Readable.from([])
      throw toBucketError(response, text)
    })
  }

  async #page(after: string | undefined, pageToken: string | undefined): Promise<Page> {
    const query = {
      prefix: this.#prefix,
      startOffset: after && this.#prefix + after,
      pageToken,
      maxResults: '1000',
      fields: 'items(name,size,timeCreated),nextPageToken',
    }
    const parameters = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))
    const path = `/storage/v1/b/${this.#access.bucketName}/o?${new URLSearchParams(parameters)}`
    return this.#access.call({ action: 'list its blobs' }, async (signal) => {
      const page = await this.#access.json(path, { method: 'GET', headers: {}, signal })
      // A page without items is `{}`.
      if (typeof page !== 'object' || page === null) throw new BucketError(502, 'a response that is not a list')
      return page as Page
    })
  }

  /** Deletes a blob. Succeeds if the blob does not exist. With `ifGenerationMatch`, fails if another upload has replaced it. */
  async #delete(path: string, query: { ifGenerationMatch?: string } = {}): Promise<void> {
    const url = `${this.#access.objectPath(this.#name(path))}?${new URLSearchParams(query)}`
    await this.#access.call({ action: `remove '${path}'` }, async (signal) => {
      try {
        await this.#access.json(url, { method: 'DELETE', headers: {}, signal })
      } catch (error) {
        if (getStatus(error) !== 404) throw error
      }
    })
  }
}

/** Page of a list: https://cloud.google.com/storage/docs/json_api/v1/objects/list */
interface Page {
  items?: { name: string; size?: string; timeCreated: string }[]
  nextPageToken?: string
}

interface Upload {
  path: string
  content: Content
  upload: { contentType: string; id: string }
  signal?: AbortSignal
}

const readAll = async (stream: Readable): Promise<Buffer> => Buffer.concat(await stream.toArray())
