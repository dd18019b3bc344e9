import { sign, verify } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, SignJWT } from 'jose'
import { getCurrentTime, now } from '../platform/clock.js'
import { AssayError } from '../platform/errors/errors.js'
import { isId } from '../platform/ids.js'
import { parseKeyPair, type StoredSigningSecrets } from './signing-secrets.js'
import { RejectedToken, type SessionRecord, type TokenRecord, type UserRecord } from './token-record.js'

/** Issuer and audience of the service's own tokens, independent of the service's URL. */
export const ownIssuer = 'assay'

export const sessionSeconds = 12 * 60 * 60

/**
 * Issues and verifies the tokens for built-in sign-ins. A token is signed with EdDSA, and is valid for 12 hours or until its
 * session is revoked.
 */
export class Sessions {
  constructor(
    private readonly keys: StoredSigningSecrets,
    private readonly load: (sessionId: string) => Promise<SessionRecord | null>,
  ) {}

  /** Creates a token for a new session. The caller must store a session that does not expire before the returned `expiresAt`. */
  async issue(user: Pick<UserRecord, 'userId' | 'tenantId'>, sessionId: string): Promise<{ token: string; expiresAt: Date }> {
    const key = await this.keys.getCurrentKey()
    const issued = Math.floor(now() / 1000)
    const token = await new SignJWT({ sid: sessionId, tid: user.tenantId })
      .setProtectedHeader({ alg: 'EdDSA', kid: key.id, typ: 'JWT' })
      .setIssuer(ownIssuer)
      .setAudience(ownIssuer)
      .setSubject(user.userId)
      .setIssuedAt(issued)
      .setExpirationTime(issued + sessionSeconds)
      .sign(parseKeyPair(key).privateKey)
    return { token, expiresAt: new Date((issued + sessionSeconds) * 1000) }
  }

  /** Returns the user and session of the token from the database. Throws RejectedToken. */
  async verify(token: string): Promise<TokenRecord> {
    const { sub, sid, tid, exp } = await this.#readClaims(token)
    const session = await this.#loadSession(sid)
    if (!session || session.revokedAt || session.expiresAt.getTime() <= now())
      throw new RejectedToken('session_ended', 'This session has ended. Sign in again.')
    if (session.user.userId !== sub || session.user.tenantId !== tid)
      throw new RejectedToken('token_claims', "The token's claims do not match its session. Sign in again.")
    const validUntil = Math.min(Number(exp) * 1000, session.expiresAt.getTime())
    return { user: session.user, sessionId: session.sessionId, issuer: ownIssuer, validUntil }
  }

  /**
   * Returns the user whose session a rejected token names, or null. Because the token is not verified, it may name another user's
   * session.
   */
  async findOwner(token: string): Promise<UserRecord | null> {
    try {
      const { iss, sid } = decodeJwt(token)
      return iss === ownIssuer ? ((await this.#loadSession(sid))?.user ?? null) : null
    } catch (error) {
      if (error instanceof errors.JWTInvalid) return null
      throw error
    }
  }

  async #loadSession(id: unknown): Promise<SessionRecord | null> {
    return isId('ses', id) ? this.load(id) : null
  }

  /**
   * Signs `text`, which must start with its purpose and contain a space. Tokens contain no spaces, so the signature can never be
   * valid for a token.
   */
  async sign(text: string): Promise<string> {
    const { privateKey } = parseKeyPair(await this.keys.getCurrentKey())
    return sign(null, Buffer.from(text), privateKey).toString('base64url')
  }

  /** Returns true if this service created this signature for `text`. */
  async verifySignature(text: string, signature: string): Promise<boolean> {
    const bytes = Buffer.from(signature, 'base64url')
    const keys = await this.keys.getAllKeys()
    return keys.some((key) => verify(null, Buffer.from(text), parseKeyPair(key).publicKey, bytes))
  }

  async #readClaims(token: string) {
    const { kid } = decodeProtectedHeader(token)
    const key = typeof kid === 'string' ? await this.keys.findKey(kid) : undefined
    if (!key) throw new RejectedToken('token_signature', 'This token was signed with an unknown key.')
    const rules = {
      algorithms: ['EdDSA'],
      typ: 'JWT',
      issuer: ownIssuer,
      audience: ownIssuer,
      requiredClaims: ['exp', 'sub', 'sid', 'tid'],
      currentDate: getCurrentTime(),
    }
    return (await jwtVerify(token, parseKeyPair(key).publicKey, rules).catch(throwTokenRejection)).payload
  }
}

/** Throws a token rejection for an error from the jose library. The message states only the problem with the token. */
export function throwTokenRejection(error: unknown): never {
  if (error instanceof AssayError) throw error
  if (error instanceof errors.JWTExpired) throw new RejectedToken('token_expired', 'This token has expired.')
  if (error instanceof errors.JWTClaimValidationFailed) throw new RejectedToken('token_claims', toClaimMessage(error))
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    throw new RejectedToken('token_signature', 'This token was signed with an unknown key.')
  if (error instanceof errors.JOSEAlgNotAllowed)
    throw new RejectedToken('token_signature', 'This token is signed with an unsupported algorithm.')
  if (error instanceof errors.JWSSignatureVerificationFailed)
    throw new RejectedToken('token_signature', "The token's signature is invalid.")
  throw new RejectedToken('token_malformed', 'This token is malformed.')
}

const claimMessages: Record<string, string> = {
  nbf: 'This token is not valid yet.',
  iat: 'This token is not valid yet.',
  iss: 'This token was issued by another issuer.',
  aud: 'This token was issued for another audience.',
}

const toClaimMessage = ({ claim, reason }: errors.JWTClaimValidationFailed) =>
  (reason === 'missing' ? undefined : claimMessages[claim]) ?? `The token's '${claim}' claim is missing or invalid.`
