import type { Actor, Origin, Scope } from '../platform/actor.js'
import { now } from '../platform/clock.js'
import { hashCredential, type IdentityCache } from './identity-cache.js'
import { hashSecret, logTokenForm, uploadTokenForm } from './secrets.js'
import { readSessionCookie } from './session-cookie.js'
import { maxTokenBytes, RejectedToken, type RejectionReason, type TokenRecord, type UserRecord } from './token-record.js'
import type { Tokens } from './tokens.js'

/** Authentication data of an API key and its tenant. */
export interface ApiKeyRecord {
  apiKeyId: string
  tenantId: string
  name: string
  scopes: readonly Scope[]
  /** Context ids that the key is restricted to. Null means all contexts. */
  contexts: readonly string[] | null
  status: 'active' | 'disabled' | 'revoked'
  expiresAt: Date | null
  tenantStatus: 'active' | 'suspended'
  /** Time until which a rotated secret stays valid. Null for the current secret. */
  graceEndsAt: Date | null
}

/**
 * Owner of a rejected credential. The owner gets no access, but the rejection is recorded in the audit log and, for an API key,
 * in the call log.
 */
export type CredentialOwner = Actor & {
  /** False if the credential merely claims this owner, as a token with an invalid signature does. */
  isVerified: boolean
}

interface RejectedCredential {
  message: string
  reason: RejectionReason
  owner?: CredentialOwner
  /** Finds the owner in the database. The caller limits how often this function is called. */
  findOwner?: () => Promise<CredentialOwner | null>
}

export type Authentication =
  | { outcome: 'actor'; actor: Actor }
  /** The credential is rejected with 401. If it is valid, but its tenant is suspended, it is rejected with 403 (`forbidden`). */
  | (RejectedCredential & { outcome: 'rejected' | 'forbidden' })
  /** The request has no credential. Endpoints that require one respond with 401. */
  | { outcome: 'none' }

interface AuthenticatorDependencies {
  keys: IdentityCache<ApiKeyRecord>
  /** Finds an API key by the hash of its current secret, or by the hash of the secret that its last rotation replaced. */
  loadApiKey(hash: Buffer): Promise<ApiKeyRecord | null>
  tokens: Tokens
  /** Called each time an API key is used, to update `last_used_at`. */
  onKeyUsed(apiKeyId: string): void
}

export const suspendedTenant = 'This tenant is suspended. Contact the operator of this service.'

const isLogShareToken =
  'This is a log access token, which grants access only to the transparency log (/api/v1/log/checkpoint, /api/v1/log/key and /api/v1/log/tile/…). Send an API key or a session token instead.'

const isUploadToken =
  'This is an upload link token, which is accepted only in the path /upload/TOKEN. Send an API key or a session token instead.'

export class Authenticator {
  constructor(private readonly parts: AuthenticatorDependencies) {}

  /**
   * Reads `rawHeaders`, because `headers` contains only the first of two Authorization headers, and a proxy may have checked the
   * second one.
   */
  async authenticate(rawHeaders: readonly string[], origin: Origin): Promise<Authentication> {
    const presented = readCredential(rawHeaders)
    if (presented === undefined) return this.#authenticateSession(rawHeaders, origin)
    if ('error' in presented) return createRejection('header', presented.error)
    const { credential } = presented
    if (isJwt(credential)) return this.#authenticateToken(credential, origin)
    if (logTokenForm.test(credential)) return createRejection('log_share', isLogShareToken)
    if (uploadTokenForm.test(credential)) return createRejection('upload_link', isUploadToken)
    return this.#authenticateKey(credential, origin)
  }

  /** Authenticates with the session token in the dashboard's cookie. */
  async #authenticateSession(rawHeaders: readonly string[], origin: Origin): Promise<Authentication> {
    const presented = readSessionCookie(rawHeaders)
    if (presented === undefined) return { outcome: 'none' }
    if ('error' in presented) return createRejection('header', presented.error)
    const found = await this.#authenticateToken(presented.session, origin)
    if (found.outcome === 'actor' && !found.actor.sessionId)
      return createRejection('token_claims', 'The session cookie is invalid. Sign in again.')
    return found
  }

  async #authenticateKey(secret: string, origin: Origin): Promise<Authentication> {
    const { keys, loadApiKey, onKeyUsed } = this.parts
    const key = await keys.get(hashCredential(secret), () => loadApiKey(hashSecret(secret)))
    if (!key) return createRejection('key_unknown', 'This API key does not exist. Check that the complete key was sent.')
    if (key.tenantStatus !== 'active')
      return { outcome: 'forbidden', reason: 'tenant_suspended', message: suspendedTenant, owner: toApiKeyOwner(key, origin) }
    const error = findKeyError(key, now())
    if (error) return createRejection(...error, { owner: toApiKeyOwner(key, origin) })
    onKeyUsed(key.apiKeyId)
    const { tenantId, apiKeyId: id, name, scopes, contexts } = key
    return { outcome: 'actor', actor: { tenantId, kind: 'api_key', id, name, email: null, scopes, contexts, ...origin } }
  }

  async #authenticateToken(token: string, origin: Origin): Promise<Authentication> {
    let record: TokenRecord
    try {
      record = await this.parts.tokens.verify(token)
    } catch (error) {
      if (!(error instanceof RejectedToken)) throw error
      const { reason, message } = error
      const findOwner = async () => {
        const owner = await this.parts.tokens.sessions.findOwner(token)
        return owner && toTokenOwner(owner, origin, hasVerifiedSignature.includes(reason))
      }
      return createRejection(reason, message, { findOwner })
    }
    const { user, sessionId, issuer } = record
    if (user.tenantStatus !== 'active')
      return { outcome: 'forbidden', reason: 'tenant_suspended', message: suspendedTenant, owner: toTokenOwner(user, origin) }
    if (user.status !== 'active')
      return createRejection('user_disabled', 'This user is disabled. Ask an admin to enable the user.', {
        owner: toTokenOwner(user, origin),
      })
    const { tenantId, userId: id, name, email, scopes, secondFactorDue } = user
    const actor: Actor = { tenantId, kind: 'user', id, name, email, scopes, contexts: null, ...origin, issuer }
    return { outcome: 'actor', actor: { ...actor, ...(sessionId && { sessionId }), ...(secondFactorDue && { secondFactorDue }) } }
  }
}

