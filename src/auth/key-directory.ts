import type { Scope } from './actor.js'
import { IdentityCache, type Trust } from './identity-cache.js'
import type { LegacyPeppers } from './legacy-peppers.js'
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
  found: Buffer
  /** Where `found` is the hash of a secret that was rotated away: until when it lives on. Null for the key's own secret. */
  graceEndsAt: Date | null
}

/** Finds the key that has one of these hashes, as its secret or as the one before. */
export type LoadApiKey = (hashes: readonly Buffer[]) => Promise<ApiKeyRecord | null>

/** Replaces the hash `from` by `to` (secret_hash or previous_secret_hash, whichever it is). */
export type RehashApiKey = (change: { apiKeyId: string; from: Buffer; to: Buffer }) => Promise<void>

export interface KeyDirectoryOptions {
  trust: Trust
  load: LoadApiKey
  rehash: RehashApiKey
  peppers: LegacyPeppers
  /** When hashes under a pepper begin to be replaced, in milliseconds: replicas of the earlier version know no other. */
  rehashFrom: number
  onError?(error: Error): void
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
    return this.#cache.get(fingerprint(secret), () => this.#load(secret))
  }

  /** Forgets what depends on an API key or a tenant; to be called after its change is committed. */
  forget(id: string): void {
    this.#cache.forget(id)
  }

  clear(): void {
    this.#cache.clear()
  }

  async #load(secret: string): Promise<ApiKeyRecord | null> {
    const { load, rehash, rehashFrom, peppers, onError } = this.#options
    const hash = hashOf(secret)
    const record = await load([hash, ...peppers.hashes(secret)])
    // The only moment at which the secret is at hand. A failure costs nothing: the next look-up tries again.
    if (record && !record.found.equals(hash) && Date.now() >= rehashFrom)
      await rehash({ apiKeyId: record.apiKeyId, from: record.found, to: hash }).catch((error: Error) => onError?.(error))
    return record
  }
}
