import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { CRC32C, type File } from '@google-cloud/storage'
import type { Content } from '../../body/content.js'
import { notFound, storageUnavailable } from '../../errors.js'
import { faultPoint } from '../../fault-points.js'
import { megabyte } from '../../units.js'
import { attachment } from '../attachment.js'
import { assertBlobPath, reservedPrefix } from '../blob-path.js'
import { BlobExists, type BlobStorage, type DownloadGrant, type StoredBlob } from '../blob-storage.js'
import { GcsAccess } from './access.js'
import type { GcsOptions } from './client.js'
import { contentOf, textOf } from './connection.js'
import { objectFacts, readHashed } from './content.js'
import { answerOf, BucketAnswer, statusOf } from './deadline.js'
import { type StoredObject, uploadResumable } from './resumable.js'

/** Up to here one request carries the whole upload. */
const singleRequestLimit = 8 * megabyte

/** Blobs in a bucket of Google Cloud Storage. */
export class GcsStorage implements BlobStorage {
  readonly kind = 'gcs'
  readonly description: string
  readonly #access: GcsAccess
  readonly #prefix: string
  readonly #signingEndpoint: string | undefined

  constructor(options: GcsOptions) {
    this.#access = new GcsAccess(options)
    this.#prefix = options.prefix ? `${options.prefix}/` : ''
    this.#signingEndpoint = options.signingEndpoint
    const elsewhere = options.emulatorHost ?? options.endpoint
    this.description = `gs://${options.bucket}${options.prefix ? `/${options.prefix}` : ''}${elsewhere ? ` at ${this.#access.endpoint}` : ''}`
  }

  async put(path: string, content: Content, options: { contentType: string; signal?: AbortSignal }): Promise<void> {
    assertBlobPath(path)
    const file = this.#file(path)
    // Names this upload in the object, so that one whose answer was lost is distinguished from another's at the same path.
    const upload = { contentType: options.contentType, id: randomUUID() }
    const stored =
      content.size <= singleRequestLimit
        ? await this.#putWhole(file, { path, content, upload, signal: options.signal })
        : await uploadResumable({
            file,
            path,
            content,
            upload,
            signal: options.signal,
            access: this.#access,
            facts: () => this.#facts(file, path),
          })
    faultPoint('bucket.stored')
    if (stored.size === content.size && stored.crc32c === stored.expectedCrc32c && !options.signal?.aborted) return
    await this.#removeGeneration(file, { path, generation: stored.generation })
    options.signal?.throwIfAborted()
    throw storageUnavailable(
      'The bucket did not keep the content as it was sent (size or CRC32C differ); it was removed again.',
      new Error(`It was sent as '${path}'.`),
    )
  }

  async open(path: string, range?: { start: number; end: number }): Promise<Readable> {
    assertBlobPath(path)
    if (range && range.start > range.end) throw new RangeError(`No bytes from ${range.start} to ${range.end}.`)
    return this.#read(this.#file(path), { path, range })
  }

  async size(path: string): Promise<number | null> {
    assertBlobPath(path)
    return (await this.#facts(this.#file(path), path))?.size ?? null
  }

  async remove(path: string): Promise<void> {
    assertBlobPath(path)
    faultPoint('bucket.removing')
    await this.#access.call({ doing: `remove '${path}'` }, async () => {
      const [response] = await this.#file(path).delete({ ignoreNotFound: true })
      this.#access.noteAgent(response)
    })
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
        yield { path, size: Number(size), storedAt: new Date(timeCreated) }
      }
      pageToken = page.nextPageToken
    } while (pageToken)
  }

  async signDownload(grant: DownloadGrant): Promise<string> {
    // One moment for both, or rounding would take a second off the lifetime.
    const now = Date.now()
    const [url] = await this.#access.call({ doing: `sign a URL for '${grant.path}'` }, () =>
      this.#file(grant.path).getSignedUrl({
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

  async ready(): Promise<void> {
    const probe = randomUUID()
    const file = this.#access.bucket.file(`${this.#prefix}${reservedPrefix}ready-${probe}`)
    const limits = { ...this.#access.limits, callMs: Math.min(5000, this.#access.limits.callMs) }
    await this.#access.call({ doing: 'write a probe', limits }, () =>
      this.#save(file, Buffer.from(probe)).catch((error) => {
        // It is there already: an attempt before this one, whose answer did not come in time.
        if (statusOf(error) !== 412) throw error
      }),
    )
    try {
      const text = await bytesOf(await this.#read(file, { path: 'a probe' }))
      if (text.toString() !== probe) throw storageUnavailable('The bucket does not read what was written to it.')
    } finally {
      await this.#access.call({ doing: 'remove a probe', limits }, async () =>
        this.#access.noteAgent((await file.delete({ ignoreNotFound: true }))[0]),
      )
    }
  }

  async close(): Promise<void> {
    this.#access.close()
  }

  #file(path: string): File {
    return this.#access.bucket.file(this.#prefix + path)
  }

  async #putWhole(file: File, put: Upload): Promise<StoredObject> {
    const { path, content, upload } = put
    const crc32c = new CRC32C()
    const bytes = await readHashed(content, { start: 0, end: content.size, hashed: 0 }, crc32c)
    const expectedCrc32c = crc32c.toString()
    const metadata = { contentType: upload.contentType, crc32c: expectedCrc32c, metadata: { upload: upload.id } }
    // Giving up waits for the answer: the library cannot call a request back, and one that is left alone might still succeed.
    const { limits } = this.#access
    const attempts = {
      doing: `keep '${path}'`,
      limits: { ...limits, callMs: limits.callMs * 2 },
      attemptMs: limits.callMs,
    }
    return this.#access.call(attempts, async () => {
      try {
        await this.#save(file, bytes, metadata)
      } catch (error) {
        if (statusOf(error) !== 412) throw error
        const there = await this.#facts(file, path)
        if (there?.upload !== upload.id) throw new BlobExists(path)
        return { ...there, expectedCrc32c }
      }
      return { ...objectFacts(file.metadata), expectedCrc32c }
    })
  }

  /** What the library's own `save` does, but for its repetition; and only the stream shows the answer. */
  #save(file: File, bytes: Buffer, metadata: object = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      file
        .createWriteStream({ resumable: false, validation: false, preconditionOpts: { ifGenerationMatch: 0 }, metadata })
        .on('response', (response) => this.#access.noteAgent(response))
        .on('error', reject)
        .on('finish', resolve)
        .end(bytes)
    })
  }

  async #facts(file: File, path: string) {
    return this.#access.call({ doing: `describe '${path}'` }, async () => {
      try {
        const [metadata, response] = await file.getMetadata()
        this.#access.noteAgent(response)
        return objectFacts(metadata)
      } catch (error) {
        this.#access.noteAgent((error as { response?: unknown }).response)
        if (statusOf(error) === 404) return null
        throw error
      }
    })
  }

  async #read(file: File, read: { path: string; range?: { start: number; end: number } }): Promise<Readable> {
    const { path, range } = read
    const { bucket, endpoint, limits, connection } = this.#access
    const url = `${endpoint}/storage/v1/b/${bucket.name}/o/${encodeURIComponent(file.name)}?alt=media`
    return this.#access.call({ doing: `read '${path}'`, attemptMs: limits.idleMs }, async (signal) => {
      const headers = await this.#access.authorization(url)
      if (range) headers.Range = `bytes=${range.start}-${range.end}`
      const reply = await connection.send({ method: 'GET', url, headers, signal })
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
      maxResults: 1000,
      fields: 'items(name,size,timeCreated),nextPageToken',
    }
    const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value))
    return this.#access.call({ doing: 'list its blobs' }, async () => {
      const [body, response] = await this.#access.bucket.request({ uri: '/o', qs: given })
      this.#access.noteAgent(response)
      // An empty page is `{}`. Taken for one, half an answer would be the end of the list.
      if (typeof body !== 'object' || body === null) throw new BucketAnswer(502, 'an answer that is no list')
      return body as Page
    })
  }

  /** Only what this upload made: another generation at the path is not ours to remove. */
  async #removeGeneration(file: File, object: { path: string; generation: string }): Promise<void> {
    await this.#access.call({ doing: `remove '${object.path}'` }, () =>
      file.delete({ ignoreNotFound: true, ifGenerationMatch: object.generation }),
    )
  }
}

/** A page of the bucket's objects: https://cloud.google.com/storage/docs/json_api/v1/objects/list */
interface Page {
  items?: { name: string; size: string; timeCreated: string }[]
  nextPageToken?: string
}

interface Upload {
  path: string
  content: Content
  upload: { contentType: string; id: string }
  signal?: AbortSignal
}

const bytesOf = async (stream: Readable): Promise<Buffer> => Buffer.concat(await stream.toArray())
