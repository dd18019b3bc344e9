import { hashes, verify as verifySignature } from '@noble/ed25519'
import { sha256, sha512 } from '@noble/hashes/sha2.js'
import { Buffer } from './buffer.js'

// Provides the node:crypto functions that packages/proofs needs in browsers. Unlike WebCrypto, they are synchronous, work
// without HTTPS and hash files of any size. scripts/dashboard.mjs substitutes this module for node:crypto.

hashes.sha512 = sha512

type Data = string | Uint8Array

const toBytes = (data: Data): Uint8Array => (typeof data === 'string' ? new TextEncoder().encode(data) : data)

function assertSha256(algorithm: string): void {
  if (algorithm !== 'sha256') throw new Error(`Hash algorithm '${algorithm}' is not supported in the browser.`)
}

class Hash {
  readonly #hash = sha256.create()

  update(data: Data): this {
    this.#hash.update(toBytes(data))
    return this
  }

  digest(): Buffer
  digest(encoding: 'hex'): string
  digest(encoding?: 'hex'): Buffer | string {
    const bytes = Buffer.from(this.#hash.digest())
    return encoding ? bytes.toString(encoding) : bytes
  }
}

export function createHash(algorithm: string): Hash {
  assertSha256(algorithm)
  return new Hash()
}

export const hash = (algorithm: string, data: Data, _encoding: 'buffer'): Buffer => createHash(algorithm).update(data).digest()

class PublicKey {
  constructor(private readonly x: string) {}

  get bytes(): Uint8Array {
    return Buffer.from(this.x, 'base64')
  }

  export(_options: { format: 'jwk' }): { x: string } {
    return { x: this.x }
  }
}

export const createPublicKey = ({ key }: { key: { x: string }; format: 'jwk' }): PublicKey => new PublicKey(key.x)

/** Verifies an Ed25519 signature with the strict rules of RFC 8032. */
export function verify(_algorithm: null, data: Uint8Array, key: PublicKey, signature: Uint8Array): boolean {
  return signature.length === 64 && verifySignature(signature, data, key.bytes, { zip215: false })
}

export function sign(): never {
  throw new Error('Signing is not supported in the browser.')
}
