import { createHmac, timingSafeEqual } from 'node:crypto'
import type { SigningSecret, SigningSecrets } from '../auth/signing-keys.js'
import { now } from '../clock.js'
import { isId } from '../ids.js'

/** What a download URL's query says, as the router hands it over: nothing in it is trusted. */
export interface DownloadQuery {
  expires?: unknown
  key?: unknown
  signature?: unknown
}

export type DownloadVerdict = { fileId: string; expires: Date } | 'expired' | 'invalid'

/** Download URLs of the local store: HMAC-SHA-256 over file and expiry. The host is the configured one, never a request's. */
export class DownloadUrls {
  readonly #base: string
  readonly #secrets: SigningSecrets

  constructor(publicUrl: string, secrets: SigningSecrets) {
    this.#secrets = secrets

    this.#base = `${publicUrl.replace(/\/+$/, '')}/download/`
  }

  async sign(fileId: string, expiresInSeconds: number): Promise<string> {
    const key = await this.#secrets.current()
    // Rounded up, so that a URL lives no shorter than was promised.
    const expires = Math.ceil(now() / 1000) + expiresInSeconds
    const signature = signatureOf(key, fileId, String(expires))
    return `${this.#base}${fileId}?expires=${expires}&key=${encodeURIComponent(key.id)}&signature=${signature}`
  }

  /** The key is named in the URL, so that URLs of a retired one live until they expire. */
  async verify(fileId: string, query: DownloadQuery): Promise<DownloadVerdict> {
    const { expires, key: keyId, signature } = query
    if (!isId('file', fileId) || typeof keyId !== 'string' || keyId.length > 100) return 'invalid'
    if (typeof expires !== 'string' || !/^[1-9]\d{0,11}$/.test(expires)) return 'invalid'
    if (typeof signature !== 'string' || !/^[\w-]{43}$/.test(signature)) return 'invalid'
    const key = await this.#secrets.find(keyId)
    if (!key || !timingSafeEqual(Buffer.from(signatureOf(key, fileId, expires)), Buffer.from(signature))) return 'invalid'
    const until = new Date(Number(expires) * 1000)
    return until.getTime() > now() ? { fileId, expires: until } : 'expired'
  }
}

// Compared as text: the last of 43 letters has spare bits, which decoding would ignore. The key id is signed as well, and the first line keeps these signatures apart from whatever else such a key may sign.
const signatureOf = (key: SigningSecret, fileId: string, expires: string) =>
  createHmac('sha256', key.secret).update(`assay-download-1\n${key.id}\n${fileId}\n${expires}`).digest('base64url')
