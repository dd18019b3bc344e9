import { hash, randomBytes } from 'node:crypto'

/** Generates the secret of an API key, which is shown once. Only its hash is stored. */
export const generateApiKeySecret = (): string => `assay_${randomBytes(32).toString('base64url')}`

/** Hashes a secret for storage. A slow hash is not needed, because guessing 256 random bits is infeasible. */
export const hashSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer')

/** Format of a log share token. Its ids only locate the row. Only the secret part authenticates. */
export const logTokenForm = /^log_([0-9a-z]{26})_([0-9a-z]{26})_([A-Za-z0-9_-]{43})$/

export const uploadTokenForm = /^ulk_([0-9a-z]{26})_([0-9a-z]{26})_([A-Za-z0-9_-]{43})$/

/** Creates a token with 256 random bits for the row with this id. Only the token's hash is stored. */
export function createRowToken(prefix: string, tenantId: string, id: string): { token: string; hash: Buffer } {
  const secret = randomBytes(32).toString('base64url')
  return { token: `${prefix}_${stripPrefix(tenantId)}_${stripPrefix(id)}_${secret}`, hash: hashSecret(secret) }
}

const stripPrefix = (id: string): string => id.slice(id.indexOf('_') + 1)

/** Returns the API key prefix that lists show. A leaked key can be identified by its prefix, which reveals 36 of its 256 bits. */
export const getKeyPrefix = (secret: string): string => secret.slice(0, 12)

export const getWebhookSecretLabel = (webhookId: string): string => `webhook secret ${webhookId}`
