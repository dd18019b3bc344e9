import { decodeJwt, decodeProtectedHeader } from 'jose'
import { now } from '../platform/clock.js'
import type { ExternalTokens } from './external-tokens.js'
import { type CacheValidity, hashCredential, IdentityCache } from './identity-cache.js'
import { ownIssuer, type Sessions } from './sessions.js'
import { maxTokenBytes, RejectedToken, type TokenRecord, tokenAlgorithms } from './token-record.js'

/** Verifies tokens issued by the service and by the external identity provider. Cached tokens are not verified again. */
export class Tokens {
  readonly #cache: IdentityCache<TokenRecord>

  constructor(
    trust: CacheValidity,
    readonly sessions: Sessions,
    private readonly outside?: ExternalTokens,
  ) {
    this.#cache = new IdentityCache({
      trust,
      capacity: 10_000,
      idsOf: ({ user, sessionId }) => [user.userId, user.tenantId, sessionId],
    })
  }

  /** Returns the token's user. Throws RejectedToken. The caller must check the status of the user and the tenant. */
  async verify(token: string): Promise<TokenRecord> {
    if (token.length > maxTokenBytes)
      throw new RejectedToken('token_malformed', `This token exceeds the maximum length of ${maxTokenBytes} bytes.`)
    const record = await this.#cache.get(hashCredential(token), () => this.#load(token))
    if (!record || record.validUntil <= now()) throw new RejectedToken('token_expired', 'This token has expired.')
    return record
  }

  /** Removes the cached tokens of a user, tenant or session. Call this after committing the change. */
  forget(id: string): void {
    this.#cache.forget(id)
  }

  clear(): void {
    this.#cache.clear()
  }

  // The unverified issuer claim only selects the verifier, which checks the issuer again.
  async #load(token: string): Promise<TokenRecord> {
    const issuer = readClaimedIssuer(token)
    if (issuer === ownIssuer) return this.sessions.verify(token)
    if (this.outside && issuer === this.outside.issuer) return this.outside.verify(token)
    throw new RejectedToken('token_claims', 'The issuer of this token is not accepted.')
  }
}

function readClaimedIssuer(token: string): unknown {
  let algorithm: unknown
  let issuer: unknown
  try {
    algorithm = decodeProtectedHeader(token).alg
    issuer = decodeJwt(token).iss
  } catch {
    throw new RejectedToken('token_malformed', 'This token is malformed.')
  }
  if (!tokenAlgorithms.includes(algorithm as string))
    throw new RejectedToken('token_signature', 'This token is signed with an unsupported algorithm.')
  return issuer
}
