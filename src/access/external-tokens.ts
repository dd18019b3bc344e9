import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify, type RemoteJWKSet } from 'jose'
import { isScope, type Scope } from '../platform/actor.js'
import { getCurrentTime, now } from '../platform/clock.js'
import { overloaded } from '../platform/errors/errors.js'
import { toSingleLine } from '../platform/text.js'
import { ownIssuer, throwTokenRejection } from './sessions.js'
import { RejectedToken, type TokenRecord, tokenAlgorithms, type UserRecord } from './token-record.js'

/** User claims in a token from the external identity provider. */
export interface ExternalUserClaims {
  issuer: string
  subject: string
  tenantId: string
  /** Assay scopes in the token. Null if the token has no scopes claim. */
  scopes: Scope[] | null
  email: string | null
  name: string | null
}

/** Names of token claims. A dot selects a member of a nested object, unless the token has a claim with exactly this name. */
export interface ClaimNames {
  tenant: string
  scopes: string
  email: string
  name: string
}

export interface ExternalTokensOptions {
  issuer: string
  audience: string
  jwksUrl: URL
  claims?: Partial<ClaimNames>
  /**
   * Returns the user with this issuer and subject, and creates the user if necessary. Returns null for an unknown tenant. Called
   * once per token and process, and again after the user or tenant changes.
   */
  findOrCreateUser(claims: ExternalUserClaims): Promise<UserRecord | null>
}

const skewSeconds = 60
const usualClaims: ClaimNames = { tenant: 'tenant_id', scopes: 'scope', email: 'email', name: 'name' }

/** Verifies tokens from the identity provider that is configured by JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL. */
export class ExternalTokens {
  readonly #keys: RemoteJWKSet
  readonly #claims: ClaimNames
  readonly issuer: string

  constructor(private readonly options: ExternalTokensOptions) {
    if (options.issuer === ownIssuer)
      throw new Error(`JWT_ISSUER is '${ownIssuer}', the service's own issuer. It must be the issuer of the identity provider.`)
    this.issuer = options.issuer
    this.#claims = { ...usualClaims, ...options.claims }
    // Unknown key ids cause at most one request to the provider per `cooldownDuration`, so that forged tokens cannot flood the
    // provider.
    this.#keys = createRemoteJWKSet(options.jwksUrl, { timeoutDuration: 3_000, cooldownDuration: 30_000, cacheMaxAge: 600_000 })
  }

  /** Returns the token's user. Throws RejectedToken, or an AssayError if the provider's keys cannot be fetched. */
  async verify(token: string): Promise<TokenRecord> {
    const payload = await this.#verify(token)
    const facts = this.toClaims(payload)
    const user = await this.options.findOrCreateUser(facts)
    if (!user) throw new RejectedToken('token_claims', "This token's tenant does not exist.")
    return { user, issuer: facts.issuer, validUntil: (payload.exp! + skewSeconds) * 1000 }
  }

  async #verify(token: string): Promise<JWTPayload> {
    const rules = {
      algorithms: tokenAlgorithms,
      issuer: this.issuer,
      audience: this.options.audience,
      clockTolerance: skewSeconds,
      requiredClaims: ['exp', 'iat', 'sub'],
      currentDate: getCurrentTime(),
    }
    const { payload, protectedHeader } = await jwtVerify(token, this.findKey, rules).catch(throwTokenRejection)
    // Accept only access tokens, because the provider's key also signs logout tokens and DPoP proofs (RFC 8725, section 3.11).
    if (!isAccessTokenType(protectedHeader.typ))
      throw new RejectedToken('token_claims', 'This token is not an access token. Send an access token.')
    if (payload.iat! > now() / 1000 + skewSeconds) throw new RejectedToken('token_claims', 'This token is not valid yet.')
    return payload
  }

  // Finds the key that signed the token. The token is invalid unless exactly one key matches. Any other error means that the
  // provider's keys could not be fetched.
  readonly findKey: JWTVerifyGetKey = async (header, token) => {
    try {
      return await this.#keys(header, token)
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) throw error
      throw overloaded("The identity provider's signing keys cannot be fetched. Retry later.", error)
    }
  }

  toClaims(payload: JWTPayload): ExternalUserClaims {
    const getTextClaim = (name: string) => parseTextClaim(getClaim(payload, name))
    const subject = parseTextClaim(payload.sub)
    const tenantId = getTextClaim(this.#claims.tenant)
    if (!subject) throw new RejectedToken('token_claims', "The token's 'sub' claim is missing or invalid.")
    if (!tenantId) throw new RejectedToken('token_claims', `The token's '${this.#claims.tenant}' claim is missing or invalid.`)
    const scopes = parseScopes(getClaim(payload, this.#claims.scopes))
    return {
      issuer: this.issuer,
      subject,
      tenantId,
      scopes,
      email: getTextClaim(this.#claims.email),
      name: toSingleLine(getTextClaim(this.#claims.name) ?? '') || null,
    }
  }
}

// RFC 9068 requires the type at+jwt for access tokens, but many providers send JWT or no type.
const isAccessTokenType = (type: string | undefined): boolean =>
  type === undefined || ['jwt', 'at+jwt'].includes(type.toLowerCase().replace(/^application\//, ''))

function getClaim(payload: JWTPayload, name: string): unknown {
  if (Object.hasOwn(payload, name)) return payload[name]
  let at: unknown = payload
  for (const part of name.split('.')) {
    if (!at || typeof at !== 'object' || !Object.hasOwn(at, part)) return undefined
    at = (at as Record<string, unknown>)[part]
  }
  return at
}

// Returns null for text with control characters or lone surrogates. PostgreSQL cannot store NUL, and encoding to UTF-8 replaces
// every lone surrogate with U+FFFD, which would make different texts equal.
const parseTextClaim = (claim: unknown): string | null =>
  typeof claim === 'string' &&
  claim.trim() !== '' &&
  claim.length <= 255 &&
  claim.isWellFormed() &&
  !/[\u0000-\u001f\u007f]/.test(claim)
    ? claim
    : null

// Parses Assay's scopes and ignores the provider's other scopes, such as `openid` and `profile`.
function parseScopes(claim: unknown): Scope[] | null {
  const named = typeof claim === 'string' ? claim.split(/[\s,]+/) : claim
  return Array.isArray(named) ? [...new Set(named.filter(isScope))] : null
}
