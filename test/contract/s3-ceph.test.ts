import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { testStorageGuarantees } from '../../src/features/maintenance/storage-guarantees.js'
import { describeWith } from '../support/installed-programs.js'
import { Ceph } from '../support/s3/ceph.js'
import { ServerBucket } from '../support/s3/server-bucket.js'
import { blobStorageContract } from './blob-storage.contract.js'

describeWith('radosgw')('Ceph with the RADOS Gateway', () => {
  let ceph: Ceph
  let bucket: ServerBucket

  beforeAll(async () => {
    ceph = await Ceph.start()
    bucket = await ServerBucket.create(ceph)
  }, 300_000)

  afterAll(async () => {
    bucket.close()
    await ceph.stop()
  })

  blobStorageContract('Ceph RADOS Gateway', async () => bucket.openStoreUnderTest())

  test('Ceph storage provides every required guarantee', async () => {
    const storage = bucket.openStorage('proof')
    const results = await testStorageGuarantees(storage, false)
    expect(results.filter(({ result }) => result !== 'pass')).toEqual([])
    expect(results).toHaveLength(10)
    await storage.close()
  })
})
