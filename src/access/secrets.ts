import { hash, randomBytes } from 'node:crypto'

/** A new API key (contract §4): `assay_` and 256 random bits in base64url. Shown once, kept only as `hashSecret`. */
export const newApiKeySecret = (): string => `assay_${randomBytes(32).toString('base64url')}`

/**
 * What is kept of an API key's secret: a plain SHA-256. Guessing 256 random bits is hopeless with the hash at hand, so a slow
 * hash or a pepper would add nothing but a second secret, whose loss ends every key.
 */
export const hashSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer')

/** A token of a log share. The ids in it name the row to compare with; only the secret proves anything. */
export const logTokenForm = /^log_([0-9a-z]{26})_([0-9a-z]{26})_([A-Za-z0-9_-]{43})$/

/** What lists show of a key, enough to tell which one leaked: 36 of its 256 bits. */
export const getKeyPrefix = (secret: string): string => secret.slice(0, 12)

/** What a webhook's secret is encrypted for. */
export const webhookSecretLabel = (webhookId: string): string => `webhook secret ${webhookId}`
