import type { Config } from '../config/config.js'
import type { SigningSecrets } from '../signing-keys.js'
import type { BlobStorage } from './blob-storage.js'
import { LocalStorage } from './local/local.js'
import { DownloadUrls } from './signed-url.js'
import { parseStorageUrl } from './storage-url.js'

type StorageConfig = Pick<Config, 'storageUrl' | 'publicUrl'> &
  Partial<
    Pick<Config, 'storageEmulatorHost' | 'storageHmac' | 's3Credentials' | 's3UnconditionalWrites' | 'storageDeadlineSeconds'>
  >

/** Opens the store at STORAGE_URL. */
export async function openStorage(config: StorageConfig, signingSecrets: SigningSecrets): Promise<BlobStorage> {
  const { storageUrl, publicUrl, storageEmulatorHost: emulatorHost, storageDeadlineSeconds: seconds } = config
  const location = parseStorageUrl(storageUrl)
  if (typeof location === 'string') throw new Error(`STORAGE_URL is '${storageUrl}'. It must be ${location}.`)
  if (location.kind === 'local') return LocalStorage.open(location.directory, new DownloadUrls(publicUrl, signingSecrets))
  const limits = seconds === undefined ? {} : { callMs: seconds * 1000 }
  // Load each library only if its store is used, because the libraries use a lot of memory.
  if (location.kind === 's3') {
    const { S3Storage } = await import('./s3/s3.js')
    const s3 = { credentials: config.s3Credentials, unconditionalWrites: config.s3UnconditionalWrites }
    return new S3Storage({ ...location, ...s3, requireProof: true, limits })
  }
  // Without this line, a new kind of store would be opened as a GCS bucket.
  location satisfies { kind: 'gcs' }
  const { GcsStorage } = await import('./gcs/gcs.js')
  // An emulator need not prove that it provides the required guarantees, because it stores no production data.
  const requireProof = emulatorHost === undefined
  return new GcsStorage({ ...location, emulatorHost, hmac: config.storageHmac, requireProof, limits })
}