// Rejection reasons that can occur only after the token's signature has been verified.
const hasVerifiedSignature: RejectionReason[] = ['token_claims', 'token_expired', 'session_ended']

const createRejection = (
  reason: RejectionReason,
  message: string,
  options: Pick<RejectedCredential, 'owner' | 'findOwner'> = {},
): Authentication => ({ outcome: 'rejected', reason, message, ...options })

const noAccess = { scopes: [], contexts: null }

const toApiKeyOwner = ({ tenantId, apiKeyId: id, name }: ApiKeyRecord, origin: Origin): CredentialOwner => {
  return { tenantId, kind: 'api_key', id, name, email: null, ...noAccess, ...origin, isVerified: true }
}

const toTokenOwner = ({ tenantId, userId: id, name, email }: UserRecord, origin: Origin, isVerified = true): CredentialOwner => {
  return { tenantId, kind: 'user', id, name, email, ...noAccess, ...origin, isVerified }
}

function findKeyError({ status, expiresAt, graceEndsAt }: ApiKeyRecord, now: number): [RejectionReason, string] | undefined {
  if (status !== 'active') return ['key_disabled', `This API key is ${status}. Use an active API key.`]
  if (expiresAt && expiresAt.getTime() <= now) return ['key_expired', 'This API key has expired. Create a new API key.']
  if (graceEndsAt && graceEndsAt.getTime() <= now)
    return ['key_expired', 'The API key was rotated, and its previous secret is no longer valid. Send the new secret.']
  return undefined
}

function readCredential(rawHeaders: readonly string[]): { credential: string } | { error: string } | undefined {
  let value: string | undefined
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (name.length !== 13 || name.toLowerCase() !== 'authorization') continue
    if (value !== undefined) return { error: 'The request has two Authorization headers. Send one.' }
    value = rawHeaders[at + 1]!
  }
  if (value === undefined) return undefined
  if (value.length > maxTokenBytes + 16)
    return { error: `The Authorization header exceeds ${maxTokenBytes} bytes. Send a valid API key or token.` }
  const bearer = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(value)
  return bearer
    ? { credential: bearer[1]! }
    : { error: 'Malformed Authorization header. Send `Authorization: Bearer <API key or token>`.' }
}

// API keys contain no dot, unlike JWTs.
const isJwt = (credential: string) => !credential.startsWith('assay_') && credential.includes('.')

export interface KeyUse {
  apiKeyId: string
  at: Date
}

const everyMs = 5_000

/** Collects the `last_used_at` times of API keys and writes them every few seconds, so that calls do not wait for the write. */
export class LastUsedRecorder {
  #uses = new Map<string, number>()
  /**
   * Times that were last written to the database. They are retained until the next write, because a database read that started
   * before the write may return older times.
   */
  #written = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(
    /**
     * Writes the times to the database. Must use `greatest(last_used_at, at)`, so that an earlier time never replaces a later
     * one.
     */
    private readonly write: (uses: KeyUse[]) => Promise<void>,
    private readonly onError?: (error: Error) => void,
  ) {}

  start(): void {
    this.#timer = setInterval(() => void this.flush(), everyMs).unref()
  }

  recordUse(apiKeyId: string): void {
    this.#uses.set(apiKeyId, now())
  }

  /** Returns the later of the stored time and the time recorded by this replica, which may not be stored yet. */
  getLastUsedAt(apiKeyId: string, storedAt: Date | null): Date | null {
    const at = this.#uses.get(apiKeyId) ?? this.#written.get(apiKeyId) ?? 0
    return at > (storedAt?.getTime() ?? 0) ? new Date(at) : storedAt
  }

  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#writeAll())
    return this.#writing
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  async #writeAll(): Promise<void> {
    const uses = this.#uses
    this.#written = uses
    if (uses.size === 0) return
    this.#uses = new Map()
    try {
      // Update rows in id order, so that two replicas cannot deadlock.
      const sorted = [...uses].sort(([one], [other]) => (one < other ? -1 : 1))
      await this.write(sorted.map(([apiKeyId, at]) => ({ apiKeyId, at: new Date(at) })))
    } catch (error) {
      for (const [id, at] of uses) if (!this.#uses.has(id)) this.#uses.set(id, at)
      this.onError?.(error as Error)
    }
  }
}
