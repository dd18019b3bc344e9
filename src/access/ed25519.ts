import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { StoredSigningKey } from './signing-secrets.js'

interface KeyPair {
  privateKey: KeyObject
  publicKey: KeyObject
}

/** Creates an Ed25519 key pair. StoredSigningSecrets calls this function through its `make` option. */
export function createEd25519Key(keyId: string): { secret: Buffer; publicJwk: Record<string, unknown> } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  return {
    secret: privateKey.export({ format: 'der', type: 'pkcs8' }),
    publicJwk: { ...publicKey.export({ format: 'jwk' }), kid: keyId, alg: 'EdDSA', use: 'sig' },
  }
}

// Caches parsed keys, because parsing a key takes longer than using it. Retired keys are garbage-collected.
const parsed = new WeakMap<StoredSigningKey, KeyPair>()

export function parseKeyPair(key: StoredSigningKey): KeyPair {
  let pair = parsed.get(key)
  if (!pair) {
    const privateKey = createPrivateKey({ key: key.secret, format: 'der', type: 'pkcs8' })
    pair = { privateKey, publicKey: createPublicKey(privateKey) }
    parsed.set(key, pair)
  }
  return pair
}
