import type { Scope } from '../platform/actor.js'

/** Authentication data of a dashboard user and their tenant. */
export interface UserRecord {
  userId: string
  tenantId: string
  name: string
  email: string
  scopes: readonly Scope[]
  status: 'active' | 'disabled'
  tenantStatus: 'active' | 'suspended'
  /** True if the tenant requires a second factor that the user has not set up. */
  secondFactorDue: boolean
}

/** A session created by a built-in sign-in, with its user. */
export interface SessionRecord {
  sessionId: string
  expiresAt: Date
  revokedAt: Date | null
  user: UserRecord
}

export interface TokenRecord {
  user: UserRecord
  sessionId?: string
  /** Issuer of the token: 'assay' or the external identity provider. */
  issuer: string
  validUntil: number
}

/** Reason for rejecting a credential, used as a metric label. */
export type RejectionReason =
  | 'header'
  | 'key_unknown'
  | 'key_disabled'
  | 'key_expired'
  | 'tenant_suspended'
  | 'log_share'
  | 'upload_link'
  | 'token_malformed'
  | 'token_signature'
  | 'token_claims'
  | 'token_expired'
  | 'session_ended'
  | 'user_disabled'

/**
 * Thrown if a token is rejected. The client receives the message. Other failures, such as an unavailable database, cause other
 * errors.
 */
export class RejectedToken extends Error {
  override readonly name = 'RejectedToken'

  constructor(
    readonly reason: RejectionReason,
    message: string,
  ) {
    super(message)
  }
}

/** Maximum length of a token. Longer tokens are rejected without being parsed. */
export const maxTokenBytes = 8192

/** Accepted signature algorithms. HMAC algorithms are excluded, so that a public key cannot be misused as a shared secret. */
export const tokenAlgorithms = ['RS256', 'ES256', 'EdDSA']
