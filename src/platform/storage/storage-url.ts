import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

interface BucketLocation {
  bucket: string
  prefix?: string | undefined
}

export interface S3Location extends BucketLocation {
  region: string
  /** Base URL of an S3-compatible store. Undefined for Amazon S3. */
  endpoint: string | undefined
  /** True if URLs contain the bucket name in the path, not in the host name. */
  pathStyle: boolean
}

export type StorageLocation =
  | ({ kind: 'gcs' } & BucketLocation)
  | ({ kind: 's3' } & S3Location)
  | { kind: 'local'; directory: string }

/** Parses a store URL. If it is invalid, returns a description of the expected value. */
export function parseStorageUrl(url: string): StorageLocation | string {
  if (url.startsWith('gs:')) return parseGcsUrl(url)
  if (url.startsWith('s3:')) return parseS3Url(url)
  if (url.startsWith('file:')) return parseFileUrl(url)
  return 'gs://bucket, s3://bucket?region=eu-central-1 or file:///directory'
}

// Bucket names: https://cloud.google.com/storage/docs/buckets#naming. The `URL` class is not used, because it would
// percent-encode the prefix.
function parseGcsUrl(url: string): StorageLocation | string {
  const [, bucket, prefix] = /^gs:\/\/([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])(?:\/([^?#]*))?$/.exec(url) ?? []
  if (!bucket) return "gs://bucket or gs://bucket/prefix, with a bucket name of lower-case letters, digits, '-', '_' and '.'"
  return { kind: 'gcs', bucket, prefix: trimSlashes(prefix) }
}

function parseFileUrl(url: string): StorageLocation | string {
  const isPath = /^file:\/\/\/(?!.*%2f)/i.test(url) && URL.canParse(url)
  const directory = isPath ? resolve(fileURLToPath(`file://${new URL(url).pathname}`)) : '/'
  if (directory === '/') return 'the URL of a local directory of its own, with three slashes, such as file:///var/lib/assay'
  return { kind: 'local', directory }
}

const trimSlashes = (prefix: string | undefined) => prefix?.replace(/^\/+|\/+$/g, '') || undefined

// Bucket names: https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
const shape = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([^?#]*))?(?:\?([^#]*))?$/
const known = new Set(['region', 'endpoint', 'path_style'])

/** Parses `s3://BUCKET[/PREFIX]?region=…&endpoint=…&path_style=true`. */
function parseS3Url(url: string): StorageLocation | string {
  const parts = shape.exec(url)
  if (!parts?.[1]) return 's3://bucket?region=eu-central-1, with a bucket name of lower-case letters, digits, hyphens and dots'
  const query = new URLSearchParams(parts[3] ?? '')
  const unknown = [...query.keys()].find((name) => !known.has(name))
  if (unknown !== undefined)
    return `an S3 URL without the unknown parameter '${unknown}'. Supported parameters: ${[...known].join(', ')}`
  const endpoint = query.get('endpoint') ?? undefined
  if (endpoint !== undefined && !isBaseUrl(endpoint))
    return 'an S3 URL whose endpoint is an http or https URL, such as endpoint=https://s3.example.com'
  const region = query.get('region') ?? (endpoint === undefined ? undefined : 'us-east-1')
  if (region === undefined || !/^[a-z0-9-]{2,40}$/.test(region))
    return 'an S3 URL with a region, such as s3://bucket?region=eu-central-1'
  const style = query.get('path_style') ?? String(parts[1].includes('.'))
  if (style !== 'true' && style !== 'false') return 'an S3 URL whose path_style is true or false'
  return {
    kind: 's3',
    bucket: parts[1],
    prefix: trimSlashes(parts[2]),
    region,
    endpoint: endpoint?.replace(/\/+$/, ''),
    pathStyle: style === 'true',
  }
}

function isBaseUrl(value: string): boolean {
  const url = URL.canParse(value) ? new URL(value) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username && !url.password
}
