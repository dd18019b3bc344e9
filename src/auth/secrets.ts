import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** A new API key (contract §4): `assay_` and 256 random bits in base64url. Shown once; kept only as a hash (see peppers.ts). */
export const newApiKeySecret = (): string => `assay_${randomBytes(32).toString('base64url')}`

/** What lists show of a key, enough to tell which one leaked: 36 of its 256 bits. */
export const keyPrefixOf = (secret: string): string => secret.slice(0, 12)

/** Compares without telling by its duration where the two differ. */
export const sameBytes = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other)

/** What caches know a credential by, so that a heap dump or a log of a cache holds no credential. */
export const fingerprint = (credential: string): string => hash('sha256', credential, 'base64')
