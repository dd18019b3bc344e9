import { hash, randomBytes } from 'node:crypto'

/** Generates the secret of an API key: `assay_` and 256 random bits in base64url. It is shown once, and only its hash is stored. */
export const newApiKeySecret = (): string => `assay_${randomBytes(32).toString('base64url')}`

/**
 * Returns the stored hash of an API key: plain SHA-256. Guessing 256 random bits is infeasible even with the hash. A slow hash or a pepper
 * would only add a second secret, whose loss would invalidate every key.
 */
export const hashSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer')

/** Format of a log share token. Its ids only select the row to compare with. Authentication depends on the secret alone. */
export const logTokenForm = /^log_([0-9a-z]{26})_([0-9a-z]{26})_([A-Za-z0-9_-]{43})$/

/** Format of a token of an upload link. */
export const uploadTokenForm = /^ulk_([0-9a-z]{26})_([0-9a-z]{26})_([A-Za-z0-9_-]{43})$/

/** Creates a token of 256 random bits for the row with this id. Only the hash is stored. */
export function newRowToken(prefix: string, tenantId: string, id: string): { token: string; hash: Buffer } {
  const secret = randomBytes(32).toString('base64url')
  return { token: `${prefix}_${withoutPrefix(tenantId)}_${withoutPrefix(id)}_${secret}`, hash: hashSecret(secret) }
}

const withoutPrefix = (id: string): string => id.slice(id.indexOf('_') + 1)

/** Returns the part of a key that lists show, to identify a leaked key: 36 of its 256 bits. */
export const getKeyPrefix = (secret: string): string => secret.slice(0, 12)

/** Encryption label of a webhook's secret. */
export const webhookSecretLabel = (webhookId: string): string => `webhook secret ${webhookId}`
