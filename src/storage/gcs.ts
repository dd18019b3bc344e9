import { randomUUID } from 'node:crypto'
import type http from 'node:http'
import { Readable } from 'node:stream'
import { type Bucket, CRC32C, type File, type Storage } from '@google-cloud/storage'
import type { Content } from '../content.js'
import { notFound, storageUnavailable } from '../errors.js'
import { attachment } from './attachment.js'
import { assertBlobPath, reservedPrefix } from './blob-path.js'
import { BlobExists, type BlobStorage, type DownloadGrant, type StoredBlob } from './blob-storage.js'
import { clientFor, type GcsOptions } from './gcs-client.js'
import { BucketConnection, contentOf, textOf } from './gcs-connection.js'
import { readHashed } from './gcs-content.js'
import { type Attempts, BucketAnswer, defaultLimits, type GcsLimits, repeated, statusOf } from './gcs-deadline.js'
import { type StoredObject, uploadResumable } from './gcs-resumable.js'

/** Up to here one request carries the whole upload. */
const singleRequestLimit = 8 * 1024 * 1024

/** Blobs in a bucket of Google Cloud Storage. */
export class GcsStorage implements BlobStorage {
  readonly kind = 'gcs'
  readonly description: string
  readonly #client: Storage
  readonly #bucket: Bucket
  readonly #prefix: string
  readonly #limits: GcsLimits
  readonly #connection: BucketConnection
  readonly #emulated: boolean
  #libraryAgent?: http.Agent

