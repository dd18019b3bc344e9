import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { storageUnavailable } from '../../errors/errors.js'
import { reachFaultPoint } from '../../fault-points.js'
import type { Content } from '../../spool/content.js'
import { assertBlobPath, reservedPrefix } from '../blob-path.js'
import type { BlobDownloadGrant, BlobStorage, StoredBlob } from '../blob-storage.js'
import type { BucketApi, BucketObject } from './bucket-api.js'
import { assertSafeBucket, type BucketGuarantees, testBucketGuarantees } from './bucket-guarantees.js'
import { type BucketLimits, getBucketMessage, getCauseHttpStatus } from './retry.js'

const probeText = 'Assay writes this text to check that it can write.'
const probeIntervalMs = 10 * 60_000

// An upload must be committed within two hours. Older unfinished uploads therefore belong to processes that have exited.
const uploadLifetimeMs = 24 * 3_600_000

// Statuses that require a fix by the operator, so the error contains the bucket's message.
const permanentStatuses = new Set([301, 400, 401, 403, 404])

export interface BucketStorageOptions {
  prefix?: string | undefined
  /** True if the bucket's guarantees must be proved before the first write. */
  requireProof?: boolean
  limits?: Partial<BucketLimits>
}

/** Stores blobs in a bucket. Manages paths, readiness and the proof of guarantees. `BucketApi` sends the requests. */
export class BucketStorage implements BlobStorage {
  readonly kind: 'gcs' | 's3'
  readonly description: string
  readonly #api: BucketApi
  readonly #prefix: string
  readonly #requireProof: boolean
  #proof: Promise<void> | undefined
  #probedAt: number | undefined

  constructor(api: BucketApi, { prefix, requireProof = false }: BucketStorageOptions) {
    this.#api = api
    this.kind = api.kind
    this.description = api.description
    this.#prefix = prefix ? `${prefix}/` : ''
    this.#requireProof = requireProof
  }

  async put(path: string, content: Content, options: { contentType: string; signal?: AbortSignal }): Promise<void> {
    const object = this.#toObject(path)
    await this.#assertTested()
    await this.#api.upload({ ...object, content, ...options, id: randomUUID() })
    reachFaultPoint('bucket.stored')
  }

  async open(path: string, range?: { start: number; end: number }): Promise<Readable> {
    const object = this.#toObject(path)
    if (range && range.start > range.end) throw new RangeError(`The range from ${range.start} to ${range.end} is empty.`)
    return this.#api.read({ ...object, range })
  }

  async copy(from: string, to: string): Promise<void> {
    const objects = [this.#toObject(from), this.#toObject(to)] as const
    await this.#assertTested()
    await this.#api.copy(...objects)
    reachFaultPoint('bucket.stored')
  }

  async getSize(path: string): Promise<number | null> {
    return (await this.#api.getMetadata(this.#toObject(path)))?.size ?? null
  }

  async remove(path: string): Promise<void> {
    const object = this.#toObject(path)
    reachFaultPoint('bucket.removing')
    await this.#api.remove(object)
    reachFaultPoint('bucket.removed')
  }

  async *list(after?: string): AsyncGenerator<StoredBlob> {
    let pageToken: string | undefined
    do {
      const page = await this.#api.listPage({ prefix: this.#prefix, after: after && this.#prefix + after, pageToken })
      for (const { path: name, ...blob } of page.objects) {
        const path = name.slice(this.#prefix.length)
        // Some buckets also list the object at the start position.
        if (path === after || path.startsWith(reservedPrefix) || path === '' || path.endsWith('/')) continue
        yield { path, ...blob }
      }
      pageToken = page.nextPageToken
    } while (pageToken)
  }

  signDownload(grant: BlobDownloadGrant): Promise<string> {
    return this.#api.sign(this.#prefix + grant.path, grant)
  }

  async assertReady(): Promise<void> {
    try {
      await this.#probe()
      this.#api.assertClock?.()
    } catch (error) {
      this.#probedAt = undefined
      const status = getCauseHttpStatus(error)
      if (status === undefined || !permanentStatuses.has(status)) throw error
      const message = getBucketMessage(((error as Error).cause as Error).cause)
      throw storageUnavailable(`The bucket '${this.#api.bucketName}' rejected the request: ${message}`, error)
    }
    await this.#assertTested()
  }

  /** Tests the bucket's guarantees again. */
  testGuarantees(): Promise<BucketGuarantees> {
    return testBucketGuarantees(this.#api, this.#prefix)
  }

  abortUploads(): Promise<number> {
    return this.#api.abortUploads(this.#prefix, new Date(Date.now() - uploadLifetimeMs))
  }

  async close(): Promise<void> {
    this.#api.close()
  }

  #toObject(path: string): BucketObject {
    assertBlobPath(path)
    return { name: this.#prefix + path, path }
  }

  // Proves the guarantees once. If the proof fails, the next call repeats it.
  #assertTested(): Promise<void> {
    if (!this.#requireProof) return Promise.resolve()
    this.#proof ??= this.testGuarantees().then((guarantees) => assertSafeBucket(guarantees, this.#api))
    const proof = this.#proof
    return proof.catch((error) => {
      if (this.#proof === proof) this.#proof = undefined
      throw error
    })
  }

  /** Writes the probe object every ten minutes, because a versioned bucket keeps each version, and reads it on each call. */
  async #probe(): Promise<void> {
    const name = `${this.#prefix}${reservedPrefix}ready`
    const limits = { ...this.#api.limits, callMs: Math.min(5000, this.#api.limits.callMs) }
    if (this.#probedAt === undefined || performance.now() - this.#probedAt > probeIntervalMs) {
      await this.#api.write({ name, bytes: Buffer.from(probeText), limits })
      this.#probedAt = performance.now()
    }
    const text = await readAll(await this.#api.read({ name, path: 'a probe', limits }))
    if (text.toString() !== probeText) throw storageUnavailable('The bucket returned different content than was written to it.')
  }
}

const readAll = async (stream: Readable): Promise<Buffer> => Buffer.concat(await stream.toArray())
