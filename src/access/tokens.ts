import { decodeJwt, decodeProtectedHeader } from 'jose'
import { now } from '../platform/clock.js'
import { fingerprint, IdentityCache, type Trust } from './identity-cache.js'
import type { OutsideTokens } from './outside-tokens.js'
import { ownIssuer, type Sessions } from './sessions.js'
import { maxTokenBytes, RejectedToken, type TokenRecord, tokenAlgorithms } from './token-record.js'

export interface TokensOptions {
  trust: Trust
  sessions: Sessions
  outside?: OutsideTokens | undefined
  capacity?: number
}

/** Every token that may be presented: our own, and the outside provider's. A warm one costs no signature check and no database call. */
export class Tokens {
  readonly #cache: IdentityCache<TokenRecord>
  readonly #options: TokensOptions

  constructor(options: TokensOptions) {
    this.#options = options

    const { trust, capacity = 10_000 } = options
    this.#cache = new IdentityCache({ trust, capacity, idsOf: ({ user, sessionId }) => [user.userId, user.tenantId, sessionId] })
  }

  /** What the token stands for; throws RejectedToken. The status of the user and of the tenant are the caller's to judge. */
  async verify(token: string): Promise<TokenRecord> {
    if (token.length > maxTokenBytes)
      throw new RejectedToken('token_malformed', `This token is longer than ${maxTokenBytes} bytes.`)
    const record = await this.#cache.get(fingerprint(token), () => this.#load(token))
    if (!record || record.validUntil <= now()) throw new RejectedToken('token_expired', 'This token has expired.')
    return record
  }

  /** Forgets what depends on a user, a tenant or a session; to be called after its change is committed. */
  forget(id: string): void {
    this.#cache.forget(id)
  }

  clear(): void {
    this.#cache.clear()
  }

  // The issuer that the token claims only chooses who judges it; each judge checks it again.
  async #load(token: string): Promise<TokenRecord> {
    const { sessions, outside } = this.#options
    const issuer = claimedIssuer(token)
    if (issuer === ownIssuer) return sessions.verify(token)
    if (outside && issuer === outside.issuer) return outside.verify(token)
    throw new RejectedToken('token_claims', 'This token is from another issuer.')
  }
}

function claimedIssuer(token: string): unknown {
  let algorithm: unknown
  let issuer: unknown
  try {
    algorithm = decodeProtectedHeader(token).alg
    issuer = decodeJwt(token).iss
  } catch {
    throw new RejectedToken('token_malformed', 'This token is malformed.')
  }
  if (!tokenAlgorithms.includes(algorithm as string))
    throw new RejectedToken('token_signature', 'This token is signed in a way that is not accepted.')
  return issuer
}
