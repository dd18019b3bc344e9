import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { testStorageGuarantees } from '../../src/features/maintenance/storage-guarantees.js'
import { describeWith } from '../support/installed-programs.js'
import { ServerBucket } from '../support/s3/server-bucket.js'
import { Swift } from '../support/s3/swift.js'
import { blobStorageContract } from './blob-storage.contract.js'

describeWith('swift-proxy-server')('OpenStack Swift with the S3 API', () => {
  let swift: Swift
  let bucket: ServerBucket

  beforeAll(async () => {
    swift = await Swift.start()
    bucket = await ServerBucket.create(swift)
    // Starting four Python servers takes minutes on a busy machine.
  }, 400_000)

  afterAll(async () => {
    bucket.close()
    await swift.stop()
  })

  blobStorageContract('OpenStack Swift', async () => bucket.openStoreUnderTest({ unconditionalWrites: true }))

  test('OpenStack Swift storage provides every required guarantee except conditional writes', async () => {
    const storage = bucket.openStorage('proof', { unconditionalWrites: true })
    const results = await testStorageGuarantees(storage, true)
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

  test('rejects a store without conditional writes unless the operator accepts the risk', async () => {
    const strict = bucket.openStorage('strict')
    await expect(strict.assertReady()).rejects.toThrow('S3_UNCONDITIONAL_WRITES=true')
    expect(await strict.testGuarantees()).toEqual({ conditionalWrites: 'unsupported', checksums: 'enforced' })
    await strict.close()
  })
})
