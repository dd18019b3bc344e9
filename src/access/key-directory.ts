import type { Scope } from '../platform/actor.js'
import { IdentityCache, type Trust } from './identity-cache.js'
import { fingerprint, hashOf } from './secrets.js'

/** What authentication needs to know of an API key and its tenant. */
export interface ApiKeyRecord {
  apiKeyId: string
  tenantId: string
  name: string
  scopes: readonly Scope[]
  /** Ids of the only contexts that it may see; null where it is not restricted. */
  contexts: readonly string[] | null
  status: 'active' | 'disabled' | 'revoked'
  expiresAt: Date | null
  tenantStatus: 'active' | 'suspended'
  /** For a secret that was rotated away: the time until which it stays valid. Null for the current secret. */
  graceEndsAt: Date | null
}

/** Finds the key with this hash of its secret, or of the secret before its rotation. */
export type LoadApiKey = (hash: Buffer) => Promise<ApiKeyRecord | null>

export interface KeyDirectoryOptions {
  trust: Trust
  load: LoadApiKey
  capacity?: number
}

/** API keys by their secret, known in the process: a warm look-up costs one SHA-256 and no call to the database. */
export class KeyDirectory {
  readonly #options: KeyDirectoryOptions
  readonly #cache: IdentityCache<ApiKeyRecord>

  constructor(options: KeyDirectoryOptions) {
    this.#options = options
    const { trust, capacity } = options
    this.#cache = new IdentityCache({ trust, idsOf: (key) => [key.apiKeyId, key.tenantId], ...(capacity ? { capacity } : {}) })
  }

  /** The key with that secret, or null. Its status, expiry and tenant are the caller's to judge. */
  find(secret: string): ApiKeyRecord | null | Promise<ApiKeyRecord | null> {
    return this.#cache.get(fingerprint(secret), () => this.#options.load(hashOf(secret)))
  }

  /** Forgets what depends on an API key or a tenant; to be called after its change is committed. */
  forget(id: string): void {
    this.#cache.forget(id)
  }

  clear(): void {
    this.#cache.clear()
  }
}
