import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { cacheUntilFailure } from '../../cached-result.js'
import { AssayError, notFound, storageUnavailable } from '../../errors/errors.js'
import { reachFaultPoint } from '../../fault-points.js'
import type { Content } from '../../spool/content.js'
import { assertBlobPath, reservedPrefix } from '../blob-path.js'
import { type BlobDownloadGrant, BlobExistsError, type BlobStorage, type StoredBlob } from '../blob-storage.js'
import type { BucketApi, BucketObject, BucketUpload, TestWrite } from './bucket-api.js'
import { type BucketLimits, getBucketMessage, getCauseHttpStatus } from './retry.js'

const probeText = 'Assay writes this text to check that it can write.'
const probeIntervalMs = 10 * 60_000

// An upload must be committed within two hours, so an unfinished upload that is older than 24 hours can only belong to a process
// that has exited.
const uploadLifetimeMs = 24 * 3_600_000

// HTTP statuses for problems that the operator must fix. The error therefore contains the bucket's own message.
const permanentStatuses = new Set([301, 400, 401, 403, 404])

// HTTP statuses for an unknown or expired upload, or for a condition that is not met.
const conflictStatuses = new Set([404, 410, 412])
// HTTP status for content that does not match its checksum.
const damagedStatus = 400

export interface BucketStorageOptions {
  prefix?: string | undefined
  /** True if the bucket's guarantees must be verified before the first write. */
  requireProof?: boolean
  limits?: Partial<BucketLimits>
}

/**
 * Stores blobs in a bucket. Maps blob paths to object names, and checks that the bucket is ready and provides the required
 * guarantees. `BucketApi` sends the requests.
 */
export class BucketStorage implements BlobStorage {
  readonly kind: 'gcs' | 's3'
  readonly description: string
  readonly #api: BucketApi
  readonly #prefix: string
  readonly #requireProof: boolean
  readonly #proveSafety = cacheUntilFailure(async () => assertSafeBucket(await this.testGuarantees(), this.#api))
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
    if (this.#requireProof) await this.#proveSafety()
    await this.#upload({ ...object, content, ...options, id: randomUUID() })
    if (options.signal?.aborted) await this.#api.remove(object)
    options.signal?.throwIfAborted()
    reachFaultPoint('bucket.stored')
  }

  async open(path: string, range?: { start: number; end: number }): Promise<Readable> {
    const object = this.#toObject(path)
    if (range && range.start > range.end) throw new RangeError(`The range from ${range.start} to ${range.end} is empty.`)
    return this.#api.read({ ...object, range }).catch((error) => {
      const status = getCauseHttpStatus(error)
      if (status === 404) throw notFound('blob', path)
      // Status 416 means that the range starts beyond the end of the blob, so there is nothing to read.
      if (status === 416) return Readable.from([])
      throw error
    })
  }

  async copy(from: string, to: string): Promise<void> {
    const objects = [this.#toObject(from), this.#toObject(to)] as const
    if (this.#requireProof) await this.#proveSafety()
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
        // Some buckets also list the object whose name equals `after`.
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
    if (this.#requireProof) await this.#proveSafety()
  }

  testGuarantees(): Promise<BucketGuarantees> {
    return testBucketGuarantees(this.#api, this.#prefix)
  }

  abortUploads(): Promise<number> {
    return this.#api.abortUploads(this.#prefix, new Date(Date.now() - uploadLifetimeMs))
  }

  async close(): Promise<void> {
    this.#api.close()
  }

  // Uploads an object. Retries once if the content was damaged in transit, or if the bucket reports a conflict but the object
  // does not exist. After a conflict, succeeds if the object is from an earlier attempt whose response was lost.
  async #upload(upload: BucketUpload, isRetry = false): Promise<void> {
    try {
      await this.#api.upload(upload)
    } catch (error) {
      const status = getCauseHttpStatus(error) ?? 0
      const existing = conflictStatuses.has(status) ? await this.#api.getMetadata(upload) : null
      if (existing?.upload === upload.id && existing.size === upload.content.size) return
      if (existing && status === 412) throw new BlobExistsError(upload.path)
      const isRepeatable = status === damagedStatus || (conflictStatuses.has(status) && !existing)
      if (isRetry || !isRepeatable || upload.signal?.aborted) throw error
      await this.#upload(upload, true)
    }
  }

  #toObject(path: string): BucketObject {
    assertBlobPath(path)
    return { name: this.#prefix + path, path }
  }

  /** Reads the probe object on each call, but writes it only every ten minutes, because a versioned bucket keeps each version. */
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

/** Guarantees that only a bucket's server can provide. */
export interface BucketGuarantees {
  /** `enforced`: the bucket rejects a conditional write if the object already exists. */
  conditionalWrites: 'enforced' | 'ignored' | 'unsupported'
  /** `enforced`: the bucket rejects an upload whose content does not match the checksum sent with it. */
  checksums: 'enforced' | 'ignored'
}

/** Thrown if the bucket could lose or damage files. In this case, the service does not start. */
export class UnsafeBucketError extends AssayError {
  constructor(message: string) {
    super('storage_unavailable', message, { retryAfter: 60, cause: new Error(message) })
  }
}

/** Tests the guarantees with temporary objects, and deletes them afterwards. */
async function testBucketGuarantees(api: BucketApi, prefix: string): Promise<BucketGuarantees> {
  const names = ['condition', 'checksum'].map((what) => `${prefix}${reservedPrefix}proof-${what}-${randomUUID()}`)
  const [conditional, damaged] = names as [string, string]
  const [first, second] = [Buffer.from('first'), Buffer.from('other')]
  try {
    await findRejectionStatus(api, { name: conditional, bytes: first, ifAbsent: true }, [412, 501])
    const overwritten = await findRejectionStatus(api, { name: conditional, bytes: second, ifAbsent: true }, [412, 501])
    const written = await findRejectionStatus(api, { name: damaged, bytes: first, checksummedBytes: second }, [400])
    return {
      conditionalWrites: overwritten === 501 ? 'unsupported' : overwritten === 412 ? 'enforced' : 'ignored',
      checksums: written === 400 ? 'enforced' : 'ignored',
    }
  } finally {
    for (const name of names) await api.remove({ name, path: 'a test object' }).catch(() => {})
  }
}

/**
 * Returns the status if the bucket rejects the write with one of `expectedStatuses`, or undefined if the bucket stores the object.
 * Rethrows all other errors.
 */
async function findRejectionStatus(api: BucketApi, write: TestWrite, expectedStatuses: number[]): Promise<number | undefined> {
  try {
    await api.write(write)
    return undefined
  } catch (error) {
    const status = getCauseHttpStatus(error)
    if (status === undefined || !expectedStatuses.includes(status)) throw error
    return status
  }
}

/** Throws an `UnsafeBucketError` if a required guarantee is missing. */
function assertSafeBucket({ conditionalWrites, checksums }: BucketGuarantees, api: BucketApi): void {
  if (checksums === 'ignored')
    throw new UnsafeBucketError(
      `The bucket '${api.bucketName}' stores content that does not match its checksum. Use a store that verifies checksums.`,
    )
  if (conditionalWrites === 'ignored')
    throw new UnsafeBucketError(
      `The bucket '${api.bucketName}' ignores write conditions and overwrites objects. Use a store that supports conditional writes.`,
    )
  if (conditionalWrites === 'unsupported' && api.requiresConditions)
    throw new UnsafeBucketError(
      `The bucket '${api.bucketName}' does not support conditional writes (If-None-Match: *). Set S3_UNCONDITIONAL_WRITES=true to accept this, or use another store.`,
    )
}
