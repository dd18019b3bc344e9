import { createCipheriv, createDecipheriv, createHash } from 'node:crypto'

export interface EncryptionFacts {
  revision: number
  owner: Buffer
  user: Buffer
  userKey: Buffer
  permissions: number
  keyBytes: number
  id: Buffer
  metadata: boolean
}

const padding = Buffer.from('28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a', 'hex')
const computeMd5 = (...parts: Buffer[]) => createHash('md5').update(Buffer.concat(parts)).digest()

/**
 * Returns the file encryption key if the user password is empty, because readers open such documents without asking for a
 * password.
 */
export function getKeyForEmptyPassword(facts: EncryptionFacts): Buffer | undefined {
  if (facts.revision >= 5) return decryptStoredKey(facts)
  const key = deriveKeyFromEmptyPassword(facts)
  if (facts.revision === 2) return applyRc4(key, padding).equals(facts.user.subarray(0, 32)) ? key : undefined
  let check = applyRc4(key, computeMd5(padding, facts.id))
  for (let round = 1; round <= 19; round++) check = applyRc4(Buffer.from(key.map((byte) => byte ^ round)), check)
  return check.equals(facts.user.subarray(0, 16)) ? key : undefined
}

/** Algorithm 2.A (ISO 32000-2): two salts follow the password hash, one for the hash and one for the key. */
function decryptStoredKey({ revision, user, userKey }: EncryptionFacts): Buffer | undefined {
  const computeHash = (salt: Buffer) => (revision === 5 ? createHash('sha256').update(salt).digest() : computeHardenedHash(salt))
  if (!computeHash(user.subarray(32, 40)).equals(user.subarray(0, 32))) return undefined
  const decipher = createDecipheriv('aes-256-cbc', computeHash(user.subarray(40, 48)), Buffer.alloc(16)).setAutoPadding(false)
  return decipher.update(userKey.subarray(0, 32))
}

function deriveKeyFromEmptyPassword({ owner, permissions, id, revision, metadata, keyBytes }: EncryptionFacts): Buffer {
  const allowed = Buffer.alloc(4)
  allowed.writeInt32LE(permissions | 0)
  const open = revision >= 4 && !metadata ? Buffer.alloc(4, 0xff) : Buffer.alloc(0)
  let hash = computeMd5(padding, owner.subarray(0, 32), allowed, id, open)
  for (let round = 0; revision >= 3 && round < 50; round++) hash = computeMd5(hash.subarray(0, keyBytes))
  return hash.subarray(0, keyBytes)
}

function computeHardenedHash(salt: Buffer): Buffer {
  let key = createHash('sha256').update(salt).digest()
  for (let round = 0, last = 0; round < 64 || last > round - 32; round++) {
    const cipher = createCipheriv('aes-128-cbc', key.subarray(0, 16), key.subarray(16, 32)).setAutoPadding(false)
    const mixed = cipher.update(Buffer.concat(new Array<Buffer>(64).fill(key)))
    const remainder = mixed.subarray(0, 16).reduce((sum, byte) => sum + byte, 0) % 3
    key = createHash(['sha256', 'sha384', 'sha512'][remainder] as string)
      .update(mixed)
      .digest()
    last = mixed.at(-1) ?? 0
  }
  return key.subarray(0, 32)
}

// RC4 is implemented here, because Node does not load the OpenSSL 3 provider that contains it.
export function applyRc4(key: Buffer, data: Buffer): Buffer {
  const state = Uint8Array.from({ length: 256 }, (_, index) => index)
  const getStateByte = (index: number) => state[index & 255] as number
  const swapStateBytes = (a: number, b: number) => {
    const kept = getStateByte(a)
    state[a] = getStateByte(b)
    state[b] = kept
  }
  for (let i = 0, j = 0; i < 256; i++) {
    j = (j + getStateByte(i) + (key[i % key.length] as number)) & 255
    swapStateBytes(i, j)
  }
  let j = 0
  return Buffer.from(
    data.map((byte, index) => {
      const i = (index + 1) & 255
      j = (j + getStateByte(i)) & 255
      swapStateBytes(i, j)
      return byte ^ getStateByte(getStateByte(i) + getStateByte(j))
    }),
  )
}
