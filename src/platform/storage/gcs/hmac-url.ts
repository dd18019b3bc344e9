import { createHash, createHmac } from 'node:crypto'

/** HMAC key of a service account: https://cloud.google.com/storage/docs/authentication/hmackeys */
export interface HmacKey {
  accessId: string
  secret: string
}

export interface DownloadRequest {
  /** Base URL of the API, such as `https://storage.googleapis.com`. */
  endpoint: string
  bucket: string
  name: string
  expiresInSeconds: number
  now: Date
  /** Query parameters for response headers, such as response-content-disposition. */
  query: Record<string, string>
}

const algorithm = 'GOOG4-HMAC-SHA256'

/** Creates a V4 signed URL. See https://cloud.google.com/storage/docs/authentication/canonical-requests */
export function signUrl({ accessId, secret }: HmacKey, get: DownloadRequest): string {
  const time = get.now.toISOString().replace(/[-:]|\.\d{3}/g, '')
  const date = time.slice(0, 8)
  const scope = `${date}/auto/storage/goog4_request`
  const query = Object.entries({
    ...get.query,
    'X-Goog-Algorithm': algorithm,
    'X-Goog-Credential': `${accessId}/${scope}`,
    'X-Goog-Date': time,
    'X-Goog-Expires': String(get.expiresInSeconds),
    'X-Goog-SignedHeaders': 'host',
  })
    .map(([name, value]) => `${percentEncode(name)}=${percentEncode(value)}`)
    .sort()
    .join('&')
  const path = `/${get.bucket}/${get.name.split('/').map(percentEncode).join('/')}`
  const canonical = ['GET', path, query, `host:${new URL(get.endpoint).hostname}\n`, 'host', 'UNSIGNED-PAYLOAD'].join('\n')
  const signed = [algorithm, time, scope, createHash('sha256').update(canonical).digest('hex')].join('\n')
  const key = [date, 'auto', 'storage', 'goog4_request'].reduce<Buffer | string>(hmacSha256, `GOOG4${secret}`)
  return `${get.endpoint}${path}?${query}&X-Goog-Signature=${hmacSha256(key, signed).toString('hex')}`
}

const hmacSha256 = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest()

const percentEncode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)
