import { createHash, randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { now } from '../platform/clock.js'

// RFC 6238 parameters. All authenticator apps support these values.
const usual = { issuer: 'Assay', algorithm: 'SHA1', digits: 6, period: 30 } as const
const recoveryCodeCount = 10

/** Generates a TOTP secret of 160 random bits, the length that RFC 4226 recommends. */
export const generateTotpSecret = (): Buffer => randomBytes(20)

/** Returns the secret as text to type, and as a URI for the QR code of an authenticator app. */
export function createTotpSetup(secret: Buffer, label: string): { secret: string; uri: string } {
  const totp = new TOTP({ ...usual, label, secret: toTotpSecret(secret) })
  return { secret: totp.secret.base32, uri: totp.toString() }
}

/** Returns the time step of a valid code, or null for an invalid code. Allows clock differences of up to 30 s. */
export function findTotpStep(secret: Buffer, code: string, time = now()): number | null {
  const totp = new TOTP({ ...usual, secret: toTotpSecret(secret) })
  const distance = totp.validate({ token: code, timestamp: time, window: 1 })
  return distance === null ? null : totp.counter({ timestamp: time }) + distance
}

/** Generates ten single-use recovery codes of 80 random bits each. */
export const generateRecoveryCodes = (): string[] =>
  Array.from({ length: recoveryCodeCount }, () => randomBytes(10).toString('hex').match(/.{5}/g)!.join('-'))

/** Returns the stored hash of a recovery code. Ignores case, spaces and hyphens. */
export const hashRecoveryCode = (code: string): Buffer =>
  createHash('sha256').update(code.toLowerCase().replace(/[\s-]/g, '')).digest()

const toTotpSecret = (bytes: Buffer) => new Secret({ buffer: new Uint8Array(bytes).buffer })

export const getTotpLabel = (userId: string) => `second factor of ${userId}`
