import type { Scope } from '../platform/actor.js'

/** Data of a dashboard user and its tenant for authentication. */
export interface UserRecord {
  userId: string
  tenantId: string
  name: string
  email: string
  scopes: readonly Scope[]
  status: 'active' | 'disabled'
  tenantStatus: 'active' | 'suspended'
  /** True if the tenant requires a second factor and this user has not set one up. */
  secondFactorDue: boolean
}

/** A session of the built-in sign-in, with its user. */
export interface SessionRecord {
  sessionId: string
  expiresAt: Date
  revokedAt: Date | null
  user: UserRecord
}

export interface TokenRecord {
  user: UserRecord
  sessionId?: string
  /** Issuer of the token: 'assay', or that of the external identity provider. */
  issuer: string
  validUntil: number
}

/** Reason of a rejected credential, as a label of the metrics. */
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

/** User that a rejected token belongs to or claims to belong to. */
export interface TokenOwner {
  user: UserRecord
  /** False if the signature is invalid. */
  isProven: boolean
}

/** Thrown for a rejected token. Its message is sent to the client. Other errors, such as an unavailable database, are thrown unchanged. */
export class RejectedToken extends Error {
  override readonly name = 'RejectedToken'
  /** Looks up the owner in the database. The caller limits how often this happens. */
  findOwner: () => Promise<TokenOwner | null> = async () => null

  constructor(
    readonly why: RejectionReason,
    message: string,
  ) {
    super(message)
  }
}

/** Longer tokens are rejected before they are parsed. */
export const maxTokenBytes = 8192

/** Accepted algorithms. No symmetric algorithm, so that a public key cannot serve as a secret, and not `none`. */
export const tokenAlgorithms = ['RS256', 'ES256', 'EdDSA']
