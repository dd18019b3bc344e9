import { createHash, randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { now } from '../platform/clock.js'

// RFC 6238 with the parameters that every authenticator app supports.
const usual = { issuer: 'Assay', algorithm: 'SHA1', digits: 6, period: 30 } as const
const recoveryCodeCount = 10

/** 160 random bits, as RFC 4226 recommends. */
export const newTotpSecret = (): Buffer => randomBytes(20)

/** The secret in the form that a user types, and in the form that an authenticator app scans. */
export function totpForApp(secret: Buffer, label: string): { secret: string; uri: string } {
  const totp = new TOTP({ ...usual, label, secret: toSecret(secret) })
  return { secret: totp.secret.base32, uri: totp.toString() }
}

/** Returns the time step of a valid code, and null for an invalid one. Accepts a clock skew of 30 s in both directions. */
export function totpStep(secret: Buffer, code: string, at = now()): number | null {
  const totp = new TOTP({ ...usual, secret: toSecret(secret) })
  const distance = totp.validate({ token: code, timestamp: at, window: 1 })
  return distance === null ? null : totp.counter({ timestamp: at }) + distance
}

/** Ten single-use codes of 80 random bits. */
export const newRecoveryCodes = (): string[] =>
  Array.from({ length: recoveryCodeCount }, () => randomBytes(10).toString('hex').match(/.{5}/g)!.join('-'))

/** Returns the stored hash of a recovery code. Formatting characters do not count. */
export const recoveryCodeHash = (code: string): Buffer =>
  createHash('sha256').update(code.toLowerCase().replace(/[\s-]/g, '')).digest()

const toSecret = (bytes: Buffer) => new Secret({ buffer: new Uint8Array(bytes).buffer })

export const totpLabel = (userId: string) => `second factor of ${userId}`
