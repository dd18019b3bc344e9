import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BucketEmulator } from './bucket.js'
import { createServiceAccount } from './service-account.js'

/** A bucket and the environment for services that use it and sign URLs with a local key. */
export interface BucketWorld {
  bucket: BucketEmulator
  env: { STORAGE_URL: string; STORAGE_EMULATOR_HOST: string; GOOGLE_APPLICATION_CREDENTIALS: string }
  close(): Promise<void>
}

/** Opens a bucket and sets an environment variable that the Google library reads until `close`. */
export async function openBucketWorld(): Promise<BucketWorld> {
  const account = createServiceAccount()
  const folder = await mkdtemp(join(tmpdir(), 'assay-bucket-'))
  const keyFile = await account.writeTo(join(folder, 'key.json'))
  const bucket = await BucketEmulator.start({ name: 'blobs', accounts: { [account.email]: account.publicKey } })
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
