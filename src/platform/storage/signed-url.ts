import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { now } from '../clock.js'
import { isId } from '../ids.js'
import type { SigningSecret, SigningSecrets } from '../signing-keys.js'
import type { DownloadGrant } from './blob-storage.js'

/** What a download URL's query says, as the router hands it over: nothing in it is trusted. */
type DownloadQuery = Record<string, unknown>

/** What a URL that is ours and in time allows: this file of this tenant, as long as the credential that made it lives. */
export interface SignedDownload {
  tenantId: string
  fileId: string
  by: string
  nonce: string | undefined
  expires: Date
}

export type DownloadVerdict = SignedDownload | 'expired' | 'invalid'

/** Download URLs of the local store: HMAC-SHA-256 over all that they say. The host is the configured one, never a request's. */
export class DownloadUrls {
  readonly #base: string
  readonly #secrets: SigningSecrets

  constructor(publicUrl: string, secrets: SigningSecrets) {
    this.#secrets = secrets
    this.#base = `${publicUrl.replace(/\/+$/, '')}/download/`
  }

  async sign({ tenantId, fileId, by, once, expiresInSeconds }: DownloadGrant): Promise<string> {
    const key = await this.#secrets.current()
    // Rounded up, so that a URL lives no shorter than was promised.
    const expires = Math.ceil(now() / 1000) + expiresInSeconds
    const said = {
      expires: String(expires),
      tenant: tenantId,
      by,
      ...(once && { once: randomBytes(16).toString('base64url') }),
      key: key.id,
    }
    return `${this.#base}${fileId}?${new URLSearchParams({ ...said, signature: signatureOf(key, fileId, said) })}`
  }

  /** The signing key is named in the URL, so that URLs of a retired one live until they expire. */
  async verify(fileId: string, { expires, tenant, by, once, key: keyId, signature }: DownloadQuery): Promise<DownloadVerdict> {
    if (!isId('file', fileId) || !isId('ten', tenant) || !(isId('key', by) || isId('usr', by))) return 'invalid'
    if (typeof keyId !== 'string' || keyId.length > 100) return 'invalid'
    if (typeof expires !== 'string' || !/^[1-9]\d{0,11}$/.test(expires)) return 'invalid'
    if (once !== undefined && !(typeof once === 'string' && /^[\w-]{22}$/.test(once))) return 'invalid'
    if (typeof signature !== 'string' || !/^[\w-]{43}$/.test(signature)) return 'invalid'
    const key = await this.#secrets.find(keyId)
    if (!key) return 'invalid'
    const right = signatureOf(key, fileId, { expires, tenant, by, ...(once && { once }), key: keyId })
    if (!timingSafeEqual(Buffer.from(right), Buffer.from(signature))) return 'invalid'
    const until = new Date(Number(expires) * 1000)
    return until.getTime() > now() ? { tenantId: tenant, fileId, by, nonce: once, expires: until } : 'expired'
  }
}

// Compared as text: the last of 43 letters has spare bits, which decoding would ignore. The first line keeps these signatures apart from whatever else such a key may sign.
function signatureOf(key: SigningSecret, fileId: string, said: Record<string, string>): string {
  const lines = ['assay-download-2', fileId, ...Object.entries(said).map(([name, value]) => `${name}=${value}`)]
  return createHmac('sha256', key.secret).update(lines.join('\n')).digest('base64url')
}
