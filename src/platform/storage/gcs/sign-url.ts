import { createHash, createHmac } from 'node:crypto'
import { encodePath, percentEncode } from '../bucket/connection.js'

/** HMAC key of a service account: https://cloud.google.com/storage/docs/authentication/hmackeys */
export interface HmacKey {
  accessId: string
  secret: string
}

export interface UrlSigner {
  algorithm: string
  accessId: string
  sign(text: string, date: string): Promise<Buffer>
}

interface DownloadRequest {
  endpoint: string
  bucket: string
  name: string
  expiresInSeconds: number
  /** Query parameters that set response headers, such as response-content-disposition. */
  query: Record<string, string>
}

export const createHmacSigner = ({ accessId, secret }: HmacKey): UrlSigner => ({
  algorithm: 'GOOG4-HMAC-SHA256',
  accessId,
  sign: async (text, date) => {
    const key = [date, 'auto', 'storage', 'goog4_request'].reduce<Buffer | string>(hmacSha256, `GOOG4${secret}`)
    return hmacSha256(key, text)
  },
})

/** Creates a V4 signed URL. See https://cloud.google.com/storage/docs/authentication/canonical-requests */
export async function signUrl({ algorithm, accessId, sign }: UrlSigner, request: DownloadRequest): Promise<string> {
  const time = new Date().toISOString().replace(/[-:]|\.\d{3}/g, '')
  const date = time.slice(0, 8)
  const scope = `${date}/auto/storage/goog4_request`
  const query = Object.entries({
    ...request.query,
    'X-Goog-Algorithm': algorithm,
    'X-Goog-Credential': `${accessId}/${scope}`,
    'X-Goog-Date': time,
    'X-Goog-Expires': String(request.expiresInSeconds),
    'X-Goog-SignedHeaders': 'host',
  })
    .map(([name, value]) => `${percentEncode(name)}=${percentEncode(value)}`)
    .sort()
    .join('&')
  const path = `/${request.bucket}/${encodePath(request.name)}`
  const canonical = ['GET', path, query, `host:${new URL(request.endpoint).hostname}\n`, 'host', 'UNSIGNED-PAYLOAD'].join('\n')
  const text = [algorithm, time, scope, createHash('sha256').update(canonical).digest('hex')].join('\n')
  return `${request.endpoint}${path}?${query}&X-Goog-Signature=${(await sign(text, date)).toString('hex')}`
}

const hmacSha256 = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest()
