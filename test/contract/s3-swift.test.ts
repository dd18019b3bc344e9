import { CreateBucketCommand, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { proveStorage } from '../../src/features/maintenance/prove-storage.js'
import { newId } from '../../src/platform/ids.js'
import { S3Storage } from '../../src/platform/storage/s3/s3.js'
import { describeWith } from '../support/real-parts.js'
import { swiftCredentials as credentials, Swift } from '../support/s3/swift.js'
import { blobStorageContract, type StoreUnderTest } from './blob-storage.contract.js'

describeWith('swift-proxy-server')('OpenStack Swift with its S3 interface', () => {
  let swift: Swift
  let client: S3Client

  beforeAll(async () => {
    swift = await Swift.start()
    client = new S3Client({ endpoint: swift.url, region: 'us-east-1', forcePathStyle: true, credentials })
    await client.send(new CreateBucketCommand({ Bucket: 'blobs' }))
  })

  afterAll(async () => {
    client.destroy()
    await swift.stop()
  })

  const openStore = (prefix: string | undefined, settings: { unconditionalWrites: boolean }) =>
    new S3Storage({
      bucket: 'blobs',
      prefix,
      region: 'us-east-1',
      endpoint: swift.url,
      pathStyle: true,
      credentials,
      ...settings,
      requireProof: true,
      // Long enough for a machine that is busy with other tests.
      limits: { requestMs: 8000, idleMs: 8000, callMs: 10_000, retryDelayMs: 20 },
    })

  const open = async (): Promise<StoreUnderTest> => {
    // A prefix per test is faster than a bucket per test.
    const prefix = newId('req')
    const storage = openStore(prefix, { unconditionalWrites: true })
    return {
      storage,
      down: () => swift.down(),
      up: () => swift.up(),
      async temporaryFiles() {
        const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: 'blobs', Prefix: prefix }))
        return Uploads.map(({ Key }) => `unfinished upload ${Key}`)
      },
      close: () => storage.close(),
    }
  }

  blobStorageContract('OpenStack Swift', open)

  test('proves every guarantee except conditional writes', async () => {
    const storage = openStore('proof', { unconditionalWrites: true })
    const results = await proveStorage(storage, true)
    expect(results.filter(({ result }) => result !== 'pass')).toEqual([
      {
        guarantee: 'a write never overwrites an object',
        result: 'fail',
        detail: 'The store does not support conditional writes.',
        accepted: true,
      },
    ])
    expect(results).toHaveLength(10)
    await storage.close()
  })

  test('rejects uploads to a store without conditional writes, unless the operator accepts it', async () => {
    const strict = openStore('strict', { unconditionalWrites: false })
    await expect(strict.ready()).rejects.toThrow('S3_UNCONDITIONAL_WRITES=true')
    expect(await strict.prove()).toEqual({ conditionalWrites: 'unsupported', checksums: 'kept' })
    await strict.close()
  })
})
