import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { KnownSigningKey } from './signing-secrets.js'

interface KeyPair {
  privateKey: KeyObject
  publicKey: KeyObject
}

/** Creates an Ed25519 key, for use as the `make` option of signing secrets. */
export function makeEd25519Key(keyId: string): { secret: Buffer; publicJwk: Record<string, unknown> } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  return {
    secret: privateKey.export({ format: 'der', type: 'pkcs8' }),
    publicJwk: { ...publicKey.export({ format: 'jwk' }), kid: keyId, alg: 'EdDSA', use: 'sig' },
  }
}

// Parsing a key costs more than using it. Retired keys are garbage-collected with their objects.
const parsed = new WeakMap<KnownSigningKey, KeyPair>()

/** Parses a key that `makeEd25519Key` created. */
export function parseKeyPair(key: KnownSigningKey): KeyPair {
  let pair = parsed.get(key)
  if (!pair) {
    const privateKey = createPrivateKey({ key: key.secret, format: 'der', type: 'pkcs8' })
    pair = { privateKey, publicKey: createPublicKey(privateKey) }
    parsed.set(key, pair)
  }
  return pair
}
