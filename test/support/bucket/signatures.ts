import { createHash, createHmac, type KeyObject, verify } from 'node:crypto'

/** A received request with the values that its signature covers. */
export interface SignedRequest {
  method: string
  /** Path and query exactly as sent. */
  target: string
  /** Headers with lower-case names. `host` has no port, as the Google client signs it. */
  headers: Record<string, string>
}

export interface SignatureCheck {
  getKey: (email: string) => KeyObject | undefined
  getSecret?: (accessId: string) => string | undefined
  now: Date
}

/** Returns the error in a V4 signature, or null. https://cloud.google.com/storage/docs/authentication/canonical-requests */
export function findSignatureError(request: SignedRequest, { getKey, getSecret, now }: SignatureCheck): string | null {
  const query = parseQuery(request.target)
  const algorithm = query.get('X-Goog-Algorithm') ?? ''
  if (!['GOOG4-RSA-SHA256', 'GOOG4-HMAC-SHA256'].includes(algorithm)) return `X-Goog-Algorithm is '${algorithm}'`
  const [email = '', ...scope] = (query.get('X-Goog-Credential') ?? '').split('/')
  const date = query.get('X-Goog-Date') ?? ''
  if (scope.join('/') !== `${date.slice(0, 8)}/auto/storage/goog4_request`) return 'the credential scope does not fit the date'
  const byHmac = algorithm === 'GOOG4-HMAC-SHA256'
  const key = byHmac ? getSecret?.(email) : getKey(email)
  if (!key) return `there is no account '${email}'`
  const expires = Number(query.get('X-Goog-Expires'))
  if (!Number.isInteger(expires) || expires < 1 || expires > 604800) return 'X-Goog-Expires is not within seven days'
  const signed = (query.get('X-Goog-SignedHeaders') ?? '').split(';')
  if (!signed.includes('host')) return 'the host is not signed'
  const signature = Buffer.from(query.get('X-Goog-Signature') ?? '', 'hex')
  const text = createStringToSign(request)
  const right =
    typeof key === 'string'
      ? computeHmac(key, scope, text).equals(signature)
      : verify('RSA-SHA256', Buffer.from(text), key, signature)
  if (!right) return 'the signature does not match'
  const begins = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  if (!(now.getTime() < begins + expires * 1000)) return 'it has expired'
  return now.getTime() < begins - 15 * 60_000 ? 'it is not valid yet' : null
}

export function createStringToSign(request: SignedRequest): string {
  const query = parseQuery(request.target)
  const scope = (query.get('X-Goog-Credential') ?? '').split('/').slice(1).join('/')
  const digest = createHash('sha256').update(createCanonicalRequest(request)).digest('hex')
  return [query.get('X-Goog-Algorithm'), query.get('X-Goog-Date'), scope, digest].join('\n')
}

function computeHmac(secret: string, scope: string[], text: string): Buffer {
  const computeMac = (key: Buffer, part: string) => createHmac('sha256', key).update(part).digest()
  return computeMac(scope.reduce(computeMac, Buffer.from(`GOOG4${secret}`)), text)
}

export function createCanonicalRequest({ method, target, headers }: SignedRequest): string {
  const query = parseQuery(target)
  const pairs = [...query]
    .filter(([name]) => name !== 'X-Goog-Signature')
    .map(([name, value]) => [encodeComponent(name), encodeComponent(value)])
  const sorted = pairs.sort(([a = ''], [b = '']) => (a < b ? -1 : 1)).map((pair) => pair.join('='))
  const signed = query.get('X-Goog-SignedHeaders') ?? ''
  const lines = signed.split(';').map((name) => `${name}:${(headers[name] ?? '').trim().replace(/\s+/g, ' ')}\n`)
  const payload = headers['x-goog-content-sha256'] ?? 'UNSIGNED-PAYLOAD'
  return [method, target.split('?')[0], sorted.join('&'), lines.join(''), signed, payload].join('\n')
}

const parseQuery = (target: string) => new URLSearchParams(target.split('?')[1] ?? '')

const encodeComponent = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)
