import type { Actor, Origin, Scope } from '../platform/actor.js'
import { now } from '../platform/clock.js'
import { logTokenForm } from './secrets.js'
import { sessionIn } from './session-cookie.js'
import { longestToken, type RefusedFor, RefusedToken, type TokenRecord, type UserRecord } from './token-record.js'
import type { Tokens } from './tokens.js'

/** What authentication needs to know of an API key and its tenant. */
export interface ApiKeyRecord {
  apiKeyId: string
  tenantId: string
  name: string
  scopes: readonly Scope[]
  /** Ids of the contexts that the key is restricted to. Null means all. */
  contexts: readonly string[] | null
  status: 'active' | 'disabled' | 'revoked'
  expiresAt: Date | null
  tenantStatus: 'active' | 'suspended'
  /** For a secret that was rotated away: the time until which it stays valid. Null for the current secret. */
  graceEndsAt: Date | null
}

/** Whose credential was refused: a key's call is then logged as its failure (contract §5), and the tenant's audit trail tells of it. */
export interface KnownCaller {
  tenantId: string
  kind: 'api_key' | 'user'
  id: string
  name: string
  email: string | null
  /** False where the credential names its holder, and proves nothing. */
  isProven: boolean
}

interface Refused {
  message: string
  why: RefusedFor
  known?: KnownCaller
  /** Costs a look-up, which the caller bounds. */
  find?: () => Promise<KnownCaller | null>
}

export type Authentication =
  | { outcome: 'actor'; actor: Actor }
  /** 401 unauthenticated. */
  | (Refused & { outcome: 'refused' })
  /** 403 forbidden: the credential is right, its tenant is suspended. */
  | (Refused & { outcome: 'forbidden' })
  /** No credential at all: 401 as well, but not a failure of any key. */
  | { outcome: 'none' }

export interface Authenticators {
  /** Returns a cached key without a promise. */
  findKey(secret: string): ApiKeyRecord | null | Promise<ApiKeyRecord | null>
  tokens: Tokens
  /** Called with every key that was used, for `last_used_at`. */
  onKeyUsed?(apiKeyId: string): void
}

/** What every credential of such a tenant is answered. */
export const suspendedTenant = 'This tenant is suspended; ask the operator of this service.'

const logShareElsewhere =
  'This is a log-share token. It reads only the transparency log: GET /api/v1/log/checkpoint, /api/v1/log/key and /api/v1/log/tile/…. Send an API key or a session token here.'

/**
 * Who is calling, from `request.rawHeaders`: names and values in turn, as they came. Not from `headers`, where Node keeps the
 * first of two Authorization headers without a word, while a proxy before us may have believed the second.
 */
export async function authenticate(rawHeaders: readonly string[], origin: Origin, by: Authenticators): Promise<Authentication> {
  const presented = credentialIn(rawHeaders)
  if (presented === undefined) return bySession(rawHeaders, origin, by.tokens)
  if ('fault' in presented) return { outcome: 'refused', why: 'header', message: presented.fault }
  const { credential } = presented
  if (isToken(credential)) return byToken(credential, origin, by.tokens)
  if (logTokenForm.test(credential)) return { outcome: 'refused', why: 'log_share', message: logShareElsewhere }
  const found = by.findKey(credential)
  // Awaited only where it must be: a warm look-up is answered at once.
  const key = found instanceof Promise ? await found : found
  return byKey(key, origin, by)
}

/** The dashboard's cookie: a token of a session of ours, and nothing else. */
async function bySession(rawHeaders: readonly string[], origin: Origin, tokens: Tokens): Promise<Authentication> {
  const presented = sessionIn(rawHeaders)
  if (presented === undefined) return { outcome: 'none' }
  if ('fault' in presented) return { outcome: 'refused', why: 'header', message: presented.fault }
  const found = await byToken(presented.session, origin, tokens)
  if (found.outcome === 'actor' && !found.actor.sessionId)
    return { outcome: 'refused', why: 'token_claims', message: 'The cookie holds no session of this service; sign in again.' }
  return found
}

function byKey(key: ApiKeyRecord | null, origin: Origin, by: Authenticators): Authentication {
  if (!key) return { outcome: 'refused', why: 'key_unknown', message: 'This API key is unknown.' }
  if (key.tenantStatus !== 'active')
    return { outcome: 'forbidden', why: 'tenant_suspended', message: suspendedTenant, known: callerOf(key) }
  const fault = keyFault(key, now())
  if (fault) return { outcome: 'refused', ...fault, known: callerOf(key) }
  by.onKeyUsed?.(key.apiKeyId)
  const { tenantId, apiKeyId: id, name, scopes, contexts } = key
  return { outcome: 'actor', actor: { tenantId, kind: 'api_key', id, name, email: null, scopes, contexts, ...origin } }
}

const callerOf = ({ tenantId, apiKeyId: id, name }: ApiKeyRecord): KnownCaller => ({
  tenantId,
  kind: 'api_key',
  id,
  name,
  email: null,
  isProven: true,
})

const userOf = ({ tenantId, userId: id, name, email }: UserRecord, isProven = true): KnownCaller => ({
  tenantId,
  kind: 'user',
  id,
  name,
  email,
  isProven,
})

function keyFault(key: ApiKeyRecord, now: number): Pick<Refused, 'why' | 'message'> | undefined {
  if (key.status !== 'active') return { why: 'key_disabled', message: `This API key is ${key.status}.` }
  if (key.expiresAt && key.expiresAt.getTime() <= now) return { why: 'key_expired', message: 'This API key has expired.' }
  if (key.graceEndsAt && key.graceEndsAt.getTime() <= now)
    return { why: 'key_expired', message: 'This secret of the API key was rotated away.' }
  return undefined
}

async function byToken(token: string, origin: Origin, tokens: Tokens): Promise<Authentication> {
  let record: TokenRecord
  try {
    record = await tokens.verify(token)
  } catch (error) {
    if (!(error instanceof RefusedToken)) throw error
    const find = async () => {
      const owner = await error.findOwner()
      return owner && userOf(owner.user, owner.isProven)
    }
    return { outcome: 'refused', why: error.why, message: error.message, find }
  }
  const { user, sessionId, issuer } = record
  if (user.tenantStatus !== 'active')
    return { outcome: 'forbidden', why: 'tenant_suspended', message: suspendedTenant, known: userOf(user) }
  if (user.status !== 'active')
    return { outcome: 'refused', why: 'user_disabled', message: 'This user is disabled.', known: userOf(user) }
  const { tenantId, userId: id, name, email, scopes, secondFactorDue } = user
  const actor: Actor = { tenantId, kind: 'user', id, name, email, scopes, contexts: null, ...origin, issuer }
  return { outcome: 'actor', actor: { ...actor, ...(sessionId && { sessionId }), ...(secondFactorDue && { secondFactorDue }) } }
}

function credentialIn(rawHeaders: readonly string[]): { credential: string } | { fault: string } | undefined {
  let value: string | undefined
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (name.length !== 13 || name.toLowerCase() !== 'authorization') continue
    if (value !== undefined) return { fault: 'Two Authorization headers were sent; send one.' }
    value = rawHeaders[at + 1]!
  }
  if (value === undefined) return undefined
  if (value.length > longestToken + 16) return { fault: `The Authorization header is longer than ${longestToken} bytes.` }
  const bearer = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(value)
  return bearer ? { credential: bearer[1]! } : { fault: "The Authorization header must read 'Bearer' and an API key or a token." }
}

// An API key's alphabet has no dot.
const isToken = (credential: string) => !credential.startsWith('assay_') && credential.includes('.')
