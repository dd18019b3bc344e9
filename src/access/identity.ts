import { randomBytes } from 'node:crypto'
import type { ClientConfig, Pool } from 'pg'
import type { AuditRow } from '../ledger/entry.js'
import type { Ledger, Transaction } from '../ledger/ledger.js'
import type { SigningPurpose } from '../platform/signing-keys.js'
import { type ApiKeyRecord, Authenticator, type KeyUse, LastUsedRecorder } from './authenticate.js'
import { ExternalTokens, type ExternalTokensOptions } from './external-tokens.js'
import { IdentityCache, type IdentityKind } from './identity-cache.js'
import { IdentityListener, notifyIdentityChange } from './identity-listener.js'
import type { MasterKey } from './master-key.js'
import { Sessions, sessionSeconds } from './sessions.js'
import { type CreateSigningKey, createEd25519Key, StoredSigningSecrets } from './signing-secrets.js'
import type { SessionRecord } from './token-record.js'
import { Tokens } from './tokens.js'

export interface IdentityOptions {
  pool: Pool
  connection: ClientConfig
  masterKey: MasterKey
  /** Finds an API key by the hash of its current secret, or by the hash of the secret that its last rotation replaced. */
  loadApiKey(hash: Buffer): Promise<ApiKeyRecord | null>
  writeKeyUses(uses: KeyUse[]): Promise<void>
  loadSession(sessionId: string): Promise<SessionRecord | null>
  /** External identity provider (JWT_ISSUER). Undefined if none is configured. */
  outside?: ExternalTokensOptions | undefined
  onError?(error: Error): void
}

/** Creates the authentication components and connects them to each other. The features provide the database queries. */
export class Identity {
  readonly listener: IdentityListener
  readonly sessions: Sessions
  readonly tokens: Tokens
  readonly lastUsed: LastUsedRecorder
  readonly signing: Record<SigningPurpose, StoredSigningSecrets>
  readonly authenticate: Authenticator['authenticate']

  readonly #keys: IdentityCache<ApiKeyRecord>

  constructor(options: IdentityOptions) {
    const { pool, connection, masterKey, onError } = options
    const onChange = ({ kind, id }: { kind: IdentityKind; id: string }) => this.forget(kind, id)
    const trust = new IdentityListener({ connection, onChange, onGap: () => this.#forgetAll(), onError })
    this.listener = trust
    const createSigningSecrets = (purpose: SigningPurpose, createKey: CreateSigningKey, lifetimeSeconds: number | null) =>
      new StoredSigningSecrets({ pool, masterKey, trust, purpose, createKey, lifetimeSeconds })
    // A retired key stays valid for one minute longer than the URLs or tokens that it signed, to tolerate clock differences
    // between replicas.
    this.signing = {
      download_url: createSigningSecrets('download_url', createRandomSecret, 300 + 60),
      session: createSigningSecrets('session', createEd25519Key, sessionSeconds + 60),
      // Signatures made with these keys must remain verifiable forever.
      receipt: createSigningSecrets('receipt', createEd25519Key, null),
      log: createSigningSecrets('log', createEd25519Key, null),
    }
    this.#keys = new IdentityCache({ trust, idsOf: (key) => [key.apiKeyId, key.tenantId] })
    this.sessions = new Sessions(this.signing.session, options.loadSession)
    this.tokens = new Tokens(trust, this.sessions, options.outside && new ExternalTokens(options.outside))
    this.lastUsed = new LastUsedRecorder(options.writeKeyUses, onError)
    const authenticator = new Authenticator({
      keys: this.#keys,
      loadApiKey: options.loadApiKey,
      tokens: this.tokens,
      onKeyUsed: this.lastUsed.recordUse.bind(this.lastUsed),
    })
    this.authenticate = authenticator.authenticate.bind(authenticator)
  }

  /** Starts listening for changes and creates missing signing keys. */
  async start(): Promise<void> {
    await this.listener.start()
    for (const secrets of Object.values(this.signing)) await secrets.getCurrentKey()
    this.lastUsed.start()
  }

  /**
   * Returns the public keys that verify tokens, receipts and logs, including retired keys. They are served at
   * /.well-known/jwks.json.
   */
  async getJwks(): Promise<{ keys: Record<string, unknown>[] }> {
    const known = await Promise.all(Object.values(this.signing).map((secrets) => secrets.getAllKeys()))
    return { keys: known.flat().flatMap(({ publicJwk }) => (publicJwk ? [publicJwk] : [])) }
  }

  /** Removes a changed identity from the caches of this replica. Call this after the commit. */
  forget(kind: IdentityKind, id: string): void {
    if (kind === 'signing_key') this.#forgetSigningKeys()
    this.#keys.forget(id)
    this.tokens.forget(id)
  }

  /** Stops listening and writes pending `last_used_at` times. The caller closes the connection pool afterwards. */
  async close(): Promise<void> {
    await this.lastUsed.close()
    await this.listener.close()
  }

  #forgetSigningKeys(): void {
    for (const secrets of Object.values(this.signing)) secrets.forget()
    // Also clear the cached tokens. Otherwise, a token that was signed with a leaked key would be accepted until its cache entry
    // expires.
    this.tokens.clear()
  }

  #forgetAll(): void {
    this.#forgetSigningKeys()
    this.#keys.clear()
  }
}

const createRandomSecret = () => ({ secret: randomBytes(32) })

/** Changes an identity in one transaction and removes it from the caches of all replicas. */
export async function changeIdentity<T>(
  { ledger, identity }: { ledger: Ledger; identity: Identity },
  { tenantId, kind, id }: { tenantId: string; kind: IdentityKind; id: string },
  work: (tx: Transaction) => Promise<{ result: T; audit: AuditRow[] }>,
): Promise<T> {
  const changed = await ledger.changeTenant(tenantId, async (tx) => {
    const { result, audit } = await work(tx)
    await notifyIdentityChange({ query: (sql, values) => tx.$executeRawUnsafe(sql, ...values) }, kind, id)
    return { result, entry: { audit } }
  })
  // Clear the cache of this process immediately. Other replicas clear theirs when they receive the notification.
  identity.forget(kind, id)
  return changed
}
