import type { SigningSecrets } from '../signing-keys.js'
import type { BlobStorage } from './blob-storage.js'
import { LocalStorage } from './local/local.js'
import type { S3Options } from './s3/access.js'
import { DownloadUrls } from './signed-url.js'
import { parseStorageUrl } from './storage-url.js'

export interface OpenStorageOptions {
  publicUrl: string
  signingSecrets: SigningSecrets
  emulatorHost?: string
  hmac?: { accessId: string; secret: string } | undefined
  s3?: Pick<S3Options, 'credentials' | 'unconditionalWrites'>
  /** Timeout of one bucket call, including its retries. */
  deadlineMs?: number
}

/** Opens the store at `url`: `gs://bucket`, `s3://bucket?region=…` or `file:///directory`. Buckets may have a prefix. */
export async function openStorage(url: string, options: OpenStorageOptions): Promise<BlobStorage> {
  const { publicUrl, signingSecrets, emulatorHost, hmac, s3, deadlineMs } = options
  const location = parseStorageUrl(url)
  if (typeof location === 'string') throw new Error(`STORAGE_URL is '${url}'. It must be ${location}.`)
  if (location.kind === 'local') return LocalStorage.open(location.directory, new DownloadUrls(publicUrl, signingSecrets))
  const limits = { ...(deadlineMs && { callMs: deadlineMs }) }
  // Load each library only if its store is used, because the libraries use a lot of memory.
  if (location.kind === 's3') {
    const { S3Storage } = await import('./s3/s3.js')
    return new S3Storage({ ...location, ...s3, requireProof: true, limits })
  }
  const { GcsStorage } = await import('./gcs/gcs.js')
  // Emulators need no proof, because they store no production data.
  return new GcsStorage({ ...location, emulatorHost, hmac, requireProof: emulatorHost === undefined, limits })
}
