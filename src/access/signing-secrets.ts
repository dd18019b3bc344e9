import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import { Batcher } from '../platform/batcher.js'
import { now } from '../platform/clock.js'
import { withTransaction } from '../platform/db/queries.js'
import { isId, newId } from '../platform/ids.js'
import type { SigningPurpose, SigningSecret, SigningSecrets } from '../platform/signing-keys.js'
import { type CacheValidity, IdentityCache } from './identity-cache.js'
import { notifyIdentityChange } from './identity-listener.js'
import type { MasterKey } from './master-key.js'

export interface StoredSigningKey extends SigningSecret {
  publicJwk: Record<string, unknown> | null
  current: boolean
  expiresAt: Date | null
}

interface SigningKeyRow {
  key_id: string
  secret_encrypted: Buffer
  public_jwk: Record<string, unknown> | null
  retired_at: Date | null
  expires_at: Date | null
}

export type CreateSigningKey = (keyId: string) => { secret: Buffer; publicJwk?: Record<string, unknown> }

interface StoredSigningSecretsOptions {
  pool: Pool
  masterKey: MasterKey
  trust: CacheValidity
  purpose: SigningPurpose
  createKey: CreateSigningKey
  /** Seconds for which a retired key still verifies signatures. This is the lifetime of the signed data. Null means forever. */
  lifetimeSeconds: number | null
}

/** Manages the keys for one purpose, stored encrypted in `signing_keys`. The first use creates a key. */
export class StoredSigningSecrets implements SigningSecrets {
  readonly #cache: IdentityCache<StoredSigningKey[]>
  // Runs one query at a time, so that lookups do not occupy all connections if the database is slow.
  readonly #queries = new Batcher<void, StoredSigningKey[]>({
    run: async (callers) => Array(callers.length).fill(await this.#queryKeys()),
  })

  constructor(private readonly options: StoredSigningSecretsOptions) {
    this.#cache = new IdentityCache({ trust: options.trust, idsOf: () => [], maxAgeMs: 60_000 })
  }

  async getCurrentKey(): Promise<StoredSigningKey> {
    return (await this.getAllKeys())[0]!
  }

  /** Returns all keys that sign or verify, with the current key first. */
  async getAllKeys(): Promise<StoredSigningKey[]> {
    const keys = await this.#cache.get('keys', () => this.#queries.add())
    if (keys?.[0]?.current) return keys.filter(({ expiresAt }) => expiresAt === null || expiresAt.getTime() > now())
    await this.#createFirstKey()
    return this.getAllKeys()
  }

  async findKey(id: string): Promise<StoredSigningKey | undefined> {
    if (!isId('sig', id)) return undefined
    const known = (await this.getAllKeys()).find((key) => key.id === id)
    if (known) return known
    // Another replica may have just created the key, so query the database. Concurrent lookups of unknown ids share one query.
    const keys = await this.#cache.reload('keys', () => this.#queries.add())
    return keys?.find((key) => key.id === id)
  }

  /**
   * Creates a new key and makes it the current one. Signatures made with the old key stay valid for their lifetime, unless
   * `leaked` is true.
   */
  async rotate({ leaked = false }: { leaked?: boolean } = {}): Promise<string> {
    const { purpose, lifetimeSeconds } = this.options
    const id = await this.#withLock(async (client) => {
      const lifetime = leaked ? 0 : lifetimeSeconds
      await client.query(
        `update signing_keys set retired_at = least(retired_at, now()), expires_at = now() + make_interval(secs => $2::float8)
         where purpose = $1 and (retired_at is null or $3)`,
        [purpose, lifetime, leaked],
      )
      await client.query('delete from signing_keys where purpose = $1 and expires_at < now()', [purpose])
      return this.#insertKey(client)
    })
    this.forget()
    return id
  }

  /** Clears the cached keys after a change notification, or after missed notifications. */
  forget(): void {
    this.#cache.clear()
  }

  async #queryKeys(): Promise<StoredSigningKey[]> {
    const { rows } = await this.options.pool.query<SigningKeyRow>(
      `select key_id, secret_encrypted, public_jwk, retired_at, expires_at from signing_keys
       where purpose = $1 and (expires_at is null or expires_at > now())
       order by retired_at is null desc, created_at desc`,
      [this.options.purpose],
    )
    return Promise.all(rows.map((row) => this.#decryptSigningKey(row)))
  }

  async #decryptSigningKey(row: SigningKeyRow): Promise<StoredSigningKey> {
    const secret = await this.options.masterKey.decrypt(
      row.secret_encrypted,
      getSigningKeyLabel(this.options.purpose, row.key_id),
    )
    return {
      id: row.key_id,
      secret,
      publicJwk: row.public_jwk,
      current: row.retired_at === null,
      expiresAt: row.expires_at,
    }
  }

  // If two replicas start at the same time, the second one finds the key that the first one created.
  async #createFirstKey(): Promise<void> {
    await this.#withLock(async (client) => {
      const there = await client.query('select 1 from signing_keys where purpose = $1 and retired_at is null', [
        this.options.purpose,
      ])
      if (there.rowCount === 0) await this.#insertKey(client)
    })
    this.forget()
  }

  async #insertKey(client: PoolClient): Promise<string> {
    const { purpose, createKey, masterKey } = this.options
    const id = newId('sig')
    const { secret, publicJwk } = createKey(id)
    await client.query(
      'insert into signing_keys (key_id, purpose, secret_encrypted, public_jwk, created_at) values ($1, $2, $3, $4, now())',
      [id, purpose, masterKey.encrypt(secret, getSigningKeyLabel(purpose, id)), publicJwk ?? null],
    )
    await notifyIdentityChange(client, 'signing_key', id)
    return id
  }

  #withLock<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    return withTransaction(this.options.pool, async (client) => {
      await client.query("select pg_advisory_xact_lock(hashtextextended('assay signing_keys ' || $1, 0))", [this.options.purpose])
      return work(client)
    })
  }
}

export const getSigningKeyLabel = (purpose: string, keyId: string) => `signing key ${keyId} (${purpose})`

interface KeyPair {
  privateKey: KeyObject
  publicKey: KeyObject
}

/** Creates an Ed25519 key pair, whose public key is published with the key id. */
export function createEd25519Key(keyId: string): { secret: Buffer; publicJwk: Record<string, unknown> } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  return {
    secret: privateKey.export({ format: 'der', type: 'pkcs8' }),
    publicJwk: { ...publicKey.export({ format: 'jwk' }), kid: keyId, alg: 'EdDSA', use: 'sig' },
  }
}

// Caches parsed keys, because parsing a key takes longer than using it. Retired keys are garbage-collected.
const parsed = new WeakMap<StoredSigningKey, KeyPair>()

export function parseKeyPair(key: StoredSigningKey): KeyPair {
  let pair = parsed.get(key)
  if (!pair) {
    const privateKey = createPrivateKey({ key: key.secret, format: 'der', type: 'pkcs8' })
    pair = { privateKey, publicKey: createPublicKey(privateKey) }
    parsed.set(key, pair)
  }
  return pair
}
