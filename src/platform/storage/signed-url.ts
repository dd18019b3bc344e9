import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { now } from '../clock.js'
import { isId } from '../ids.js'
import type { SigningSecret, SigningSecrets } from '../signing-keys.js'
import type { DownloadGrant } from './blob-storage.js'

/** Untrusted query parameters of a download URL. */
type DownloadQuery = Record<string, unknown>

/** Content of a valid URL. The URL permits the download only while the credential `by` is valid. */
export interface SignedDownload {
  tenantId: string
  fileId: string
  by: string
  nonce: string | undefined
  expires: Date
}

export type DownloadVerdict = SignedDownload | 'expired' | 'invalid'

/** Signs download URLs of the local store with HMAC-SHA-256. The host comes from the configuration, never from a request. */
export class DownloadUrls {
  readonly #base: string
  readonly #secrets: SigningSecrets

  constructor(publicUrl: string, secrets: SigningSecrets) {
    this.#secrets = secrets
    this.#base = `${publicUrl.replace(/\/+$/, '')}/download/`
  }

  async sign({ tenantId, fileId, by, once, expiresInSeconds }: DownloadGrant): Promise<string> {
    const key = await this.#secrets.getCurrentKey()
    // Round up, so that a URL is valid for at least the requested time.
    const expires = Math.ceil(now() / 1000) + expiresInSeconds
    const fields = {
      expires: String(expires),
      tenant: tenantId,
      by,
      ...(once && { once: randomBytes(16).toString('base64url') }),
      key: key.id,
    }
    return `${this.#base}${fileId}?${new URLSearchParams({ ...fields, signature: createSignature(key, fileId, fields) })}`
  }

  /** Verifies a download URL. The URL names its signing key, so that it stays valid after a key rotation until it expires. */
  async verify(fileId: string, { expires, tenant, by, once, key: keyId, signature }: DownloadQuery): Promise<DownloadVerdict> {
    if (!isId('file', fileId) || !isId('ten', tenant) || !(isId('key', by) || isId('usr', by))) return 'invalid'
    if (typeof keyId !== 'string' || keyId.length > 100) return 'invalid'
    if (typeof expires !== 'string' || !/^[1-9]\d{0,11}$/.test(expires)) return 'invalid'
    if (once !== undefined && !(typeof once === 'string' && /^[\w-]{22}$/.test(once))) return 'invalid'
    if (typeof signature !== 'string' || !/^[\w-]{43}$/.test(signature)) return 'invalid'
    const key = await this.#secrets.findKey(keyId)
    if (!key) return 'invalid'
    const expected = createSignature(key, fileId, { expires, tenant, by, ...(once && { once }), key: keyId })
    if (!timingSafeEqual(Buffer.from(expected), Buffer.from(signature))) return 'invalid'
    const expiresAt = new Date(Number(expires) * 1000)
    return expiresAt.getTime() > now() ? { tenantId: tenant, fileId, by, nonce: once, expires: expiresAt } : 'expired'
  }
}

// Signatures are compared as text, because decoding would ignore some bits of the last character. The first signed line names the
// format.
function createSignature(key: SigningSecret, fileId: string, fields: Record<string, string>): string {
  const lines = ['assay-download-2', fileId, ...Object.entries(fields).map(([name, value]) => `${name}=${value}`)]
  return createHmac('sha256', key.secret).update(lines.join('\n')).digest('base64url')
}
