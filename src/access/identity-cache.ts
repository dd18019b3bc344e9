import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { Batcher } from '../platform/batcher.js'

/** Kinds of identities whose changes invalidate cached values. */
export type IdentityKind = 'api_key' | 'user' | 'tenant' | 'session' | 'signing_key'

/** Reports whether cached values can be trusted. See identity-listener.ts. */
export interface CacheValidity {
  isTrusted(): boolean
}

/** Returns the cache key for a credential. The key is a hash, so that heap dumps and logs do not contain the credential. */
export const hashCredential = (credential: string): string => hash('sha256', credential, 'base64')

interface Load<V> {
  result: Promise<V | null>
  startedAt: number
}

export interface IdentityCacheOptions<V> {
  trust: CacheValidity
  /** Returns the ids of all objects that the value depends on. A change to any of them invalidates the cached value. */
  idsOf(value: V): readonly (string | undefined)[]
  capacity?: number
  /**
   * Maximum number of cached unknown keys. Caching unknown keys protects the database from repeated guesses, and the maximum
   * limits memory use.
   */
  unknownCapacity?: number
  /** Maximum age of a cached value, even without a change notification. */
  maxAgeMs?: number
}

const unknownMs = 5_000
// Maximum age in milliseconds of a pending lookup that another caller can join. It limits how old the shared result can be.
const joinableMs = 200

/** Caches credentials from the database. While change notifications are unreliable, every lookup queries the database. */
export class IdentityCache<V extends object> {
  readonly #known: LRUCache<string, V>
  readonly #unknown: LRUCache<string, true>
  readonly #loading = new Map<string, Load<V>>()
  // Number of changes so far. A value whose lookup started before the latest change is returned to its callers but not cached.
  #changes = 0
  readonly #options: Required<IdentityCacheOptions<V>>

  constructor(options: IdentityCacheOptions<V>) {
    this.#options = { capacity: 20_000, unknownCapacity: 10_000, maxAgeMs: 300_000, ...options }
    const { capacity, unknownCapacity, maxAgeMs } = this.#options
    this.#known = new LRUCache({ max: capacity, ttl: maxAgeMs, ttlResolution: 0 })
    this.#unknown = new LRUCache({ max: unknownCapacity, ttl: unknownMs })
  }

  get size(): number {
    return this.#known.size + this.#unknown.size
  }

  /**
   * Returns the value of `key`, or null if none exists. If the value is not cached, calls `load` to query the database. Errors
   * thrown by `load` are not cached.
   */
  get(key: string, load: () => Promise<V | null>): V | null | Promise<V | null> {
    if (this.#options.trust.isTrusted()) {
      const known = this.#known.get(key)
      if (known) return known
      if (this.#unknown.has(key)) return null
    }
    return this.reload(key, load)
  }

  /** Queries the database even if the value is cached. Concurrent calls share one query. */
  reload(key: string, load: () => Promise<V | null>): Promise<V | null> {
    const now = performance.now()
    const pending = this.#loading.get(key)
    if (pending && now - pending.startedAt < joinableMs) return pending.result
    const ownLoad: Load<V> = { result: this.#loadAndStore(key, load, now), startedAt: now }
    this.#loading.set(key, ownLoad)
    const removeFinishedLoad = () => {
      if (this.#loading.get(key) === ownLoad) this.#loading.delete(key)
    }
    ownLoad.result.then(removeFinishedLoad, removeFinishedLoad)
    return ownLoad.result
  }

  /**
   * Removes all cached values that depend on `id`, and all keys that are cached as unknown. Call this after committing the
   * change.
   */
  forget(id: string): void {
    this.#changes++
    this.#loading.clear()
    this.#unknown.clear()
    for (const [key, value] of [...this.#known]) if (this.#options.idsOf(value).includes(id)) this.#known.delete(key)
  }

  clear(): void {
    this.#changes++
    this.#loading.clear()
    this.#unknown.clear()
    this.#known.clear()
  }

  async #loadAndStore(key: string, load: () => Promise<V | null>, startedAt: number): Promise<V | null> {
    const before = this.#changes
    const value = await load()
    if (before === this.#changes) this.#store(key, value, startedAt)
    return value
  }

  #store(key: string, value: V | null, loadedAt: number): void {
    this.#known.delete(key)
    this.#unknown.delete(key)
    if (value === null) this.#unknown.set(key, true, { start: loadedAt })
    else this.#known.set(key, value, { start: loadedAt })
  }
}

const pauseMs = 5
const maxPauseMs = 50

/**
 * Batches database lookups of credentials. Each query without a match delays the next one, so that a flood of guesses causes only
 * about twenty queries per second. `minPauseMs` is a pause after every query, for lookups that are probably guesses.
 */
export function createCredentialBatcher<Credential, Match>(
  load: (credentials: readonly Credential[]) => Promise<readonly (Match | null)[]>,
  { minPauseMs = 0 } = {},
): Batcher<Credential, Match | null> {
  let misses = 0
  return new Batcher({
    run: load,
    getPauseMs: (found) => {
      misses = found.some((each) => each !== null) ? 0 : misses + 1
      return Math.max(minPauseMs, Math.min(maxPauseMs, misses * pauseMs))
    },
  })
}
