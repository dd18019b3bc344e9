import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { notFound, storageUnavailable } from '../../errors/errors.js'
import { faultPoint } from '../../fault-points.js'
import type { Content } from '../../spool/content.js'
import { megabyte } from '../../units.js'
import { attachment } from '../attachment.js'
import { assertBlobPath, reservedPrefix } from '../blob-path.js'
import { BlobExists, type BlobGrant, type BlobStorage, type StoredBlob } from '../blob-storage.js'
import { GcsAccess } from './access.js'
import type { GcsOptions } from './client.js'
import { contentOf, textOf } from './connection.js'
import { objectFacts, readHashed } from './content.js'
import { Crc32c } from './crc32c.js'
import { answerOf, BucketAnswer, type GcsLimits, refusalOf, statusOf, unavailable, wordsOf } from './deadline.js'
import { type HmacKey, hmacUrl } from './hmac-url.js'
import { type StoredObject, uploadResumable } from './resumable.js'
import { sendWhole } from './whole.js'

const probeText = 'Assay writes this text to check that it can write.'
const probeEveryMs = 10 * 60_000

/** Up to here one request carries the whole upload. */
const singleRequestLimit = 8 * megabyte

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
    const elsewhere = options.emulatorHost ?? options.endpoint
    this.description = `gs://${options.bucket}${options.prefix ? `/${options.prefix}` : ''}${elsewhere ? ` at ${this.#access.endpoint}` : ''}`
  }

  async put(path: string, content: Content, options: { contentType: string; signal?: AbortSignal }): Promise<void> {
    assertBlobPath(path)
    const name = this.#name(path)
    // Names this upload in the object, so that one whose answer was lost is distinguished from another's at the same path.
    const upload = { contentType: options.contentType, id: randomUUID() }
    const stored =
      content.size <= singleRequestLimit
        ? await this.#putWhole(name, { path, content, upload, signal: options.signal })
        : await uploadResumable({
            name,
            path,
            content,
            upload,
            signal: options.signal,
            access: this.#access,
            facts: () => this.#facts(path),
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

  /** By the bucket itself: nothing of it comes down the line. */
  async copy(from: string, to: string): Promise<void> {
    assertBlobPath(from)
    assertBlobPath(to)
    const target = this.#access.objectPath(this.#name(to)).replace('/storage/v1', '')
    for (let rewriteToken: string | undefined, done = false; !done; ) {
      const query = new URLSearchParams({ ifGenerationMatch: '0', ...(rewriteToken && { rewriteToken }) })
      const url = `${this.#access.objectPath(this.#name(from))}/rewriteTo${target}?${query}`
      const answer = await this.#access.call({ doing: `copy '${from}'` }, async (signal) => {
        try {
          const body = await this.#access.json(url, { method: 'POST', headers: {}, signal })
          return body as { done?: boolean; rewriteToken?: string }
        } catch (error) {
          if (statusOf(error) === 404) throw notFound('blob', from)
          // There is one: the answer to an attempt before was lost, since no other copies to a path that was leased for this.
          if (statusOf(error) === 412) return { done: true }
          throw error
        }
      })
      done = answer.done === true
      rewriteToken = answer.rewriteToken
    }
    faultPoint('bucket.stored')
  }

  async size(path: string): Promise<number | null> {
    assertBlobPath(path)
    return (await this.#facts(path))?.size ?? null
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
        // `startOffset` itself is part of what the bucket lists.
        if (path === after || path.startsWith(reservedPrefix) || path.endsWith('/')) continue
        // Stand-ins made in Go leave out a size of 0.
        yield { path, size: Number(size ?? 0), storedAt: new Date(timeCreated) }
      }
      pageToken = page.nextPageToken
    } while (pageToken)
  }

  async signDownload(grant: BlobGrant): Promise<string> {
    // One moment for both, or rounding would take a second off the lifetime.
    const now = Date.now()
    if (this.#hmac) return this.#signByHmac(this.#hmac, grant, new Date(now))
    const [url] = await this.#access.call({ doing: `sign a URL for '${grant.path}'` }, () =>
      this.#access.file(this.#name(grant.path)).getSignedUrl({
        version: 'v4',
        action: 'read',
        accessibleAt: now,
        expires: now + grant.expiresInSeconds * 1000,
        responseDisposition: attachment(grant.filename),
        responseType: grant.contentType,
        ...(this.#signingEndpoint && { signingEndpoint: this.#signingEndpoint }),
      }),
    )
    return url
  }

  #signByHmac(key: HmacKey, grant: BlobGrant, now: Date): string {
    return hmacUrl(key, {
      endpoint: this.#access.endpoint,
      bucket: this.#access.bucketName,
      name: this.#name(grant.path),
      expiresInSeconds: grant.expiresInSeconds,
      now,
      query: { 'response-content-disposition': attachment(grant.filename), 'response-content-type': grant.contentType },
    })
  }

  async ready(): Promise<void> {
    try {
      await this.#probe()
    } catch (error) {
      this.#probedAt = undefined
      const status = refusalOf(error)
      if (status === undefined || ![400, 401, 403, 404].includes(status)) throw error
      // No outage that passes: the operator has to do something, and reads here what.
      const words = wordsOf(((error as Error).cause as Error).cause)
      throw storageUnavailable(`The bucket '${this.#access.bucketName}' rejected the request: ${words}`, error)
    }
  }

  /** Written once in a while and read each time, always under one name: versions and soft deletion keep whatever is written. */
  async #probe(): Promise<void> {
    const name = this.#name(`${reservedPrefix}ready`)
    const limits = { ...this.#access.limits, callMs: Math.min(5000, this.#access.limits.callMs) }
    if (this.#probedAt === undefined || performance.now() - this.#probedAt > probeEveryMs) {
      const resource = { contentType: 'text/plain' }
      const object = { name, bytes: Buffer.from(probeText), resource }
      await this.#access.call({ doing: 'write a probe', limits }, (signal) => sendWhole(this.#access, object, signal))
      this.#probedAt = performance.now()
    }
    const text = await bytesOf(await this.#read(name, { path: 'a probe', limits }))
    if (text.toString() !== probeText) throw storageUnavailable('The bucket does not return the content that was written to it.')
  }

  async close(): Promise<void> {
    this.#access.close()
  }

  #name(path: string): string {
    return this.#prefix + path
  }

  async #putWhole(name: string, put: Upload): Promise<StoredObject> {
    const { path, content, upload } = put
    const crc32c = new Crc32c()
    const bytes = await readHashed(content, crc32c)
    const expectedCrc32c = crc32c.toString()
    const metadata = { contentType: upload.contentType, crc32c: expectedCrc32c, metadata: { upload: upload.id } }
    const object = { name, bytes, resource: metadata, ifGenerationMatch: '0' }
    const { limits } = this.#access
    let isSecond = false
    // An attempt may take longer than small requests do, and leaves time for another. Giving up waits for the answer, which says what to
    // remove: a request that is called back might still succeed.
    const attempts = { doing: `store '${path}'`, attemptMs: limits.callMs * 0.6 }
    return this.#access.call(attempts, async (signal) => {
      try {
        return { ...(await sendWhole(this.#access, object, signal)), expectedCrc32c }
      } catch (error) {
        const status = statusOf(error)
        const there = status === 412 ? await this.#facts(path) : null
        if (there) {
          if (there.upload !== upload.id) throw new BlobExists(path)
          return { ...there, expectedCrc32c }
        }
        // Refused for an object that is not there, or for bytes that arrived as others: once more.
        if (status !== 412 && status !== 400) throw error
        if (isSecond) throw unavailable(`store '${path}'`, error)
        isSecond = true
        throw new BucketAnswer(503, wordsOf(error))
      }
    })
  }

  async #facts(path: string) {
    return this.#access.call({ doing: `describe '${path}'` }, async (signal) => {
      try {
        return objectFacts(
          await this.#access.json(this.#access.objectPath(this.#name(path)), { method: 'GET', headers: {}, signal }),
        )
      } catch (error) {
        if (statusOf(error) === 404) return null
        throw error
      }
    })
  }

  async #read(
    name: string,
    read: { path: string; range?: { start: number; end: number }; limits?: GcsLimits },
  ): Promise<Readable> {
    const { path, range, limits = this.#access.limits } = read
    const url = `${this.#access.objectPath(name)}?alt=media`
    const headers: Record<string, string> = range ? { Range: `bytes=${range.start}-${range.end}` } : {}
    return this.#access.call({ doing: `read '${path}'`, attemptMs: limits.idleMs, limits }, async (signal) => {
      const reply = await this.#access.send(url, { method: 'GET', headers, signal })
      if (reply.status === 200 || reply.status === 206)
        return contentOf(reply, { doing: `read '${path}'`, length: Number(reply.headers['content-length']) })
      const text = await textOf(reply)
      if (reply.status === 404) throw notFound('blob', path)
      if (reply.status === 416) return Readable.from([])
      throw answerOf(reply, text)
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
    const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))
    const path = `/storage/v1/b/${this.#access.bucketName}/o?${new URLSearchParams(given)}`
    return this.#access.call({ doing: 'list its blobs' }, async (signal) => {
      const page = await this.#access.json(path, { method: 'GET', headers: {}, signal })
      // An empty page is `{}`.
      if (typeof page !== 'object' || page === null) throw new BucketAnswer(502, 'a response that is not a list')
      return page as Page
    })
  }

  /** Succeeds if there is none. With `ifGenerationMatch`, fails if another upload has replaced the blob. */
  async #delete(path: string, query: { ifGenerationMatch?: string } = {}): Promise<void> {
    const url = `${this.#access.objectPath(this.#name(path))}?${new URLSearchParams(query)}`
    await this.#access.call({ doing: `remove '${path}'` }, async (signal) => {
      try {
        await this.#access.json(url, { method: 'DELETE', headers: {}, signal })
      } catch (error) {
        if (statusOf(error) !== 404) throw error
      }
    })
  }
}

/** A page of the bucket's objects: https://cloud.google.com/storage/docs/json_api/v1/objects/list */
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

const bytesOf = async (stream: Readable): Promise<Buffer> => Buffer.concat(await stream.toArray())
