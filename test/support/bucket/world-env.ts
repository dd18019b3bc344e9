import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StandInBucket } from './bucket.js'
import { makeServiceAccount } from './service-account.js'

/** A bucket, and the environment of services that keep their blobs in it and sign URLs with a key at hand. */
export interface BucketWorld {
  bucket: StandInBucket
  env: { STORAGE_URL: string; STORAGE_EMULATOR_HOST: string; GOOGLE_APPLICATION_CREDENTIALS: string }
  close(): Promise<void>
}

/** Google's library reads its own variable from the environment: this process's is set too, until `close`. */
export async function openBucketWorld(): Promise<BucketWorld> {
  const account = makeServiceAccount()
  const folder = await mkdtemp(join(tmpdir(), 'assay-bucket-'))
  const keyFile = await account.writeTo(join(folder, 'key.json'))
  const bucket = await StandInBucket.start({ name: 'blobs', accounts: { [account.email]: account.publicKey } })
  const before = process.env.GOOGLE_APPLICATION_CREDENTIALS
  process.env.GOOGLE_APPLICATION_CREDENTIALS = keyFile
  return {
    bucket,
    env: { STORAGE_URL: 'gs://blobs', STORAGE_EMULATOR_HOST: bucket.url, GOOGLE_APPLICATION_CREDENTIALS: keyFile },
    async close() {
      if (before === undefined) delete process.env.GOOGLE_APPLICATION_CREDENTIALS
      else process.env.GOOGLE_APPLICATION_CREDENTIALS = before
      await bucket.stop()
      await rm(folder, { recursive: true })
    },
  }
}
