import { mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll } from '@jest/globals'
import { GcsStorage } from '../../src/platform/storage/gcs/gcs.js'
import { openStorage } from '../../src/platform/storage/index.js'
import { S3Storage } from '../../src/platform/storage/s3/s3.js'
import { BucketEmulator } from '../support/bucket/bucket.js'
import { createServiceAccount } from '../support/bucket/service-account.js'
import { FakeS3 } from '../support/s3/fake-s3.js'
import { blobStorageContract, type StoreUnderTest } from './blob-storage.contract.js'

const secret = { id: 'sig_1', secret: Buffer.alloc(32, 7) }
const signingSecrets = {
  getCurrentKey: async () => secret,
  findKey: async (id: string) => (id === secret.id ? secret : undefined),
}

async function openLocal(): Promise<StoreUnderTest> {
  const directory = await mkdtemp(join(tmpdir(), 'assay-store-'))
  const root = join(directory, 'a store')
  const storage = await openStorage({ storageUrl: `file://${encodeURI(root)}`, publicUrl: 'http://localhost' }, signingSecrets)
  const away = join(directory, 'away')
  return {
    storage,
    down: () => rename(root, away),
    up: () => rename(away, root).catch(() => {}),
    temporaryFiles: () => readdir(join(root, '+tmp')),
    async close() {
      await storage.close()
      await rm(directory, { recursive: true })
    },
  }
}

const account = createServiceAccount()
let keys: string
let keyFile: string

beforeAll(async () => {
  keys = await mkdtemp(join(tmpdir(), 'assay-key-'))
  keyFile = await account.writeTo(join(keys, 'key.json'))
})

afterAll(() => rm(keys, { recursive: true }))

const openGcs = (prefix?: string) => async (): Promise<StoreUnderTest> => {
  const bucket = await BucketEmulator.start({ name: 'blobs', accounts: { [account.email]: account.publicKey } })
  // Long timeouts allow for a machine that runs other tests at the same time.
  const limits = { requestMs: 8000, idleMs: 8000, callMs: 10_000, retryDelayMs: 20 }
  const storage = new GcsStorage({ bucket: 'blobs', prefix, emulatorHost: bucket.url, keyFile, limits, requireProof: true })
  return {
    storage,
    down: () => bucket.stop(),
    up: () => (bucket.isUp ? Promise.resolve() : bucket.start()),
    async temporaryFiles() {
      await storage.close()
      // Polls because the server detects a closed connection after a short delay.
      for (let waited = 0; bucket.connections > 0 && waited < 1000; waited++) await sleep(10)
      return [
        ...Array.from({ length: bucket.connections }, () => 'connection'),
        ...Array.from({ length: bucket.busy }, () => 'request under way'),
        ...Array.from({ length: bucket.sessions.open }, () => 'session'),
        ...bucket.objects.names.filter((name) => name.includes('.assay/') && !name.endsWith('.assay/ready')),
      ]
    },
    close: () => bucket.stop(),
  }
}

async function openS3(): Promise<StoreUnderTest> {
  const fakeS3 = await FakeS3.start()
  const limits = { requestMs: 8000, idleMs: 8000, callMs: 10_000, retryDelayMs: 20 }
  const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' }
  const location = { bucket: 'blobs', prefix: 'some/prefix', region: 'us-east-1', endpoint: fakeS3.url, pathStyle: true }
  const storage = new S3Storage({ ...location, credentials, limits, requireProof: true })
  return {
    storage,
    down: () => fakeS3.stop(),
    up: () => fakeS3.start(),
    async temporaryFiles() {
      await storage.close()
      for (let waited = 0; fakeS3.connections > 0 && waited < 1000; waited++) await sleep(10)
      return [
        ...Array.from({ length: fakeS3.connections }, () => 'connection'),
        ...[...fakeS3.uploads.values()].map(({ name }) => `unfinished upload ${name}`),
        ...[...fakeS3.objects.keys()].filter((name) => name.includes('.assay/') && !name.endsWith('.assay/ready')),
      ]
    },
    close: () => fakeS3.stop(),
  }
}

blobStorageContract('local disk', openLocal)
blobStorageContract('a bucket (the stand-in)', openGcs())
blobStorageContract('a prefix in a bucket (the stand-in)', openGcs('some/prefix'))
blobStorageContract('an S3 bucket with conditional writes (the stand-in)', openS3)
