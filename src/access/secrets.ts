import { hash, randomBytes } from 'node:crypto'

/** A new API key: `assay_` and 256 random bits in base64url. Shown once; only its hash is stored. */
export const newApiKeySecret = (): string => `assay_${randomBytes(32).toString('base64url')}`

/**
 * The stored hash of an API key: plain SHA-256. Guessing 256 random bits is infeasible even with the hash, so a slow
 * hash or a pepper would only add a second secret, whose loss would invalidate every key.
 */
export const hashSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer')

/** A token of a log share. The ids in it name the row to compare with; only the secret proves anything. */
export const logTokenForm = /^log_([0-9a-z]{26})_([0-9a-z]{26})_([A-Za-z0-9_-]{43})$/

/** The part of a key that lists show, to identify a leaked one: 36 of its 256 bits. */
export const getKeyPrefix = (secret: string): string => secret.slice(0, 12)

/** Label of the encryption of a webhook's secret. */
export const webhookSecretLabel = (webhookId: string): string => `webhook secret ${webhookId}`
