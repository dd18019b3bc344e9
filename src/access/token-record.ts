import type { Scope } from '../platform/actor.js'

/** What authentication needs to know of a dashboard user and its tenant. */
export interface UserRecord {
  userId: string
  tenantId: string
  name: string
  email: string
  scopes: readonly Scope[]
  status: 'active' | 'disabled'
  tenantStatus: 'active' | 'suspended'
  /** The tenant requires a second factor, which this user has not set up. */
  secondFactorDue: boolean
}

/** A session of the service's own sign-in, with its user. */
export interface SessionRecord {
  sessionId: string
  expiresAt: Date
  revokedAt: Date | null
  user: UserRecord
}

export interface TokenRecord {
  user: UserRecord
  sessionId?: string
  /** Who vouched: 'assay', or the outside provider's issuer. */
  issuer: string
  validUntil: number
}

/** Why a credential was not accepted, for the metrics: a short list, whatever is sent. */
export type RejectionReason =
  | 'header'
  | 'key_unknown'
  | 'key_disabled'
  | 'key_expired'
  | 'tenant_suspended'
  | 'log_share'
  | 'token_malformed'
  | 'token_signature'
  | 'token_claims'
  | 'token_expired'
  | 'session_ended'
  | 'user_disabled'

/** Whose refused token it is, or says to be. */
export interface TokenOwner {
  user: UserRecord
  /** False where the signature is not ours: then it only says so. */
  isProven: boolean
}

/** A token that is not accepted; its message may be shown. What else goes wrong (a database away) is thrown as itself. */
export class RejectedToken extends Error {
  override readonly name = 'RejectedToken'
  /** Asks the database, so that its caller bounds how often. */
  findOwner: () => Promise<TokenOwner | null> = async () => null

  constructor(
    readonly why: RejectionReason,
    message: string,
  ) {
    super(message)
  }
}

/** Longer ones are refused before any work is done on them. */
export const maxTokenBytes = 8192

/** The only algorithms there are: nothing symmetric, so that a public key can never serve as a secret, and never none. */
export const tokenAlgorithms = ['RS256', 'ES256', 'EdDSA']
