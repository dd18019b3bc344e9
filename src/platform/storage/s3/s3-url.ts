/** Location of an S3 bucket, as in STORAGE_URL. */
export interface S3Location {
  bucket: string
  prefix: string | undefined
  region: string
  /** Base URL of an S3-compatible store. Undefined for Amazon S3. */
  endpoint: string | undefined
  /** True if URLs contain the bucket in their path, not in their host. */
  pathStyle: boolean
}

// Bucket names: https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
const shape = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([^?#]*))?(?:\?([^#]*))?$/
const known = new Set(['region', 'endpoint', 'path_style'])

/**
 * Parses `s3://BUCKET[/PREFIX]?region=…&endpoint=…&path_style=true`. Returns a description of the problem if the URL is invalid.
 */
export function parseS3Url(url: string): S3Location | string {
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
    bucket: parts[1],
    prefix: parts[2]?.replace(/^\/+|\/+$/g, '') || undefined,
    region,
    endpoint: endpoint?.replace(/\/+$/, ''),
    pathStyle: style === 'true',
  }
}

function isBaseUrl(value: string): boolean {
  const url = URL.canParse(value) ? new URL(value) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username && !url.password
}
