import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createRequire } from 'node:module'
import { type Algorithm, hash, parseOptions } from '@node-rs/argon2'
import { ConcurrencyLimiter } from '../platform/concurrency-limiter.js'
import { overloaded } from '../platform/errors/errors.js'

/**
 * The argon2id parameters with the lowest memory use that OWASP recommends: 19 MiB, two passes, one lane. Computing a hash takes
 * about 20 ms of CPU time.
 */
const cost = { algorithm: 2 satisfies Algorithm.Argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

const minPasswordLength = 8
const maxPasswordBytes = 512

let commonPasswords: Set<string> | undefined

/**
 * Loads 18,000 common passwords. They are loaded only on first use, because this takes 90 ms and 2 MB of memory, and some
 * installations have no users.
 */
function loadCommonPasswords(): Set<string> {
  const { dictionary } = createRequire(import.meta.url)('@zxcvbn-ts/language-common') as {
    dictionary: { 'passwords-common': string[] }
  }
  return new Set(dictionary['passwords-common'].filter((each) => each.length >= minPasswordLength))
}

/** Returns an error message for an unacceptable new password, or undefined if the password is acceptable. */
export function findPasswordError(password: string): string | undefined {
  if ([...password].length < minPasswordLength) return `must have at least ${minPasswordLength} characters`
  if (Buffer.byteLength(password) > maxPasswordBytes) return `must have at most ${maxPasswordBytes} bytes`
  commonPasswords ??= loadCommonPasswords()
  if (commonPasswords.has(password.toLowerCase())) return 'must not be a common password'
  return undefined
}

export const generatePassword = (): string => randomBytes(15).toString('base64url')

/**
 * Hashes passwords with argon2id. Each computation occupies 19 MiB and a pool thread, so only a few run concurrently. Further
 * sign-ins wait, and get 503 if the queue is full.
 */
export class Passwords {
  readonly #limiter: ConcurrencyLimiter
  #decoy: Promise<string> | undefined

  constructor({ max = 2, maxWaiting = 128 } = {}) {
    this.#limiter = new ConcurrencyLimiter({ max, maxWaiting })
  }

  /**
   * Hashes a new password. Reuses the salt and cost of `saltSource`, so that `verifyAll` can check both hashes with a single
   * computation.
   */
  hash(password: string, saltSource?: string | null): Promise<string> {
    const salt = saltSource && !this.needsRehash(saltSource) ? { salt: parseSalt(saltSource) } : {}
    return this.#withSlot(() => hash(password.normalize('NFC'), { ...cost, ...salt }))
  }

  /**
   * Returns true if the password matches. A check without a stored hash takes the same time, so that clients cannot detect
   * whether the account exists.
   */
  async verify(storedHash: string | null, password: string): Promise<boolean> {
    return (await this.verifyAll([storedHash], password))[0]!
  }

  /** Returns whether the password matches each hash. Hashes with the same salt require only one computation. */
  async verifyAll(storedHashes: readonly (string | null)[], password: string): Promise<boolean[]> {
    if (Buffer.byteLength(password) > maxPasswordBytes) return storedHashes.map(() => false)
    this.#decoy ??= hash(generatePassword(), cost)
    const known = storedHashes.filter((each) => each !== null)
    const made = new Map<string, string>()
    for (const each of known.length > 0 ? known : [await this.#decoy])
      if (!made.has(getHashPrefix(each))) made.set(getHashPrefix(each), await this.#hashWithStoredOptions(each, password))
    return storedHashes.map((each) => each !== null && equalsInConstantTime(each, made.get(getHashPrefix(each))!))
  }

  /** Returns true if the hash was created with outdated cost parameters, so that the password should be hashed again. */
  needsRehash(storedHash: string): boolean {
    const used = parseOptions(storedHash)
    return Object.entries(cost).some(([name, value]) => used[name as keyof typeof cost] !== value)
  }

  #hashWithStoredOptions(storedHash: string, password: string): Promise<string> {
    const { algorithm, memoryCost, timeCost, parallelism, outputLen, version } = parseOptions(storedHash)
    const options = { algorithm, memoryCost, timeCost, parallelism, outputLen, version, salt: parseSalt(storedHash) }
    return this.#withSlot(() => hash(password.normalize('NFC'), options))
  }

  #withSlot<T>(work: () => Promise<T>): Promise<T> {
    return this.#limiter.run('', work, () => overloaded('Too many concurrent sign-ins. Retry later.'))
  }
}

// Stored hashes have the format $argon2id$v=19$m=…,t=…,p=…$salt$digest.
const getHashPrefix = (storedHash: string) => storedHash.slice(0, storedHash.lastIndexOf('$'))
const parseSalt = (storedHash: string) => Buffer.from(storedHash.split('$')[4]!, 'base64')
const equalsInConstantTime = (a: string, b: string) => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

/** Returns true if two hashes have the same salt and cost. */
export const hasSameSalt = (a: string, b: string) => getHashPrefix(a) === getHashPrefix(b)
