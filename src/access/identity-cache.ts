import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/** What a change is announced of: the kind and the id of what changed. */
export type IdentityKind = 'api_key' | 'user' | 'tenant' | 'session' | 'signing_key'

/** Whether what was cached may be believed at this moment: see identity-listener.ts. */
export interface Trust {
  trusted(): boolean
}

/** Cache key of a credential. A heap dump or a log of a cache must not contain the credential. */
export const fingerprint = (credential: string): string => hash('sha256', credential, 'base64')

interface Entry<V> {
  value: V
  loadedAt: number
}

interface Load<V> {
  result: Promise<V | null>
  startedAt: number
}

export interface IdentityCacheOptions<V> {
  trust: Trust
  /** Ids whose change makes the value stale. */
  idsOf(value: V): readonly (string | undefined)[]
  capacity?: number
  /** How many unknown keys are remembered as unknown, and for how long: a guesser must fill neither memory nor the database. */
  unknownCapacity?: number
  unknownMs?: number
  /** A belt beside the braces: nothing is believed for longer, whatever was announced. */
  maxAgeMs?: number
}

// A look-up that comes this soon after another's began may share its answer: it is then at most this stale.
const joinableMs = 200

/**
 * Least-recently-used cache over look-ups in the database, for credentials. A hit is answered without a promise. While the
 * announcements of changes cannot be trusted every look-up goes to the database, so that the answer stays right.
 */
export class IdentityCache<V> {
  readonly #known: LRUCache<string, Entry<V>>
  readonly #unknown: LRUCache<string, true>
  readonly #loading = new Map<string, Load<V>>()
  // Counts changes. What was loaded before the last of them is returned to those who asked before it, but not kept.
  #changes = 0
  readonly #options: Required<IdentityCacheOptions<V>>

  constructor(options: IdentityCacheOptions<V>) {
    this.#options = { capacity: 20_000, unknownCapacity: 10_000, unknownMs: 5_000, maxAgeMs: 300_000, ...options }
    const { capacity, unknownCapacity, unknownMs } = this.#options
    this.#known = new LRUCache({ max: capacity })
    this.#unknown = new LRUCache({ max: unknownCapacity, ttl: unknownMs })
  }

  get size(): number {
    return this.#known.size + this.#unknown.size
  }

  /** The value under `key`, null where there is none. `load` asks the database; what it throws is not remembered. */
  get(key: string, load: () => Promise<V | null>): V | null | Promise<V | null> {
    if (this.#options.trust.trusted()) {
      const entry = this.#known.get(key)
      if (entry && performance.now() - entry.loadedAt < this.#options.maxAgeMs) return entry.value
      if (this.#unknown.has(key)) return null
    }
    return this.#load(key, load)
  }

  /** Forgets every value that depends on `id`, and all that was unknown. To be called after the change is committed. */
  forget(id: string): void {
    this.#changes++
    this.#loading.clear()
    this.#unknown.clear()
    for (const [key, { value }] of [...this.#known]) if (this.#options.idsOf(value).includes(id)) this.#known.delete(key)
  }

  clear(): void {
    this.#changes++
    this.#loading.clear()
    this.#unknown.clear()
    this.#known.clear()
  }

  #load(key: string, load: () => Promise<V | null>): Promise<V | null> {
    const now = performance.now()
    const underWay = this.#loading.get(key)
    if (underWay && now - underWay.startedAt < joinableMs) return underWay.result
    const mine: Load<V> = { result: this.#loadAndKeep(key, load, now), startedAt: now }
    this.#loading.set(key, mine)
    const done = () => {
      if (this.#loading.get(key) === mine) this.#loading.delete(key)
    }
    mine.result.then(done, done)
    return mine.result
  }

  async #loadAndKeep(key: string, load: () => Promise<V | null>, startedAt: number): Promise<V | null> {
    const before = this.#changes
    const value = await load()
    if (before === this.#changes) this.#keep(key, value, startedAt)
    return value
  }

  #keep(key: string, value: V | null, loadedAt: number): void {
    this.#known.delete(key)
    this.#unknown.delete(key)
    if (value === null) {
      this.#unknown.set(key, true, { start: loadedAt })
    } else {
      this.#known.set(key, { value, loadedAt })
    }
  }
}
