import type { Scope } from './actor.js'
import { IdentityCache, type Trust } from './identity-cache.js'
import type { Peppers, SecretHash } from './peppers.js'
import { fingerprint, sameBytes } from './secrets.js'

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
  /** The stored hash that was found. */
  found: SecretHash
  /** Where `found` is the hash of a secret that was rotated away: until when it lives on. Null for the key's own secret. */
  graceEndsAt: Date | null
}

/** Finds the key that has one of these hashes, as its secret or as the one before. */
export type LoadApiKey = (hashes: readonly SecretHash[]) => Promise<ApiKeyRecord | null>

/** Replaces the hash `from` by `to` (secret_hash or previous_secret_hash, whichever it is). */
export type RehashApiKey = (change: { apiKeyId: string; from: SecretHash; to: SecretHash }) => Promise<void>

export interface KeyDirectoryOptions {
  trust: Trust
  peppers: Peppers
  load: LoadApiKey
  rehash?: RehashApiKey
  onError?(error: Error): void
  capacity?: number
}

/** API keys by their secret, known in the process: a warm look-up costs one SHA-256 and no call to the database. */
export class KeyDirectory {
  private readonly cache: IdentityCache<ApiKeyRecord>

  constructor(private readonly options: KeyDirectoryOptions) {
    const { trust, capacity } = options
    this.cache = new IdentityCache({ trust, idsOf: (key) => [key.apiKeyId, key.tenantId], ...(capacity ? { capacity } : {}) })
  }

  /** The key with that secret, or null. Its status, expiry and tenant are the caller's to judge. */
  find(secret: string): ApiKeyRecord | null | Promise<ApiKeyRecord | null> {
    return this.cache.get(fingerprint(secret), () => this.load(secret))
  }

  /** Forgets what depends on an API key or a tenant; to be called after its change is committed. */
  forget(id: string): void {
    this.cache.forget(id)
  }

  clear(): void {
    this.cache.clear()
  }

  private async load(secret: string): Promise<ApiKeyRecord | null> {
    const { peppers, load } = this.options
    let hashes = await peppers.hashes(secret)
    let record = await load(hashes)
    if (!record) {
      // Not heard of a rotation yet? Then a key made since would seem unknown.
      const before = hashes[0]?.pepperId
      hashes = await peppers.freshHashes(secret)
      if (hashes[0]?.pepperId !== before) record = await load(hashes)
    }
    if (!record || !isOneOf(record.found, hashes)) return null
    await this.rehash(record, hashes[0]!)
    return record
  }

  // The only moment at which the secret is at hand. A failure costs nothing: the next look-up tries again.
  private async rehash({ apiKeyId, found }: ApiKeyRecord, to: SecretHash): Promise<void> {
    if (found.pepperId === to.pepperId || !this.options.rehash) return
    await this.options.rehash({ apiKeyId, from: found, to }).catch((error) => this.options.onError?.(error as Error))
  }
}

const isOneOf = (found: SecretHash, hashes: readonly SecretHash[]): boolean =>
  hashes.some(({ pepperId, hash }) => pepperId === found.pepperId && sameBytes(hash, found.hash))
