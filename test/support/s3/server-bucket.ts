import { CreateBucketCommand, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3'
import { newId } from '../../../src/platform/ids.js'
import { S3Storage } from '../../../src/platform/storage/s3/s3.js'
import type { StoreUnderTest } from '../../contract/blob-storage.contract.js'

export interface S3Server {
  readonly url: string
  readonly credentials: { accessKeyId: string; secretAccessKey: string }
  down(): Promise<void>
  up(): Promise<void>
  stop(): Promise<void>
}

/** A bucket on a real server. Each store is a prefix in it because creating buckets is slow. */
export class ServerBucket {
  readonly #client: S3Client

  private constructor(private readonly server: S3Server) {
    const { url, credentials } = server
    this.#client = new S3Client({ endpoint: url, region: 'us-east-1', forcePathStyle: true, credentials: { ...credentials } })
  }

  static async create(server: S3Server): Promise<ServerBucket> {
    const bucket = new ServerBucket(server)
    await bucket.#client.send(new CreateBucketCommand({ Bucket: 'blobs' }))
    return bucket
  }

  openStorage(prefix: string, { unconditionalWrites = false }: { unconditionalWrites?: boolean } = {}): S3Storage {
    return new S3Storage({
      bucket: 'blobs',
      prefix,
      region: 'us-east-1',
      endpoint: this.server.url,
      pathStyle: true,
      credentials: this.server.credentials,
      unconditionalWrites,
      requireProof: true,
      // Long timeouts allow for a machine that runs other tests at the same time.
      limits: { requestMs: 8000, idleMs: 8000, callMs: 10_000, retryDelayMs: 20 },
    })
  }

  openStoreUnderTest(options: { unconditionalWrites?: boolean } = {}): StoreUnderTest {
    const prefix = newId('req')
    const storage = this.openStorage(prefix, options)
    return {
      storage,
      down: () => this.server.down(),
      up: () => this.server.up(),
      temporaryFiles: () => this.#listUnfinishedUploads(prefix),
      close: () => storage.close(),
    }
  }

  close(): void {
    this.#client.destroy()
  }

  async #listUnfinishedUploads(prefix: string): Promise<string[]> {
    const { Uploads = [] } = await this.#client.send(new ListMultipartUploadsCommand({ Bucket: 'blobs', Prefix: prefix }))
    return Uploads.map(({ Key }) => `unfinished upload ${Key}`)
  }
}
