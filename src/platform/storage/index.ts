import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SigningSecrets } from '../signing-keys.js'
import type { BlobStorage } from './blob-storage.js'
import { LocalStorage } from './local/local.js'
import type { S3Options } from './s3/access.js'
import { parseS3Url } from './s3/s3-url.js'
import { DownloadUrls } from './signed-url.js'

export interface OpenStorageOptions {
  /** Public URL of the service, used in local download URLs. */
  publicUrl: string
  signingSecrets: SigningSecrets
  emulatorHost?: string
  /** HMAC key that signs download URLs of a Google Cloud Storage bucket without calls to IAM. */
  hmac?: { accessId: string; secret: string } | undefined
  /** Credentials and settings of an S3 bucket. */
  s3?: Pick<S3Options, 'credentials' | 'unconditionalWrites'>
  /** Timeout of one bucket call, including its retries. */
  deadlineMs?: number
}

/** Opens the store of `url`: `gs://bucket`, `s3://bucket?region=…` or `file:///directory`. Buckets may have a prefix. */
export async function openStorage(url: string, options: OpenStorageOptions): Promise<BlobStorage> {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed?.protocol === 'gs:') return openGcs(url, options)
  if (parsed?.protocol === 's3:') return openS3(url, options)
  if (parsed?.protocol === 'file:')
    return LocalStorage.open(parseDirectory(parsed, url), new DownloadUrls(options.publicUrl, options.signingSecrets))
  throw new Error(`STORAGE_URL is '${url}'. It must be gs://bucket, s3://bucket?region=eu-central-1 or file:///directory.`)
}

// Bucket names: https://cloud.google.com/storage/docs/buckets#naming. The class URL would decode them and convert them to lower case.
async function openGcs(url: string, options: OpenStorageOptions): Promise<BlobStorage> {
  const parts = /^gs:\/\/([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])(?:\/([^?#]*))?$/.exec(url)
  if (!parts?.[1])
    throw new Error(
      `STORAGE_URL '${url}' contains no valid bucket name. Use gs://name or gs://name/prefix. A name may contain only lower-case letters, digits, '-', '_' and '.'.`,
    )
  // Load on demand, because Google's credentials library takes memory that a local store does not need.
  const { GcsStorage } = await import('./gcs/gcs.js')
  return new GcsStorage({
    bucket: parts[1],
    prefix: parts[2]?.replace(/^\/+|\/+$/g, ''),
    emulatorHost: options.emulatorHost,
    // Emulators need no proof, because they store no production data.
    requireProof: options.emulatorHost === undefined,
    ...(options.hmac && { hmac: options.hmac }),
    ...(options.deadlineMs && { limits: { callMs: options.deadlineMs } }),
  })
}

async function openS3(url: string, { s3, deadlineMs }: OpenStorageOptions): Promise<BlobStorage> {
  const location = parseS3Url(url)
  if (typeof location === 'string') throw new Error(`STORAGE_URL is '${url}'. It must be ${location}.`)
  // Load on demand, because the AWS SDK takes memory that other stores do not need.
  const { S3Storage } = await import('./s3/s3.js')
  return new S3Storage({ ...location, ...s3, requireProof: true, ...(deadlineMs && { limits: { callMs: deadlineMs } }) })
}

function parseDirectory(url: URL, text: string): string {
  if (url.host && url.host !== 'localhost')
    throw new Error(
      `STORAGE_URL '${text}' contains the host '${url.host}'. For a local directory, use three slashes: file:///directory.`,
    )
  const directory = resolve(fileURLToPath(`file://${url.pathname}`))
  if (directory === '/')
    throw new Error(`STORAGE_URL '${text}' contains no directory. Use a dedicated directory, such as file:///var/lib/assay.`)
  return directory
}