  constructor(options: GcsOptions) {
    this.#limits = { ...defaultLimits, ...options.limits }
    this.#emulated = options.emulatorHost !== undefined
    this.#connection = new BucketConnection(this.#limits.idleMs)
    this.#client = clientFor(options, { limits: this.#limits, connection: this.#connection })
    this.#bucket = this.#client.bucket(options.bucket)
    this.#prefix = options.prefix ? `${options.prefix}/` : ''
    this.description = `gs://${options.bucket}${options.prefix ? `/${options.prefix}` : ''}${this.#emulated ? ` at ${this.#client.apiEndpoint}` : ''}`
  }

  async put(path: string, content: Content, options: { contentType: string; signal?: AbortSignal }): Promise<void> {
    assertBlobPath(path)
    const file = this.#file(path)
    // Names this upload in the object, so that one whose answer was lost is told from another's at the same path.
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
            limits: this.#limits,
            connection: this.#connection,
          })
    if (stored.size === content.size && stored.crc32c === stored.expectedCrc32c && !options.signal?.aborted) return
    await this.#removeGeneration(file, { path, generation: stored.generation })
    options.signal?.throwIfAborted()
    throw storageUnavailable(`The bucket did not keep '${path}' as it was sent (size or CRC32C differ); it was removed again.`)
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
    await this.#call({ doing: `remove '${path}'`, limits: this.#limits }, async () => {
      const [response] = await this.#file(path).delete({ ignoreNotFound: true })
      this.#noteAgent(response)
    })
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
    const signing = { doing: `sign a URL for '${grant.path}'`, limits: this.#limits }
    const [url] = await this.#call(signing, () =>
      this.#file(grant.path).getSignedUrl({
        version: 'v4',
        action: 'read',
        accessibleAt: now,
        expires: now + grant.expiresInSeconds * 1000,
        responseDisposition: attachment(grant.filename),
        responseType: grant.contentType,
      }),
    )
    return url
  }

  /** Writes, reads and removes a small object. */
  async ready(): Promise<void> {
    const probe = randomUUID()
    const file = this.#bucket.file(`${this.#prefix}${reservedPrefix}ready-${probe}`)
    const limits = { ...this.#limits, callMs: Math.min(5000, this.#limits.callMs) }
    await this.#call({ doing: 'write a probe', limits }, () => this.#save(file, Buffer.from(probe)))
    try {
      const text = await bytesOf(await this.#read(file, { path: 'a probe' }))
      if (text.toString() !== probe) throw storageUnavailable('The bucket does not read what was written to it.')
    } finally {
      await this.#call({ doing: 'remove a probe', limits }, async () =>
        this.#noteAgent((await file.delete({ ignoreNotFound: true }))[0]),
      )
    }
  }

  async close(): Promise<void> {
    this.#connection.close()
    this.#libraryAgent?.destroy()
  }

  #file(path: string): File {
    return this.#bucket.file(this.#prefix + path)
  }

  async #putWhole(file: File, put: Upload): Promise<StoredObject> {
    const { path, content, upload } = put
    const crc32c = new CRC32C()
    const bytes = await readHashed(content, { start: 0, end: content.size, hashed: 0 }, crc32c)
    const expectedCrc32c = crc32c.toString()
    const metadata = { contentType: upload.contentType, crc32c: expectedCrc32c, metadata: { upload: upload.id } }
    // Giving up waits for the answer: the library cannot call a request back, and one that is left alone might still succeed.
    const attempts = {
      doing: `keep '${path}'`,
      limits: { ...this.#limits, callMs: this.#limits.callMs * 2 },
      attemptMs: this.#limits.callMs,
    }
    return this.#call(attempts, async () => {
      try {
        await this.#save(file, bytes, metadata)
      } catch (error) {
        if (statusOf(error) !== 412) throw error
        const there = await this.#facts(file, path)
        if (there?.upload !== upload.id) throw new BlobExists(path)
        return { ...there, expectedCrc32c }
      }
      return { ...factsOf(file.metadata), expectedCrc32c }
    })
  }

  /** What the library's own `save` does, but for its repetition; and only the stream shows the answer. */
  #save(file: File, bytes: Buffer, metadata: object = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      file
        .createWriteStream({ resumable: false, validation: false, preconditionOpts: { ifGenerationMatch: 0 }, metadata })
        .on('response', (response) => this.#noteAgent(response))
        .on('error', reject)
        .on('finish', resolve)
        .end(bytes)
    })
  }

  async #facts(file: File, path: string) {
    return this.#call({ doing: `describe '${path}'`, limits: this.#limits }, async () => {
      try {
        const [metadata, response] = await file.getMetadata()
        this.#noteAgent(response)
        return factsOf(metadata)
      } catch (error) {
        this.#noteAgent((error as { response?: unknown }).response)
        if (statusOf(error) === 404) return null
        throw error
      }
    })
  }

  async #read(file: File, read: { path: string; range?: { start: number; end: number } }): Promise<Readable> {
    const { path, range } = read
    const url = `${this.#client.apiEndpoint}/storage/v1/b/${this.#bucket.name}/o/${encodeURIComponent(file.name)}?alt=media`
    return this.#call({ doing: `read '${path}'`, limits: this.#limits, attemptMs: this.#limits.idleMs }, async (signal) => {
      const headers: Record<string, string> = this.#emulated ? {} : { ...(await this.#client.authClient.getRequestHeaders(url)) }
      if (range) headers.Range = `bytes=${range.start}-${range.end}`
      const reply = await this.#connection.send({ method: 'GET', url, headers, signal })
      if (reply.status === 200 || reply.status === 206)
        return contentOf(reply, { doing: `read '${path}'`, length: Number(reply.headers['content-length']) })
      const text = await textOf(reply)
      if (reply.status === 404) throw notFound('blob', path)
      if (reply.status === 416) return Readable.from([])
      throw new BucketAnswer(reply.status, text)
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
    return this.#call({ doing: 'list its blobs', limits: this.#limits }, async () => {
      const [body, response] = await this.#bucket.request({ uri: '/o', qs: given })
      this.#noteAgent(response)
      return body as Page
    })
  }

  /** Only what this upload made: another generation at the path is not ours to remove. */
  async #removeGeneration(file: File, object: { path: string; generation: string }): Promise<void> {
    await this.#call({ doing: `remove '${object.path}'`, limits: this.#limits }, () =>
      file.delete({ ignoreNotFound: true, ifGenerationMatch: object.generation }),
    )
  }

  /** `repeated`, keeping sight of the library's connections in its errors as well. */
  #call<T>(attempts: Attempts, attempt: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return repeated(attempts, (signal) =>
      attempt(signal).catch((error) => {
        this.#noteAgent(error?.response)
        throw error
      }),
    )
  }

  // The library keeps its connections in agents that it shows to nobody but through its answers.
  #noteAgent(response: unknown): void {
    const { agent } = (response as { request?: { agent?: http.Agent } } | undefined)?.request ?? {}
    if (agent) this.#libraryAgent = agent
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

const factsOf = (metadata: File['metadata']) => ({
  size: Number(metadata.size),
  crc32c: String(metadata.crc32c),
  generation: String(metadata.generation),
  upload: metadata.metadata?.upload,
})
