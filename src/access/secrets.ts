import { hash, randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { now } from '../platform/clock.js'

/** Generates the secret of an API key, which is shown once. Only its hash is stored. */
export const generateApiKeySecret = (): string => `assay_${randomBytes(32).toString('base64url')}`

/** Hashes a secret for storage. A slow hash is not needed, because guessing 256 random bits is infeasible. */
export const hashSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer')

/** Format of a log share token. The two ids only locate the database row. The client is authenticated by the secret part only. */
export const logTokenForm = /^log_([0-9a-z]{26})_([0-9a-z]{26})_([A-Za-z0-9_-]{43})$/

export const uploadTokenForm = /^ulk_([0-9a-z]{26})_([0-9a-z]{26})_([A-Za-z0-9_-]{43})$/

/** Creates a token with 256 random bits for the row with this id. Only the token's hash is stored. */
export function createRowToken(prefix: string, tenantId: string, id: string): { token: string; hash: Buffer } {
  const secret = randomBytes(32).toString('base64url')
  return { token: `${prefix}_${stripPrefix(tenantId)}_${stripPrefix(id)}_${secret}`, hash: hashSecret(secret) }
}

const stripPrefix = (id: string): string => id.slice(id.indexOf('_') + 1)

/**
 * Returns the prefix of an API key that is displayed in lists. It helps to identify a leaked key, and reveals only 36 of the
 * key's 256 bits.
 */
export const getKeyPrefix = (secret: string): string => secret.slice(0, 12)

export const getWebhookSecretLabel = (webhookId: string): string => `webhook secret ${webhookId}`

// RFC 6238 parameters. All authenticator apps support these values.
const totpParameters = { issuer: 'Assay', algorithm: 'SHA1', digits: 6, period: 30 } as const
const recoveryCodeCount = 10

/** Generates a TOTP secret of 160 random bits, the length that RFC 4226 recommends. */
export const generateTotpSecret = (): Buffer => randomBytes(20)

/** Returns the secret as text to type, and as a URI for the QR code of an authenticator app. */
export function createTotpSetup(secret: Buffer, label: string): { secret: string; uri: string } {
  const totp = new TOTP({ ...totpParameters, label, secret: toTotpSecret(secret) })
  return { secret: totp.secret.base32, uri: totp.toString() }
}

/** Returns the time step of a valid code, or null for an invalid code. Allows clock differences of up to 30 s. */
export function findTotpStep(secret: Buffer, code: string, time = now()): number | null {
  const totp = new TOTP({ ...totpParameters, secret: toTotpSecret(secret) })
  const distance = totp.validate({ token: code, timestamp: time, window: 1 })
  return distance === null ? null : totp.counter({ timestamp: time }) + distance
}

/** Generates ten single-use recovery codes of 80 random bits each. */
export const generateRecoveryCodes = (): string[] =>
  Array.from({ length: recoveryCodeCount }, () => randomBytes(10).toString('hex').match(/.{5}/g)!.join('-'))

/** Returns the stored hash of a recovery code. Ignores case, spaces and hyphens. */
export const hashRecoveryCode = (code: string): Buffer => hash('sha256', code.toLowerCase().replace(/[\s-]/g, ''), 'buffer')

const toTotpSecret = (bytes: Buffer) => new Secret({ buffer: new Uint8Array(bytes).buffer })

export const getTotpLabel = (userId: string) => `second factor of ${userId}`
